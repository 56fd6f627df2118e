package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/token"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/retrygen/retrygen/internal/cli"
	"github.com/retrygen/retrygen/internal/gocommand"
	"github.com/retrygen/retrygen/lint"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
)

// A finding is a diagnostic with its position in a file.
type finding struct {
	at, end token.Position
	rule    string
	text    string // without the rule
	edits   []edit // of the fix, if there is one

	severity rules.Severity
	evidence lint.Evidence
}

// A finder says what is checked, and which findings are reported.
type finder struct {
	tags    string
	tests   bool
	verbose bool // print the packages that are analyzed
	args    []string
	filter
}

// A result is what is found, sorted.
type result struct {
	findings []finding // to report
	withheld []finding // with weaker evidence, or for information
}

// find returns what is found. If the error is *uncompiled, that is in the packages that compile.
func (f finder) find(dir string, stderr io.Writer) (result, error) {
	var files, patterns []string
	for _, arg := range f.args {
		if ext := filepath.Ext(arg); ext == ".yaml" || ext == ".yml" {
			files = append(files, arg)
		} else {
			patterns = append(patterns, arg)
		}
	}
	progress := new(cli.Progress)
	if !f.verbose { // which prints lines instead
		progress = cli.NewProgress("retrylint", stderr)
	}
	defer progress.End()
	findings, err := checkPolicies(files, dir)
	if err != nil {
		return result{}, err
	}
	var left *uncompiled
	if len(files) == 0 || len(patterns) > 0 {
		inGo, err := checkPackages(f, patterns, dir, progress, stderr)
		if err != nil && !errors.As(err, &left) {
			return result{}, err
		}
		findings = append(findings, inGo...)
	}
	slices.SortFunc(findings, func(a, b finding) int {
		return cmp.Or(
			strings.Compare(a.at.Filename, b.at.Filename), cmp.Compare(a.at.Line, b.at.Line),
			cmp.Compare(a.at.Column, b.at.Column), strings.Compare(a.text, b.text),
		)
	})
	var r result
	for _, found := range f.without(findings) {
		if f.selects(found) {
			r.findings = append(r.findings, found)
		} else {
			r.withheld = append(r.withheld, found)
		}
	}
	if left != nil {
		return r, left
	}
	if f.baseline != "" {
		if r.findings, err = newFindings(f.baseline, r.findings, dir, stderr); err != nil {
			return result{}, fmt.Errorf("-baseline: %w", err)
		}
		r.withheld = nil // what is new is asked for
	}
	return r, nil
}

// checkPolicies returns the problems of policy files, as retrygen check does.
func checkPolicies(files []string, dir string) (findings []finding, err error) {
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		_, problems := policy.Check(name, text)
		for _, p := range policy.AtLeast(rules.Warning, problems) {
			at := token.Position{Filename: name, Line: p.Pos.Line, Column: p.Pos.Col}
			end := at
			end.Column += p.Width
			findings = append(findings, finding{
				at: at, end: end, rule: p.Rule, text: p.Text, severity: p.Severity, evidence: lint.Proven,
			})
		}
	}
	return findings, nil
}

// checkPackages runs the analyzers on packages. If the error is *uncompiled, it
// returns the findings in the packages that compile.
func checkPackages(f finder, patterns []string, dir string,
	progress *cli.Progress, stderr io.Writer) ([]finding, error) {
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	// The go command ends together with this program.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	progress.Step("loading packages")
	if err := loadable(ctx, f, patterns, dir); err != nil {
		return nil, err
	}
	w := new(watch)
	if progress.Shown() {
		w.step = progress.Step
	}
	if f.verbose {
		w.verbose = stderr
	}
	findings, err := vetCompiled(ctx, f, patterns, dir, w)
	w.end()
	switch left := new(uncompiled); {
	case ctx.Err() != nil:
		return nil, errors.New("interrupted")
	case errors.As(err, &left):
		return findings, left
	case err != nil:
		return nil, err
	}
	return findings, nil
}

// vetCompiled returns the findings in the packages that match patterns. If the error
// is *uncompiled, it returns the findings in the packages that compile.
func vetCompiled(ctx context.Context, f finder, patterns []string, dir string, w *watch) ([]finding, error) {
	all := selection{patterns: patterns}
	if !f.tests {
		c, _ := listing(ctx, gocommand.BuildFlags(f.tags), patterns, dir) // go vet reports the error
		all.hidden = c.tests
	}
	findings, failure := goVet(ctx, f, all, dir, w)
	if failure == nil || ctx.Err() != nil {
		return findings, failure
	}
	others, left, err := diagnose(ctx, f, patterns, dir)
	switch {
	case err != nil:
		return nil, err
	case left == nil && f.tests:
		return nil, failure
	case len(others.patterns) > 0:
		// go vet checks nothing if it cannot read one of the packages.
		others.hidden = append(others.hidden, all.hidden...)
		findings, err = goVet(ctx, f, others, dir, w)
	}
	if left != nil && err == nil {
		err = left
	}
	return findings, err
}
