package gen

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/retrygen/retrygen/internal/gocommand"
)

// found are the files of retrygen in the folders of the packages: absolute paths,
// sorted.
type found struct {
	sources  []string // policy files
	stale    []string // generated files whose policy file was removed
	misnamed []string // files named retry.yml, which are not read
}

// find finds the policy files and outputs in the folders of the patterns.
func find(ctx context.Context, config Config) (found, error) {
	dirs, err := dirs(ctx, config)
	if err != nil {
		return found{}, err
	}
	var f found
	for dir := range dirs {
		source := filepath.Join(dir, SourceName)
		misnamed := filepath.Join(dir, Misnamed)
		_, err := os.Lstat(misnamed)
		isMisnamed := err == nil
		if isMisnamed {
			f.misnamed = append(f.misnamed, misnamed)
		}
		if _, err := os.Lstat(source); err == nil || errors.Is(err, fs.ErrPermission) {
			f.sources = append(f.sources, source)
		} else if isMisnamed {
			continue // its output is not stale: the file has the wrong name
		} else {
			for _, name := range outputNames {
				output := filepath.Join(dir, name)
				if text, err := os.ReadFile(output); err == nil && len(text) > 0 && isOurs(output, text) {
					f.stale = append(f.stale, output)
				}
			}
		}
	}
	slices.Sort(f.sources)
	slices.Sort(f.stale)
	slices.Sort(f.misnamed)
	return f, nil
}

// dirs returns the folders of the patterns. It calls the go command only for
// import paths, since walking the folders of a large module is much faster.
func dirs(ctx context.Context, config Config) (map[string]bool, error) {
	patterns := config.Patterns
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	dirs := map[string]bool{}
	modules := workspace(config.Dir)
	var byName []string
	for _, pattern := range patterns {
		root, all := strings.CutSuffix(pattern, "...")
		if !isPath(pattern) {
			if info, err := os.Stat(filepath.Join(config.Dir, pattern)); err == nil && !info.IsDir() {
				return nil, fileError(pattern)
			}
			byName = append(byName, pattern)
			continue
		}
		root = filepath.Join(config.Dir, root)
		if filepath.IsAbs(pattern) {
			root = filepath.Clean(strings.TrimSuffix(pattern, "..."))
		}
		switch info, err := os.Stat(root); {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", pattern, cause(err))
		case !info.IsDir():
			return nil, fileError(pattern)
		}
		if !all {
			dirs[root] = true
		} else if err := walk(root, modules, dirs); err != nil {
			return nil, err
		}
	}
	if len(byName) > 0 {
		return dirs, dirsOf(ctx, config, byName, dirs)
	}
	return dirs, nil
}

// fileError returns the error for a pattern that is a file.
func fileError(pattern string) error {
	dir := filepath.ToSlash(filepath.Dir(pattern))
	if dir != "." {
		dir = "./" + dir
	}
	return fmt.Errorf("%s is a file: name its folder: %s", pattern, dir)
}

// isPath reports whether a pattern names a folder and not an import path, as the go
// command decides it.
func isPath(pattern string) bool {
	return pattern == "." || pattern == ".." || strings.HasPrefix(pattern, "./") || strings.HasPrefix(pattern, "../") ||
		filepath.IsAbs(pattern)
}

// walk adds root and the folders below it that ./... matches. It skips folders
// whose name begins with "." or "_", testdata, vendor, and modules that are not
// part of the workspace.
func walk(root string, modules, dirs map[string]bool) error {
	// With a separator at its end, root may be a symbolic link.
	return filepath.WalkDir(root+string(filepath.Separator), func(path string, d fs.DirEntry, err error) error {
		path = filepath.Clean(path)
		if err != nil {
			if d != nil && d.IsDir() && path != root && errors.Is(err, fs.ErrPermission) {
				return fs.SkipDir
			}
			return err
		}
		if !d.IsDir() {
			return nil
		}
		if path != root {
			name := d.Name()
			if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "vendor" {
				return fs.SkipDir
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && !modules[path] {
				return fs.SkipDir
			}
		}
		dirs[path] = true
		return nil
	})
}

// dirsOf adds the folders of packages given by import path, as the go command
// finds them.
func dirsOf(ctx context.Context, config Config, patterns []string, dirs map[string]bool) error {
	loaded, err := packages.Load(&packages.Config{
		Context: ctx, Dir: config.Dir, Mode: packages.NeedName | packages.NeedFiles,
		BuildFlags: gocommand.BuildFlags(config.Tags),
	}, patterns...)
	if err != nil {
		return err
	}
	for _, pkg := range loaded {
		if len(pkg.GoFiles) > 0 {
			dirs[filepath.Dir(pkg.GoFiles[0])] = true
		} else if len(pkg.Errors) > 0 {
			_, err := os.Stat(filepath.Join(config.Dir, pkg.PkgPath))
			return &NoPackageError{pkg.PkgPath, err == nil, gocommand.Reason(pkg.Errors[0].Msg)}
		}
	}
	return nil
}

// A NoPackageError reports that there is no package with the given import path.
type NoPackageError struct {
	Path   string
	Folder bool   // whether a folder with that name exists
	Reason string // the reason that the go command reported
}

// Error returns the reason and, for a folder, the pattern to use instead.
func (e *NoPackageError) Error() string {
	if e.Folder {
		return e.Reason + ": for the folder write ./" + e.Path
	}
	return e.Reason
}
