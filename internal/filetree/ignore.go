package filetree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// A rule is one line of a .gitignore file.
type rule struct {
	path    *regexp.Regexp // of paths relative to the folder of the list
	keeps   bool           // it begins with !: what it matches is not ignored
	folders bool           // it ends with /: it matches folders only
}

// A list has the rules of one .gitignore file. A later rule takes precedence over an
// earlier one.
type list struct {
	folder string // an absolute path, with slashes
	rules  []rule
}

// parseIgnore returns the rules of a text in the format of .gitignore. As in git, a line
// that is not a pattern matches nothing.
func parseIgnore(folder, text string) list {
	l := list{folder: folder}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
			line = strings.TrimSuffix(line, " ")
		}
		if line == "" || line[0] == '#' {
			continue
		}
		if r, err := parseRule(line); err == nil {
			l.rules = append(l.rules, r)
		}
	}
	return l
}

func parseRule(pattern string) (r rule, err error) {
	text, keeps := strings.CutPrefix(pattern, "!")
	text, folders := strings.CutSuffix(text, "/")
	inner, rooted := strings.CutPrefix(text, "/")
	if !rooted && !strings.Contains(inner, "/") {
		inner = "**/" + inner
	}
	path, err := pathPattern(inner)
	if err != nil {
		return r, fmt.Errorf("%s is not a pattern: %w", pattern, err)
	}
	return rule{path, keeps, folders}, nil
}

// pathPattern returns a regular expression for a pattern with *, ?, […] and ** as git
// has them.
func pathPattern(pattern string) (*regexp.Regexp, error) {
	var b strings.Builder
	b.WriteString("^")
	for i := 0; i < len(pattern); i++ {
		rest := pattern[i:]
		switch c := pattern[i]; {
		case strings.HasPrefix(rest, "**/") && (i == 0 || pattern[i-1] == '/'):
			b.WriteString("(?:.*/)?")
			i += 2
		case rest == "**" && i > 0 && pattern[i-1] == '/':
			b.WriteString(".+")
			i++
		case c == '*':
			b.WriteString("[^/]*")
			for i+1 < len(pattern) && pattern[i+1] == '*' {
				i++
			}
		case c == '?':
			b.WriteString("[^/]")
		case c == '[':
			open, class := "[", rest[1:]
			if class != "" && (class[0] == '!' || class[0] == '^') {
				open, class = "[^", class[1:]
			}
			n := strings.IndexByte(class[min(1, len(class)):], ']') // a first one is in the class
			if n < 0 {
				return nil, errors.New("[ is not closed")
			}
			class = class[:n+1]
			b.WriteString(open + strings.ReplaceAll(class, "[", `\[`) + "]")
			i += len(open) + len(class)
		case c == '\\' && i+1 < len(pattern):
			i++
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		default:
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	b.WriteString("$")
	return regexp.Compile(b.String())
}

// ignores reports whether the rules decide about an absolute path, with slashes, and
// whether they ignore it.
func (l list) ignores(path string, isFolder bool) (ignored, decided bool) {
	path, below := strings.CutPrefix(path, strings.TrimSuffix(l.folder, "/")+"/")
	if !below {
		return false, false
	}
	for _, r := range l.rules {
		if (isFolder || !r.folders) && r.path.MatchString(path) {
			ignored, decided = !r.keeps, true
		}
	}
	return ignored, decided
}

// ignored reports whether the lists ignore a path. Lists of inner folders take
// precedence and are last.
func ignored(lists []list, path string, isFolder bool) bool {
	for i := len(lists) - 1; i >= 0; i-- {
		if is, decided := lists[i].ignores(path, isFolder); decided {
			return is
		}
	}
	return false
}

// readIgnore returns the list of a .gitignore file, or none if there is no such file.
func readIgnore(file, folder string) []list {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	return []list{parseIgnore(folder, string(text))}
}

// around returns the lists that the folders around a folder have, up to the root of the
// repository. Outside of a repository there are none.
func around(folder string) (lists []list) {
	var outer []string
	for dir := folder; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			lists = readIgnore(filepath.Join(dir, ".git", "info", "exclude"), filepath.ToSlash(dir))
			break
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
		outer = append(outer, filepath.Dir(dir))
	}
	for i := len(outer) - 1; i >= 0; i-- {
		lists = append(lists, readIgnore(filepath.Join(outer[i], ".gitignore"), filepath.ToSlash(outer[i]))...)
	}
	return lists
}
