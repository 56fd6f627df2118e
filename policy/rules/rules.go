// Package rules says what a good policy is: pure functions over resolved
// policies, with no positions and no I/O. The check of policy files and the
// analyzers of Go code run the same functions and report the same ids. All
// arithmetic about delays is the runtime's own.
package rules

import (
	"fmt"
	"slices"
	"strings"

	retry "github.com/retrygen/retrygen/runtime"
)

// A Severity says what a finding does to a run.
type Severity uint8

// The severities, in rising order.
const (
	Info    Severity = iota // shown on request
	Warning                 // shown; fails a strict run
	Error                   // shown; fails the run
)

// String returns the severity in lower case.
func (s Severity) String() string {
	return [...]string{"info", "warning", "error"}[min(s, Error)]
}

// A Field names a setting of a policy by its canonical key in a policy file.
type Field string

// A Finding is one problem of one policy, or of another entry of a file. Field
// is where it shows, or Else, where Field is left to its default.
type Finding struct {
	Rule     string // P300
	Severity Severity
	Section  string // of the file; "" means policies
	Policy   string // name of the policy, or of the entry of Section
	Field    Field
	Else     Field
	Text     string // what is wrong, then what to do
}

// A Rule is one thing that is proved about a policy.
type Rule struct {
	ID    string
	Title string
	Doc   string  // what it says and why, and when it stays silent
	Wrong string  // the settings of a policy that it reports
	Right string  // the same, mended
	Reads []Field // the fields it decides by

	// check returns the finding about one policy, without Rule and Policy, if
	// there is one.
	check func(*retry.Policy) (Finding, bool)
	// file reports what is wrong with a file as a whole.
	file func(*File, report)
}

// All lists the rules by id.
var All = slices.SortedFunc(slices.Values(slices.Concat(ofPolicies, ofFiles)), func(a, b Rule) int { return strings.Compare(a.ID, b.ID) })

// Explain tells the rule in plain text, with its examples.
func (r *Rule) Explain() string {
	return fmt.Sprintf("%s: %s\n\n%s\n\nWrong:\n\n  %s\n\nRight:\n\n  %s\n", r.ID, r.Title, r.Doc, r.Wrong, r.Right)
}

// Markdown tells the rule without its title, with its examples.
func (r *Rule) Markdown() string {
	return fmt.Sprintf("%s\n\nWrong:\n\n```yaml\n%s\n```\n\nRight:\n\n```yaml\n%s\n```\n", r.Doc, r.Wrong, r.Right)
}

// Known reports whether the value of a field is known. The analyzers know only
// constants; a policy file knows everything. A rule that reads a field that is
// not known stays silent.
type Known func(Field) bool

// Check returns the findings of every rule about p, in the order of their ids.
// A nil known means that every field is.
func Check(p *retry.Policy, known Known) []Finding {
	effective := *p
	effective.Schedule = p.Schedule.Effective()
	var findings []Finding
	for _, r := range All {
		if r.check == nil || known != nil && slices.ContainsFunc(r.Reads, func(f Field) bool { return !known(f) }) {
			continue
		}
		if f, found := r.check(&effective); found {
			f.Rule, f.Policy = r.ID, p.Name
			findings = append(findings, f)
		}
	}
	return findings
}

// ByID returns the rule with the id, or nil.
func ByID(id string) *Rule {
	for i := range All {
		if All[i].ID == id {
			return &All[i]
		}
	}
	return nil
}
