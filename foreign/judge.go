package foreign

import (
	"cmp"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// Check reads a file of another system and judges its policies by the rules for
// policy files. Problems have the positions of the file and the names of its
// fields. Losses are problems of severity Info. The problems are sorted.
func Check(name string, text []byte, from *Kind) []policy.Problem {
	f, problems := Read(name, text, from)
	if f == nil {
		return problems
	}
	problems = append(problems, f.judge()...)
	for _, l := range f.Losses {
		problems = append(problems, l.problem())
	}
	policy.Sort(problems)
	return slices.Compact(problems)
}

// judge checks the policy file that import writes, which is how rules apply to
// policies of other systems in the same way as to ours.
func (f *File) judge() (problems []policy.Problem) {
	w := writeFile([]*File{f})
	_, found := policy.Check(f.Name, []byte(w.String()))
	names := map[string]string{}
	for _, c := range f.classes {
		names[c.name] = c.word
	}
	reported := map[policy.Problem]bool{}
	for _, p := range found {
		t := w.at[p.Line]
		unused := t.section != nil && p.Rule == "P902" // what uses it is Go code
		if unused || t.policy.ignores(p.Rule) || p.Finding == nil {
			continue
		}
		if t.policy != nil && slices.Contains(t.policy.remarks, p.Rule) {
			p.Severity = rules.Info
		}
		at, words := t.place(f)
		finding := *p.Finding
		p.Pos, p.Width = policy.Pos{Line: at.Line, Col: at.Col}, at.Width
		p.Text = finding.In(words.in(names))
		p.Paste, p.Finding = "", nil
		// A schedule of several errors is one for each class here.
		finding.Class = ""
		same := p
		same.Text = finding.In(words.in(names))
		if !reported[same] {
			problems = append(problems, p)
		}
		reported[same] = true
	}
	return problems
}

// ignores reports whether a rule reads a field of the policy that another place
// decides.
func (p *Policy) ignores(rule string) bool {
	r := policy.RuleByID(rule)
	return p != nil && r != nil && slices.ContainsFunc(r.Reads, func(f rules.Field) bool {
		return slices.Contains(p.unknown, f)
	})
}

// place returns where in the foreign document a problem is, and the names of the
// system's fields.
func (t target) place(f *File) (syntax.Span, words) {
	var v *value
	var w words
	switch {
	case t.breaker != nil:
		v, w = t.breaker.at, t.breaker.words
		if p := t.breaker.places[t.field]; p != nil {
			v = p
		}
	case t.section != nil:
		v, w = t.section.at, t.section.words
		if p := t.section.places[t.field]; p != nil {
			v = p
		}
	case t.policy != nil:
		v, w = t.policy.root(), t.policy.words
		if p := t.policy.written(t.field); p != nil {
			v = p
		}
	}
	if v == nil {
		return syntax.Span{Line: 1, Col: 1, Width: 1}, w
	}
	if v.n.IsMap() || v.n.IsList() || v.n.Line == 0 {
		return v.at, w
	}
	return v.n.Span, w
}

// Pos returns where the policy begins in its document.
func (p *Policy) Pos() policy.Pos {
	if v := p.root(); v != nil {
		return policy.Pos{Line: v.at.Line, Col: v.at.Col}
	}
	return policy.Pos{Line: 1, Col: 1}
}

func (p *Policy) root() *value {
	if len(p.roots) == 0 {
		return nil
	}
	return p.roots[0]
}

// written returns where a field is written, or nil. The settings of the backoff are
// on one line of a policy file: base, or else the strategy.
func (p *Policy) written(field rules.Field) *value {
	if v := p.places[field]; v != nil {
		return v
	}
	if field == "backoff" {
		for _, f := range []rules.Field{"base", "increment", "delays"} {
			if v := p.places[f]; v != nil {
				return v
			}
		}
	}
	return nil
}

// in returns the words for messages. classes are the names of classes in the other
// system.
func (w words) in(classes map[string]string) rules.Words {
	own := rules.Words{
		Field: func(f rules.Field) (name string, settable bool) {
			if f == "max_attempts" && w[countsRetries] != "" {
				f = countsRetries
			}
			name, isFixed := strings.CutPrefix(w[f], fixed)
			return name, name != "" && !isFixed
		},
		Class: func(c retry.Class) string { return cmp.Or(classes[string(c)], string(c)) },
	}
	if w[countsRetries] != "" {
		own.Attempts = func(n int) int { return n - 1 }
	}
	return own
}
