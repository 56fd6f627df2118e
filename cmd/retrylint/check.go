package main

import (
	"cmp"
	"fmt"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/retrygen/retrygen/internal/excerpt"
	"github.com/retrygen/retrygen/lint"
)

type checkConfig struct {
	dir      string
	tags     string
	tests    bool
	sarif    string // where findings go as SARIF; -: to standard output, in place of the text
	patterns []string
}

// A finding is a diagnostic with its place on the disk.
type finding struct {
	at, end token.Position
	rule    string
	text    string
}

// check runs the suite and prints what it finds, sorted. It returns how many
// findings there are.
func check(config checkConfig, stdout io.Writer) (int, error) {
	dir, err := filepath.Abs(config.dir)
	if err != nil {
		return 0, err
	}
	load := &packages.Config{Mode: packages.LoadSyntax, Dir: dir, Tests: config.tests}
	if config.tags != "" {
		load.BuildFlags = []string{"-tags=" + config.tags}
	}
	if len(config.patterns) == 0 {
		config.patterns = []string{"./..."}
	}
	pkgs, err := packages.Load(load, config.patterns...)
	if err != nil {
		return 0, fmt.Errorf("retrylint: %w", err)
	}
	if err := broken(pkgs, dir); err != nil {
		return 0, err
	}
	if len(pkgs) == 0 {
		return 0, fmt.Errorf("retrylint: no packages match %s", strings.Join(config.patterns, " "))
	}
	prune(pkgs)
	graph, err := checker.Analyze(lint.Suite, pkgs, nil)
	if err != nil {
		return 0, fmt.Errorf("retrylint: %w", err)
	}
	var findings []finding
	for _, action := range graph.Roots {
		if action.Err != nil {
			return 0, fmt.Errorf("retrylint: %s: %w", action.Package.PkgPath, action.Err)
		}
		for _, d := range action.Diagnostics {
			fset := action.Package.Fset
			f := finding{at: fset.Position(d.Pos), rule: d.Category, text: d.Message}
			if d.End.IsValid() {
				f.end = fset.Position(d.End)
			}
			findings = append(findings, f)
		}
	}
	slices.SortFunc(findings, func(a, b finding) int {
		return cmp.Or(
			strings.Compare(a.at.Filename, b.at.Filename), cmp.Compare(a.at.Line, b.at.Line),
			cmp.Compare(a.at.Column, b.at.Column), strings.Compare(a.text, b.text),
		)
	})
	// A package and its test variant find the same.
	findings = slices.Compact(findings)
	if config.sarif != "" {
		if err := writeSARIF(config.sarif, stdout, findings, dir); err != nil {
			return 0, fmt.Errorf("retrylint: %w", err)
		}
	}
	if config.sarif == "-" {
		return len(findings), nil
	}
	for _, f := range findings {
		f.print(stdout, dir)
	}
	return len(findings), nil
}

// broken returns the errors of packages that do not compile: nothing is said
// of code that is not understood.
func broken(pkgs []*packages.Package, dir string) error {
	var lines []string
	packages.Visit(pkgs, nil, func(pkg *packages.Package) {
		for _, err := range pkg.Errors {
			text := err.Msg
			if err.Pos != "" && err.Pos != "-" {
				text = strings.TrimPrefix(err.Pos, dir+string(filepath.Separator)) + ": " + err.Msg
			}
			// The go command adds the compiler's words under the package's name.
			for line := range strings.Lines(text) {
				line = strings.TrimRight(line, "\n")
				if !strings.HasPrefix(line, "# ") && !slices.Contains(lines, line) {
					lines = append(lines, line)
				}
			}
		}
	})
	if len(lines) == 0 {
		return nil
	}
	return fmt.Errorf("%s\nretrylint: nothing was checked: the packages must compile first", strings.Join(lines, "\n"))
}

// prune leaves to each package only the imports that are checked as well.
// Facts of the others would need all of their syntax, the standard library's
// included; go vet, which keeps facts in the build cache, has them.
func prune(pkgs []*packages.Package) {
	packages.Visit(pkgs, func(pkg *packages.Package) bool {
		for path, imported := range pkg.Imports {
			if imported.TypesInfo == nil {
				delete(pkg.Imports, path)
			}
		}
		return true
	}, nil)
}

// print writes file:line:col: text, the line, and a caret.
func (f finding) print(w io.Writer, dir string) {
	name := f.at.Filename
	if rel, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(rel) {
		name = filepath.ToSlash(rel)
	}
	fmt.Fprintf(w, "%s:%d:%d: %s\n", name, f.at.Line, f.at.Column, f.text)
	text, err := os.ReadFile(f.at.Filename)
	if err != nil {
		return // the message stands without its line
	}
	excerpt.Print(w, text, f.at.Line, f.at.Column, f.width())
}

// width is what a finding is long in bytes: 1 where it goes over the end of
// its line.
func (f finding) width() int {
	if f.end.Line != f.at.Line {
		return 1
	}
	return f.end.Column - f.at.Column
}
