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

// A checkConfig holds the flags and the arguments of retrylint.
type checkConfig struct {
	tags     string
	tests    bool
	verbose  bool   // print the packages that are analyzed
	sarif    string // file for the findings as SARIF; -: standard output, instead of text
	fix      bool   // apply fixes to the files
	diff     bool   // only print what fix would change
	json     bool
	github   bool   // print findings as annotations of GitHub
	disable  string // ids of rules that are not reported, separated by commas
	baseline string // file with findings that are not reported
	color    *cli.Color

	confidence lint.Evidence // the weakest to report
	enabled    []string      // ids of rules that are reported whatever their severity and evidence
	args       []string
}

// A finding is a diagnostic with its position in a file.
type finding struct {
	at, end token.Position
	rule    string
	text    string // without the rule
	edits   []edit // of the fix, if there is one

	severity rules.Severity
	evidence lint.Evidence
}

// check runs the analyzers on packages and the policy rules on policy files. It
// prints the sorted findings and returns their number. If some packages do not
// compile, it prints the findings of the others, changes no file and returns an
// error.
func check(config checkConfig, stdout, stderr io.Writer) (int, error) {
	dir, err := os.Getwd()
	if err != nil {
		return 0, err
	}
	findings, err := config.find(dir, stderr)
	if left := new(uncompiled); errors.As(err, &left) && (left.checked > 0 || len(findings) > 0) && !config.fix &&
		!config.diff && config.baseline == "" {
		return len(findings), errors.Join(config.print(findings, stdout, stderr, dir), err)
	}
	if err != nil {
		return 0, err
	}
	if config.fix || config.diff {
		fixed, err := fix(findings, config.diff, stdout, dir)
		if err != nil {
			return 0, err
		}
		if config.diff {
			return len(findings), nil
		}
		for _, file := range fixed {
			fmt.Fprintln(stderr, "retrylint: fixed", relative(file, dir))
		}
		if len(fixed) > 0 {
			// The other findings are on other lines now.
			if findings, err = config.find(dir, stderr); err != nil {
				return 0, err
			}
		}
	}
	if err := config.print(findings, stdout, stderr, dir); err != nil {
		return 0, err
	}
	return len(findings), nil
}

// find returns the sorted findings to report. If the error is *uncompiled, they are
// those of the packages that compile.
func (config checkConfig) find(dir string, stderr io.Writer) ([]finding, error) {
	var files, patterns []string
	for _, arg := range config.args {
		if ext := filepath.Ext(arg); ext == ".yaml" || ext == ".yml" {
			files = append(files, arg)
		} else {
			patterns = append(patterns, arg)
		}
	}
	progress := new(cli.Progress)
	if !config.verbose { // which prints lines instead
		progress = cli.NewProgress("retrylint", stderr)
	}
	defer progress.End()
	findings, err := checkPolicies(files, dir)
	if err != nil {
		return nil, err
	}
	var left *uncompiled
	if len(files) == 0 || len(patterns) > 0 {
		inGo, err := checkPackages(config, patterns, dir, progress, stderr)
		if err != nil && !errors.As(err, &left) {
			return nil, err
		}
		findings = append(findings, inGo...)
	}
	slices.SortFunc(findings, func(a, b finding) int {
		return cmp.Or(
			strings.Compare(a.at.Filename, b.at.Filename), cmp.Compare(a.at.Line, b.at.Line),
			cmp.Compare(a.at.Column, b.at.Column), strings.Compare(a.text, b.text),
		)
	})
	findings = without(findings, config.disable)
	if left != nil {
		return findings, left
	}
	if config.baseline != "" {
		if findings, err = newFindings(config.baseline, findings, dir, stderr); err != nil {
			return nil, fmt.Errorf("-baseline: %w", err)
		}
	}
	return findings, nil
}

// print prints the findings in the forms that the flags select.
func (config checkConfig) print(findings []finding, stdout, stderr io.Writer, dir string) error {
	if config.sarif != "" {
		if err := writeSARIF(config.sarif, stdout, findings, dir); err != nil || config.sarif == "-" {
			return err
		}
	}
	if config.json {
		return printJSON(stdout, findings, dir)
	}
	if !config.github {
		printText(findings, dir, config.color.On(stdout), stdout, stderr)
		return nil
	}
	for _, f := range findings {
		f.annotate(stdout, dir)
	}
	return nil
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

// checkPackages runs the analyzers on packages. If the error is *uncompiled, the
// findings are those of the packages that compile.
func checkPackages(config checkConfig, patterns []string, dir string,
	progress *cli.Progress, stderr io.Writer) ([]finding, error) {
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	// The go command ends together with this program.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	progress.Step("loading packages")
	if err := loadable(ctx, config, patterns, dir); err != nil {
		return nil, err
	}
	w := new(watch)
	if progress.Shown() {
		w.step = progress.Step
	}
	if config.verbose {
		w.verbose = stderr
	}
	findings, err := vetCompiled(ctx, config, patterns, dir, w)
	findings = slices.DeleteFunc(findings, func(f finding) bool { return !config.selects(f) })
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

// selects reports whether a finding in Go code is reported.
func (config checkConfig) selects(f finding) bool {
	return slices.Contains(config.enabled, f.rule) || !informs(f.rule) && f.evidence >= config.confidence
}

// informs reports whether a rule only informs.
func informs(rule string) bool {
	r := ruleByID(rule)
	return r != nil && r.Severity == rules.Info
}

// vetCompiled returns the findings in the packages that match patterns. If the error
// is *uncompiled, they are those of the packages that compile.
func vetCompiled(ctx context.Context, config checkConfig, patterns []string, dir string, w *watch) ([]finding, error) {
	all := selection{patterns: patterns}
	if !config.tests {
		c, _ := listing(ctx, gocommand.BuildFlags(config.tags), patterns, dir) // go vet reports the error
		all.hidden = c.tests
	}
	findings, failure := goVet(ctx, config, all, dir, w)
	if failure == nil || ctx.Err() != nil {
		return findings, failure
	}
	others, left, err := diagnose(ctx, config, patterns, dir)
	switch {
	case err != nil:
		return nil, err
	case left == nil && config.tests:
		return nil, failure
	case len(others.patterns) > 0:
		// go vet checks nothing if it cannot read one of the packages.
		others.hidden = append(others.hidden, all.hidden...)
		findings, err = goVet(ctx, config, others, dir, w)
	}
	if left != nil && err == nil {
		err = left
	}
	return findings, err
}
