package policy

import (
	"fmt"

	"github.com/retrygen/retrygen/policy/internal/syntax"
	"github.com/retrygen/retrygen/policy/rules"
)

// reporter collects the problems of one file.
type reporter struct {
	file       string
	policyKeys []string // of a policy: other maps may contain them by mistake
	*found
}

// found is what has been reported of a file so far.
type found struct {
	problems []Problem
	seen     map[Problem]bool
	places   map[Pos]bool
	mute     map[Pos]bool // places with a problem from which further ones would only follow
	failed   int          // errors, also those that are not reported again
	shown    int          // errors that are reported
}

func newReporter(file string, policyKeys []string) reporter {
	return reporter{file, policyKeys, &found{seen: map[Problem]bool{}, places: map[Pos]bool{}, mute: map[Pos]bool{}}}
}

// mostErrors is more than anybody reads, and keeps a hostile file from taking
// long: each guess at what was meant looks at all names.
const mostErrors = 1000

func (r reporter) problem(at syntax.Span, rule, format string, args ...any) {
	r.add(at, rule, rules.Error, fmt.Sprintf(format, args...))
}

func (r reporter) warn(at syntax.Span, rule, format string, args ...any) {
	r.add(at, rule, rules.Warning, fmt.Sprintf(format, args...))
}

func (r reporter) add(at syntax.Span, rule string, severity rules.Severity, text string) {
	p := Problem{File: r.file, Pos: posOf(at), Width: at.Width, Rule: rule, Severity: severity, Text: text}
	if severity == rules.Error {
		r.failed++
	}
	// An anchor that is used twice is wrong once.
	if r.full() || r.seen[p] || r.mute[p.Pos] {
		return
	}
	r.seen[p], r.places[p.Pos] = true, true
	r.problems = append(r.problems, p)
	if severity != rules.Error {
		return
	}
	if r.shown++; r.full() {
		p.Rule, p.Text = "P100", fmt.Sprintf("only the first %d errors are shown: fix them first", mostErrors)
		r.problems = append(r.problems, p)
	}
}

// full reports whether nothing more is reported.
func (r reporter) full() bool { return r.shown >= mostErrors }

// errors returns the number of errors so far.
func (r reporter) errors() int { return r.failed }

// has reports whether a problem has been found at a place.
func (r reporter) has(at syntax.Span) bool { return r.places[posOf(at)] }

// unparsed reports a problem of the parser.
func (r reporter) unparsed(p syntax.Problem) {
	r.problem(p.Span, p.Rule, "%s", p.Text)
	if p.Final {
		r.mute[posOf(p.Span)] = true
	}
}

// posOf returns where a span begins.
func posOf(at syntax.Span) Pos { return Pos{at.Line, at.Col} }
