package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/version"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/internal/gocommand"
)

// A selection names packages to check.
type selection struct {
	patterns []string
	hidden   []string // test files that are not checked
}

// diagnose returns why go vet has failed for patterns: an error, or a description of
// the packages that do not compile, which is nil if all compile. others are those that
// go vet can check.
func diagnose(ctx context.Context, f finder, patterns []string,
	dir string) (others selection, left *uncompiled, err error) {
	pkgs, err := packages.Load(&packages.Config{
		Context: ctx, Dir: dir, Tests: f.tests, BuildFlags: gocommand.BuildFlags(f.tags),
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedExportFile | packages.NeedForTest,
	}, patterns...)
	if err != nil {
		return selection{}, nil, gocommand.Message(err)
	}
	if len(pkgs) == 0 {
		if err := gocommand.List(ctx, dir, f.tags, patterns...); err != nil {
			return selection{}, nil, err
		}
		for _, pattern := range patterns {
			if cli.LooksLikeFolder(pattern) {
				return selection{}, nil, fmt.Errorf("no package has the path %s: for the folder write ./%[1]s", pattern)
			}
		}
		return selection{}, nil, fmt.Errorf("there is no Go package in %s: name a folder that has one",
			strings.Join(patterns, " "))
	}
	if err := notFound(pkgs, dir); err != nil {
		return selection{}, nil, err
	}
	others = compiled(pkgs, f.tests)
	if left = broken(pkgs, dir); left != nil {
		left.checked = len(others.patterns)
	}
	return others, left, nil
}

// compiled selects the packages that compile, without tests that do not. With tests,
// it selects packages that have nothing else.
func compiled(pkgs []*packages.Package, withTests bool) (s selection) {
	failed := map[*packages.Package]bool{}
	packages.Visit(pkgs, nil, func(pkg *packages.Package) {
		failed[pkg] = len(pkg.Errors) > 0
		for _, imported := range pkg.Imports {
			failed[pkg] = failed[pkg] || failed[imported]
		}
	})
	tests := map[string][]string{} // test files of a package, by its path
	failedTests := map[string]bool{}
	for _, pkg := range pkgs {
		if pkg.ForTest != "" {
			failedTests[pkg.ForTest] = failedTests[pkg.ForTest] || failed[pkg]
			for _, file := range pkg.GoFiles {
				if strings.HasSuffix(file, "_test.go") {
					tests[pkg.ForTest] = append(tests[pkg.ForTest], file)
				}
			}
		}
	}
	for _, pkg := range pkgs {
		testProgram := pkg.Name == "main" && strings.HasSuffix(pkg.ID, ".test")
		onlyTests := len(pkg.GoFiles) == 0
		if pkg.ForTest != "" || testProgram || failed[pkg] || onlyTests && (!withTests || failedTests[pkg.PkgPath]) {
			continue
		}
		s.patterns = append(s.patterns, pkg.PkgPath)
		if failedTests[pkg.PkgPath] {
			s.hidden = append(s.hidden, tests[pkg.PkgPath]...)
		}
	}
	return s
}

// The contents of a selection are what go vet finds in its packages.
type contents struct {
	units []string // what go vet analyzes one by one, as unitMark describes it
	tests []string // test files
}

// listing returns the contents of the packages that match patterns. flags are flags
// of the go command.
func listing(ctx context.Context, flags, patterns []string, dir string) (c contents, err error) {
	const format = `{{if .TestGoFiles}}{{.ImportPath}} ` + withTests + `
{{else if or .GoFiles .CgoFiles}}{{.ImportPath}}
{{end}}{{if .XTestGoFiles}}{{.ImportPath}}_test ` + withTests + `
{{end}}{{range .TestGoFiles}}file {{$.Dir}}/{{.}}
{{end}}{{range .XTestGoFiles}}file {{$.Dir}}/{{.}}
{{end}}`
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"list", "-find", "-e", "-f", format}, flags, patterns)...)
	cmd.Dir = dir
	out, err := cmd.Output()
	for line := range strings.Lines(string(out)) {
		line = strings.TrimRight(line, "\r\n")
		if file, ok := strings.CutPrefix(line, "file "); ok {
			c.tests = append(c.tests, file)
		} else if line != "" && line != "unsafe" && line != "builtin" { // which are not compiled
			c.units = append(c.units, line)
		}
	}
	return c, err
}

// overlay returns a flag of the go command that hides files, and a function that
// removes what the flag needs.
func overlay(hidden []string) (flags []string, remove func(), err error) {
	if len(hidden) == 0 {
		return nil, func() {}, nil
	}
	var replace struct{ Replace map[string]string }
	replace.Replace = map[string]string{}
	for _, file := range hidden {
		replace.Replace[file] = ""
	}
	text, err := json.Marshal(replace)
	if err != nil {
		return nil, nil, err
	}
	file, err := os.CreateTemp("", "retrylint-*.json")
	if err != nil {
		return nil, nil, err
	}
	remove = func() { _ = os.Remove(file.Name()) }
	if _, err := file.Write(text); err != nil {
		remove()
		return nil, nil, err
	}
	return []string{"-overlay=" + file.Name()}, remove, file.Close()
}

// oldest is the first version of the go command whose go vet prints findings that it
// has in the build cache.
const oldest = "go1.26"

// loadable returns an error if the go command is too old, or would not load a path.
// Unlike the error of the go command, it describes what to do.
func loadable(ctx context.Context, f finder, patterns []string, dir string) error {
	env, err := gocommand.EnvironmentOf(ctx, dir)
	if err == nil && version.IsValid(env.Version) && version.Compare(env.Version, oldest) < 0 {
		return fmt.Errorf("go vet of %s does not keep findings: use Go 1.26 or later", env.Version)
	}
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
			return fmt.Errorf("%s: %w", pattern, err)
		case !info.IsDir():
			return fmt.Errorf("%s is a file: name its folder, ./%s", pattern, filepath.ToSlash(filepath.Dir(pattern)))
		}
		switch own := moduleOf(folder); {
		case !env.Plain || sameFile(own, env.Module): // the go command loads it, or reports why not
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
		text := gocommand.Reason(pkg.Errors[0].Msg)
		switch _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(pkg.PkgPath))); {
		case isPath(pkg.PkgPath):
		case err == nil:
			text += ": for the folder write ./" + pkg.PkgPath
		case ruleByID(strings.ToUpper(pkg.PkgPath)) != nil:
			text = "there is no command, folder or package " + pkg.PkgPath + ": run retrylint explain " + pkg.PkgPath
		case !strings.Contains(pkg.PkgPath, "/"):
			text = "there is no command, folder or package " + pkg.PkgPath + ": retrylint help lists the commands"
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

// Error says what was not checked. The caller prints the lines.
func (e *uncompiled) Error() string {
	what := "nothing was checked: the packages must compile first"
	if e.checked > 0 {
		what = "not all was checked, and no file was changed: the packages must compile first"
	}
	return what
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
