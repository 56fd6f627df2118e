package main

import (
	"io"
	"os"
	"slices"

	"github.com/retrygen/retrygen/internal/diagnostic"
	"github.com/retrygen/retrygen/lint"
	"github.com/retrygen/retrygen/policy/rules"
)

// A filter selects the findings that are reported.
type filter struct {
	disable    string        // ids of rules that are not reported, separated by commas
	enabled    []string      // ids of rules that are reported whatever their severity and evidence
	confidence lint.Evidence // the weakest to report
	baseline   string        // file with findings that are not reported
}

// selects reports whether a finding in Go code is reported.
func (s filter) selects(f finding) bool {
	return slices.Contains(s.enabled, f.rule) || !informs(f.rule) && f.evidence >= s.confidence
}

// informs reports whether a rule only informs.
func informs(rule string) bool {
	r := ruleByID(rule)
	return r != nil && r.Severity == rules.Info
}

// without returns the findings except findings of disabled rules.
func (s filter) without(findings []finding) []finding {
	disabled := diagnostic.SplitRules(s.disable)
	return slices.DeleteFunc(findings, func(f finding) bool { return slices.Contains(disabled, f.rule) })
}

// newFindings returns the findings that are not in the baseline file, which it writes if
// there is none.
func newFindings(name string, findings []finding, dir string, stderr io.Writer) ([]finding, error) {
	return diagnostic.NotIn(name, "retrylint", findings, func(f finding) string {
		text, _ := os.ReadFile(f.at.Filename) // nil: the key has no text
		return f.diagnostic(dir).Key(text)
	}, stderr)
}
