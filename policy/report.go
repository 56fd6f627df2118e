package policy

import (
	"fmt"

	"github.com/retrygen/retrygen/policy/rules"
)

// reporter collects the problems of one file.
type reporter struct {
	file     string
	problems *[]Problem
}

func (r reporter) problem(at span, rule, format string, args ...any) {
	r.add(at, rule, rules.Error, fmt.Sprintf(format, args...))
}

func (r reporter) warn(at span, rule, format string, args ...any) {
	r.add(at, rule, rules.Warning, fmt.Sprintf(format, args...))
}

func (r reporter) add(at span, rule string, severity rules.Severity, text string) {
	p := Problem{File: r.file, Pos: at.Pos, Width: at.width, Rule: rule, Severity: severity, Text: text}
	// An anchor that is used twice is wrong once.
	for _, q := range *r.problems {
		if q == p {
			return
		}
	}
	*r.problems = append(*r.problems, p)
}

// errors returns the number of errors so far.
func (r reporter) errors() (n int) {
	for _, p := range *r.problems {
		if p.Severity == rules.Error {
			n++
		}
	}
	return n
}

// has reports whether a problem has been found at pos.
func (r reporter) has(pos Pos) bool {
	for _, p := range *r.problems {
		if p.Pos == pos {
			return true
		}
	}
	return false
}
