package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

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
	disabled := splitIDs(s.disable)
	return slices.DeleteFunc(findings, func(f finding) bool { return slices.Contains(disabled, f.rule) })
}

// splitIDs splits a list of rules at commas and spaces.
func splitIDs(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// A baseline counts known findings by their key. The key contains the text of the
// line, not its number, so that code may move.
type baseline map[string]int

// key returns the line of a baseline for a finding.
func (f finding) key(dir string) string {
	line := ""
	if text, err := os.ReadFile(f.at.Filename); err == nil {
		if lines := bytes.Split(text, []byte("\n")); f.at.Line <= len(lines) {
			line = string(bytes.TrimSpace(lines[f.at.Line-1]))
		}
	}
	return f.path(dir) + "\t" + f.rule + "\t" + line
}

// newFindings returns the findings that are not in the baseline file. If the file
// does not exist, it writes all findings to it, reports that on stderr and returns
// none.
func newFindings(name string, findings []finding, dir string, stderr io.Writer) ([]finding, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		var b strings.Builder
		for _, f := range findings {
			b.WriteString(f.key(dir) + "\n")
		}
		if err := os.WriteFile(name, []byte(b.String()), 0o666); err != nil {
			return nil, err
		}
		fmt.Fprintf(stderr, "retrylint: wrote the new baseline %s; findings in it: %d\n", name, len(findings))
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	known := baseline{}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if strings.Count(line, "\t") < 2 {
			return nil,
				fmt.Errorf("%s:%d: this is not a line of a baseline: name a file that retrylint wrote, or a new one", name, n)
		}
		known[line]++
	}
	return slices.DeleteFunc(findings, func(f finding) bool {
		key := f.key(dir)
		known[key]--
		return known[key] >= 0
	}), nil
}
