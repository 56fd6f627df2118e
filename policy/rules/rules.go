// Package rules checks resolved policies for mistakes, such as a timeout that ends a call
// before its first retry. The rules are pure functions. They do no I/O and do not know
// where a setting is written. The checker for policy files and the analyzers for Go code
// call the same functions and report the same ids. All delays are computed by the
// runtime, so the rules agree with what happens in production.
package rules

import (
	"slices"
	"strings"

	retry "github.com/retrygen/retrygen/runtime"
)

// A Severity determines whether a finding is shown and whether it fails a run. The
// zero value is Info.
type Severity uint8

// The severities, in ascending order.
const (
	Info    Severity = iota // shown on request
	Warning                 // shown; fails a strict run
	Error                   // shown; fails the run
)

// String returns the severity in lower case.
func (s Severity) String() string {
	return [...]string{"info", "warning", "error"}[min(s, Error)]
}

// A Field names a setting of a policy by its canonical key in policy files.
type Field string

// A Finding is a problem with a policy or with another entry in a file.
type Finding struct {
	Rule     string // the id, such as P300
	Severity Severity
	Section  string // section of the file; "" means policies
	Policy   string // name of the policy, or of the entry in Section
	Field    Field  // where the problem is reported
	Else     Field  // where it is reported if Field is not written; "" means at the entry
	Text     string // what is wrong and how to fix it, with the names used in policy files

	Class   retry.Class // class whose schedule breaks a rule, for P410
	Broken  string      // id of the rule that the schedule breaks, for P410
	message string      // the Text with marks
}

// A Rule is a check. Its page in docs/rules describes it. A rule about Go code is also a
// Rule.
type Rule struct {
	ID       string
	Severity Severity // severity of the example on the rule's page; a rule with Info is off by default
	Reads    []Field  // the fields that affect the result of check

	// check returns the finding about one policy, without Rule and Policy, or
	// false. Nil: the rule does not check single policies.
	check func(*retry.Policy) (Finding, bool)
	// file reports the findings about a whole file. Nil: the rule has none.
	file func(*File, report)
	// whole lists the sections whose entries file must all know, since it reports what
	// no entry does. It does not run if one of them is partial.
	whole []string
}

// policyRules lists the rules about a single policy.
var policyRules = slices.Concat(delayRules, limitRules)

// All lists the rules about policies, ordered by id. It must not be changed.
var All = slices.SortedFunc(
	slices.Values(slices.Concat(policyRules, scopeRules, breakerRules, classRules, shareRules, groupRules, capacityRules,
		stepRules)),
	func(a, b Rule) int { return strings.Compare(a.ID, b.ID) })

// Known reports whether the value of a field is known. The analyzers of Go code
// know only constants. A rule that reads an unknown field reports nothing.
type Known func(Field) bool

// Check returns the findings of all rules about p, ordered by rule id. A nil known means
// that every field is known.
func Check(p *retry.Policy, known Known) []Finding {
	effective := *p
	effective.Schedule = p.Schedule.Effective()
	var findings []Finding
	for _, r := range All {
		if r.check == nil || known != nil && slices.ContainsFunc(r.Reads, func(f Field) bool { return !known(f) }) {
			continue
		}
		if f, found := r.check(&effective); found {
			f.Rule, f.Policy, f.Text = r.ID, p.Name, f.In(policyWords)
			findings = append(findings, f)
		}
	}
	return findings
}

// ByID returns the rule in All with the given id, or nil.
func ByID(id string) *Rule {
	for i := range All {
		if All[i].ID == id {
			return &All[i]
		}
	}
	return nil
}
