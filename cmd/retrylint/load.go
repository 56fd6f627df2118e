package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/tools/go/packages"

	"github.com/retrygen/retrygen/internal/gocommand"
)

// load returns the packages that match patterns and compile, with the imports that
// the analyzers need. left describes the packages that do not compile; nil if all
// do.
func load(config checkConfig, patterns []string, dir string) (pkgs []*packages.Package, left *uncompiled, err error) {
	// The go command, which builds imports, ends together with this program.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := loadable(ctx, config, patterns, dir); err != nil {
		return nil, nil, err
	}
	pkgs, sources, err := loadPackages(ctx, config, patterns, dir)
	if ctx.Err() != nil {
		return nil, nil, errors.New("interrupted")
	}
	if err != nil {
		return nil, nil, gocommand.Message(err)
	}
	if len(pkgs) == 0 {
		if err := gocommand.List(ctx, dir, config.tags, patterns...); err != nil {
			return nil, nil, err
		}
		return nil, nil, fmt.Errorf("there is no Go package in %s: name a folder that has one", strings.Join(patterns, " "))
	}
	if err := notFound(pkgs, dir); err != nil {
		return nil, nil, err
	}
	if left = broken(pkgs, dir); left != nil {
		pkgs = slices.DeleteFunc(pkgs, func(pkg *packages.Package) bool { return pkg.IllTyped || len(pkg.Errors) > 0 })
		left.checked = len(pkgs)
	}
	prune(sources)
	return pkgs, left, nil
}

// loadable returns an error for a path that the go command would not load. Unlike
// that of the go command, the error describes what to do.
func loadable(ctx context.Context, config checkConfig, patterns []string, dir string) error {
	module, ok := gocommand.Module(ctx, dir)
	for _, pattern := range patterns {
		if !isPath(pattern) || filepath.Ext(pattern) == ".go" {
			continue
		}
		name := strings.TrimSuffix(pattern, "...")
		folder := filepath.Clean(name)
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(dir, folder)
		}
		info, err := os.Stat(folder)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return fmt.Errorf("%s: there is no such folder", pattern)
		case err != nil:
			return fmt.Errorf("%s: %w", pattern, errors.Unwrap(err))
		case !info.IsDir():
			return fmt.Errorf("%s is a file: name its folder, ./%s", pattern, filepath.ToSlash(filepath.Dir(pattern)))
		}
		switch own := moduleOf(folder); {
		case !ok || sameFile(own, module): // the go command loads it, or reports why not
		case own == "":
			return fmt.Errorf("%s is not in a Go module: run retrylint in a module, or make one with go mod init", folder)
		default:
			return fmt.Errorf("%s is in another module: run retrylint -C %s", name, filepath.Dir(own))
		}
		if goFiles, _ := filepath.Glob(filepath.Join(folder, "*.go")); name == pattern && len(goFiles) == 0 {
			return fmt.Errorf("%s has no Go files: name the folder of a package, or %s/... for all below it",
				pattern, strings.TrimSuffix(pattern, "/"))
		}
	}
	return nil
}

// isPath reports whether a pattern names a folder, not an import path.
func isPath(pattern string) bool {
	first, _, _ := strings.Cut(filepath.ToSlash(pattern), "/")
	return first == "." || first == ".." || filepath.IsAbs(pattern)
}

// moduleOf returns the go.mod of the module that contains a folder, or "".
func moduleOf(folder string) string {
	for {
		name := filepath.Join(folder, "go.mod")
		if info, err := os.Stat(name); err == nil && !info.IsDir() {
			return name
		}
		outer := filepath.Dir(folder)
		if outer == folder {
			return ""
		}
		folder = outer
	}
}

func sameFile(a, b string) bool {
	left, err := os.Stat(a)
	right, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(left, right)
}

// notFound returns an error for the first pattern without a package, or nil.
func notFound(pkgs []*packages.Package, dir string) error {
	for _, pkg := range pkgs {
		if len(pkg.Errors) == 0 || len(pkg.GoFiles) > 0 || pkg.Errors[0].Kind != packages.ListError ||
			strings.Trim(pkg.Errors[0].Pos, "-") != "" {
			continue
		}
		text := strings.Join(strings.Fields(pkg.Errors[0].Msg), " ")
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(pkg.PkgPath))); err == nil && !isPath(pkg.PkgPath) {
			text += ": for the folder write ./" + pkg.PkgPath
		}
		return errors.New(text)
	}
	return nil
}

// An uncompiled error describes packages that were not checked because they, or
// their imports, do not compile.
type uncompiled struct {
	lines   []string // output of the compiler
	checked int      // number of packages that compile
}

func (e *uncompiled) Error() string {
	what := "nothing was checked: the packages must compile first"
	if e.checked > 0 {
		what = "not all was checked, and no file was changed: the packages must compile first"
	}
	return strings.Join(e.lines, "\n") + "\nretrylint: " + what
}

// broken returns the errors of packages and their imports, or nil if all compile.
func broken(pkgs []*packages.Package, dir string) *uncompiled {
	var lines []string
	packages.Visit(pkgs, nil, func(pkg *packages.Package) {
		for _, err := range pkg.Errors {
			text := err.Msg
			if err.Pos != "" && err.Pos != "-" {
				text = strings.TrimPrefix(err.Pos, dir+string(filepath.Separator)) + ": " + err.Msg
			}
			// The go command adds a line with the package before the output of the
			// compiler, and a dot before the files of this folder.
			for line := range strings.Lines(text) {
				line = strings.TrimPrefix(strings.TrimRight(line, "\n"), "."+string(filepath.Separator))
				if !strings.HasPrefix(line, "# ") && !slices.Contains(lines, line) {
					lines = append(lines, line)
				}
			}
		}
	})
	if len(lines) == 0 {
		return nil
	}
	return &uncompiled{lines: lines}
}

// loadPackages returns the packages that match patterns. sources are these packages
// and their imports from the same modules. The analyzers need the source code of
// these imports, so that a package has the same findings alone and in ./... .
func loadPackages(ctx context.Context, config checkConfig, patterns []string,
	dir string) (pkgs, sources []*packages.Package, err error) {
	load := &packages.Config{
		Context: ctx, Mode: packages.LoadSyntax | packages.NeedModule, Dir: dir, Tests: config.tests,
		BuildFlags: gocommand.BuildFlags(config.tags),
	}
	pkgs, err = packages.Load(load, patterns...)
	if err != nil {
		return nil, nil, err
	}
	imported := imports(pkgs)
	if len(imported) == 0 {
		return pkgs, slices.Clone(pkgs), nil
	}
	named := map[string]bool{}
	for _, pkg := range pkgs {
		named[pkg.ID] = true
	}
	sources, err = packages.Load(load, append(imported, patterns...)...)
	if err != nil {
		return nil, nil, err
	}
	pkgs = nil
	for _, pkg := range sources {
		if named[pkg.ID] {
			pkgs = append(pkgs, pkg)
		}
	}
	return pkgs, sources, nil
}

// imports returns the paths of the imports of pkgs that are in the user's modules
// and not in pkgs. It returns nil for single files, since the go command does not
// accept packages together with files.
func imports(pkgs []*packages.Package) (paths []string) {
	named := map[string]bool{}
	for _, pkg := range pkgs {
		if pkg.PkgPath == "command-line-arguments" {
			return nil
		}
		named[pkg.PkgPath] = true
	}
	packages.Visit(pkgs, nil, func(pkg *packages.Package) {
		if !named[pkg.PkgPath] && gocommand.IsOwn(pkg.Module) {
			named[pkg.PkgPath] = true
			paths = append(paths, pkg.PkgPath)
		}
	})
	return paths
}

// prune removes imports that are not in pkgs from all packages. Facts about them
// would require the syntax of all dependencies, including the standard library; go
// vet has these facts in the build cache. The functions of packages that are loaded
// only for a test are not type-checked.
func prune(pkgs []*packages.Package) {
	kept := map[*packages.Package]bool{}
	for _, pkg := range pkgs {
		kept[pkg] = true
	}
	packages.Visit(pkgs, func(pkg *packages.Package) bool {
		for path, imported := range pkg.Imports {
			if !kept[imported] {
				delete(pkg.Imports, path)
			}
		}
		return true
	}, nil)
}
