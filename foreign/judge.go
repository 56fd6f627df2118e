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

// Check reads another system's file and checks its policies with the rules for policy
// files. Problems have positions in the file and use the names of its fields. Losses are
// problems of severity Info. The problems are sorted. They do not include the reasons why
// documents cannot be read, which are in the Unread field of the File.
func Check(name string, text []byte, o Options) (*File, []policy.Problem) {
	f, problems := Read(name, text, o)
	problems = f.check(problems)
	if len(f.Kinds) > 0 {
		problems = policy.SuppressForeign(name, text, problems)
		policy.Sort(problems)
	}
	return f, problems
}

// check adds the problems of a file's policies to the problems that were found while it was
// read.
func (f *File) check(problems []policy.Problem) []policy.Problem {
	problems = append(problems, f.judge()...)
	for _, l := range f.Losses {
		problems = append(problems, l.problem())
	}
	policy.Sort(problems)
	return slices.Compact(problems)
}

// judge reports what the rules for policy files find in the policies. Its messages use the
// names of the other system.
func (f *File) judge() (problems []policy.Problem) {
	doc := newDocument(f)
	names := f.otherNames()
	reported := map[policy.Problem]bool{}
	for _, p := range policy.CheckDocument(f.Name, doc.root) {
		if p.Finding == nil { // there are more errors than are shown
			problems = append(problems, p)
			continue
		}
		if isUnused(p.Finding) {
			continue
		}
		about := doc.subject(p.Finding)
		if about.policy.ignores(p.Rule) {
			continue
		}
		if about.policy != nil && slices.Contains(about.policy.remarks, p.Rule) {
			p.Severity = rules.Info
		}
		finding := *p.Finding
		words := about.policy.spelled(about.words).in(names)
		p.Text = finding.In(words)
		p.Paste, p.Finding = "", nil
		// A schedule for several errors becomes one schedule for each class.
		finding.Class = ""
		same := p
		same.Text = finding.In(words)
		if !reported[same] {
			problems = append(problems, p)
		}
		reported[same] = true
	}
	return problems
}

// isUnused reports whether a finding is that a scope or group is not used. In an imported file,
// only Go code can use it.
func isUnused(f *rules.Finding) bool {
	return f.Rule == "P902" && (f.Section == "scopes" || f.Section == "groups")
}

// subject returns what a finding is about.
func (d *document) subject(f *rules.Finding) subject {
	return d.subjects[entryName{cmp.Or(f.Section, "policies"), f.Policy}]
}

// ignores reports whether a rule does not apply to a policy, because it reads a field that is
// decided elsewhere or because it is applied elsewhere.
func (p *Policy) ignores(rule string) bool {
	r := policy.RuleByID(rule)
	if p == nil || r == nil {
		return false
	}
	return slices.Contains(p.judged, rule) || slices.ContainsFunc(r.Reads, func(f rules.Field) bool {
		return slices.Contains(p.unknown, f) || p.partial && p.written(f) == nil
	})
}

// span returns the position of a value for problems: the position of a scalar, or else that of
// the key.
func (v *value) span() syntax.Span {
	switch {
	case v == nil:
		return start
	case v.n.IsMap() || v.n.IsList() || v.n.Line == 0:
		return v.at
	}
	return v.n.Span
}

// Pos returns the position at which the policy begins in its document.
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

// written returns where a field is written, or nil. The settings of the backoff have the same
// position in a policy file, which is where base, increment or delays is written.
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

// otherNames are the names of classes and breakers in the other system, by their names in the
// policy file.
type otherNames struct{ classes, breakers map[string]string }

func (f *File) otherNames() otherNames {
	names := otherNames{map[string]string{}, map[string]string{}}
	for _, c := range f.classes {
		names.classes[c.name] = c.word
	}
	for _, p := range f.Policies {
		if p.breaker != nil {
			names.breakers[p.breaker.Name] = p.breaker.word
		}
	}
	return names
}

// in returns the words for messages.
func (w words) in(names otherNames) rules.Words {
	own := rules.Words{
		Field: func(f rules.Field) (name string, settable bool) {
			if f == "max_attempts" && w[countsRetries] != "" {
				f = countsRetries
			}
			if f == theDelays {
				return string(f), w["initial_delay"] != "" && !strings.HasPrefix(w["initial_delay"], fixed)
			}
			name, isFixed := strings.CutPrefix(w[f], fixed)
			return name, name != "" && !isFixed
		},
		Class:   func(c retry.Class) string { return cmp.Or(names.classes[string(c)], string(c)) },
		Breaker: func(name string) string { return cmp.Or(names.breakers[name], name) },
	}
	if w[countsRetries] != "" {
		own.Attempts = func(n int) int { return n - 1 }
	}
	return own
}
