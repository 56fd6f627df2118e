// Package filetree lists the files below folders, except those that git ignores, and the
// files that match patterns.
package filetree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A Lister lists files. Its zero value excludes nothing of its own. It must not be used
// concurrently.
type Lister struct {
	excluded []rule
}

// skipped are folders whose files belong to others.
var skipped = []string{".git", "vendor", "node_modules"}

// Exclude adds a pattern in the syntax of .gitignore, relative to the folder that is the
// current one when files are listed: what it matches is not listed.
func (l *Lister) Exclude(pattern string) error {
	r, err := parseRule(pattern)
	if err != nil {
		return err
	}
	l.excluded = append(l.excluded, r)
	return nil
}

// Below returns the regular files below a folder in lexical order, except those in .git,
// vendor and node_modules, those that a .gitignore file of the folder, of a folder in it or
// of a folder around it in the same repository ignores, and those that are excluded.
// If folders cannot be read, the error names each of them, and files contains the files of
// the other folders.
func (l *Lister) Below(folder string) (files []string, err error) {
	abs, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	current, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	w := walk{excluded: list{filepath.ToSlash(current), l.excluded}}
	w.folder(folder, filepath.ToSlash(abs), around(abs))
	return w.files, errors.Join(w.unread...)
}

// A walk lists the files below a folder.
type walk struct {
	excluded list
	files    []string
	unread   []error // one for each folder that cannot be read
}

func (w *walk) folder(name, abs string, lists []list) {
	lists = append(slices.Clip(lists), readIgnore(filepath.Join(name, ".gitignore"), abs)...)
	entries, err := os.ReadDir(name)
	if err != nil {
		w.unread = append(w.unread, err)
		return
	}
	for _, e := range entries {
		path, abs := filepath.Join(name, e.Name()), strings.TrimSuffix(abs, "/")+"/"+e.Name()
		if e.IsDir() && slices.Contains(skipped, e.Name()) || ignored(lists, abs, e.IsDir()) ||
			ignored([]list{w.excluded}, abs, e.IsDir()) {
			continue
		}
		switch {
		case e.IsDir():
			w.folder(path, abs, lists)
		case isFile(path, e):
			w.files = append(w.files, path)
		}
	}
}

// isFile reports whether an entry of a folder is a regular file, or a link to one.
func isFile(path string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.Type().IsRegular()
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// IsPattern reports whether a name has the characters of a pattern: *, ? or [.
func IsPattern(name string) bool { return strings.ContainsAny(name, "*?[") }

// Matching returns the files that match a pattern, and the files below folders that do, as
// [Lister.Below] does. ** stands for any number of folders. It is an error if there is
// none, and if folders cannot be read.
func (l *Lister) Matching(pattern string) (files []string, err error) {
	fixed, rest := "", filepath.ToSlash(pattern)
	for {
		first, after, inner := strings.Cut(rest, "/")
		if !inner || IsPattern(first) {
			break
		}
		fixed, rest = fixed+first+"/", after
	}
	path, err := pathPattern(rest)
	if err != nil {
		return nil, fmt.Errorf("%s is not a pattern: %w", pattern, err)
	}
	folder := filepath.FromSlash(fixed)
	if fixed == "" {
		folder = "."
	}
	all, unread := l.Below(folder)
	for _, file := range all {
		below, err := filepath.Rel(folder, file)
		if err == nil && matches(path, filepath.ToSlash(below)) {
			files = append(files, file)
		}
	}
	if len(files) == 0 && unread == nil {
		return nil, fmt.Errorf("no file matches %s", pattern)
	}
	return files, unread
}

// matches reports whether a path, or a folder in which it is, matches.
func matches(pattern *regexp.Regexp, path string) bool {
	for ; path != "."; path = filepath.ToSlash(filepath.Dir(path)) {
		if pattern.MatchString(path) {
			return true
		}
	}
	return false
}
