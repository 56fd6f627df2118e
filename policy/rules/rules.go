// Package rules says what a good policy is: pure functions over resolved
// policies, with no positions and no I/O. The check of policy files and the
// analyzers of Go code run the same functions and report the same ids. All
// arithmetic about delays is the runtime's own.
package rules

import (
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

// A Rule is one thing that is reported, with its documentation: the texts quote
// keys and symbols in backquotes. The rules about Go code are of this type, too.
type Rule struct {
	ID          string
	Title       string
	Severity    Severity // of the example; what is Info is off by default
	Reports     string   // one sentence
	Why         string   // what happens in production
	Wrong       string   // an example that is reported: a policy file without its version, or Go code
	Right       string   // the same, fixed
	NotReported []string // cases that look alike, each with the reason
	Fix         string   // what to do
	Automatic   bool     // whether retrylint -fix does that
	Related     []string // ids of other rules

	Reads []Field // the fields it decides by

	// check returns the finding about one policy, without Rule and Policy, if
	// there is one.
	check func(*retry.Policy) (Finding, bool)
	// file reports what is wrong with a file as a whole.
	file func(*File, report)
}

// ofPolicies lists the rules about a single policy.
var ofPolicies = slices.Concat(ofDelays, ofLimits)

// All lists the rules about policies by id.
var All = slices.SortedFunc(
	slices.Values(slices.Concat(ofPolicies, ofScopes, ofBreakers, ofClasses, ofShares, ofSteps)),
	func(a, b Rule) int { return strings.Compare(a.ID, b.ID) })

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
