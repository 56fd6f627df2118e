package policy

import (
	"fmt"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/rules"
)

// reporter collects the problems of one file.
type reporter struct {
	file       string
	policyKeys []string // to recognize keys of a policy in other maps
	*reported
}

// reported holds what has been reported about a file so far.
type reported struct {
	problems []Problem
	seen     map[Problem]bool
	places   map[Pos]rules.Severity // the highest there
	mute     map[Pos]bool           // places with a problem that would only cause further ones
	failed   int                    // errors, including repeated ones that are not in problems
	shown    int                    // errors in problems
}

func newReporter(file string, policyKeys []string) reporter {
	return reporter{file, policyKeys, &reported{
		seen: map[Problem]bool{}, places: map[Pos]rules.Severity{}, mute: map[Pos]bool{},
	}}
}

// maxErrors is the most errors that are reported for a file. It also limits the
// time for a hostile file, since each suggestion compares all names.
const maxErrors = 1000

func (r reporter) problem(at syntax.Span, rule, format string, args ...any) {
	r.add(at, rules.Finding{Rule: rule, Severity: rules.Error, Text: fmt.Sprintf(format, args...)})
}

func (r reporter) warn(at syntax.Span, rule, format string, args ...any) {
	r.add(at, rules.Finding{Rule: rule, Severity: rules.Warning, Text: fmt.Sprintf(format, args...)})
}

// add adds a problem with the rule, the severity and the text of a finding.
func (r reporter) add(at syntax.Span, f rules.Finding) {
	p := Problem{File: r.file, Pos: posOf(at), Width: at.Width, Rule: f.Rule, Severity: f.Severity, Text: f.Text}
	if f.Severity == rules.Error {
		r.failed++
	}
	// An anchor that is used twice has its problems once.
	if r.full() || r.seen[p] || r.mute[p.Pos] {
		return
	}
	r.seen[p], r.places[p.Pos] = true, max(r.places[p.Pos], f.Severity)
	p.Finding = &f
	r.problems = append(r.problems, p)
	if f.Severity != rules.Error {
		return
	}
	if r.shown++; r.full() {
		p.Finding, p.Rule, p.Text = nil, "P100", fmt.Sprintf("only the first %d errors are shown: fix them first", maxErrors)
		r.problems = append(r.problems, p)
	}
}

// full reports whether maxErrors is reached, so that no more is reported.
func (r reporter) full() bool { return r.shown >= maxErrors }

// errors returns the number of errors so far.
func (r reporter) errors() int { return r.failed }

// has reports whether a problem has been found at a place.
func (r reporter) has(at syntax.Span) bool { _, ok := r.places[posOf(at)]; return ok }

// unparsed reports a problem of the parser.
func (r reporter) unparsed(p syntax.Problem) {
	r.problem(p.Span, p.Rule, "%s", p.Text)
	if p.Final {
		r.mute[posOf(p.Span)] = true
	}
}

// posOf returns where a span begins.
func posOf(at syntax.Span) Pos { return Pos{at.Line, at.Col} }
