package policy

import (
	"go/token"
	"strings"

	"github.com/retrygen/retrygen/internal/syntax"
)

// A Method is an entry under methods. It applies a policy to a method of a bound type, or
// to every method whose name matches a pattern.
type Method struct {
	Name string // * matches any sequence of characters, including none
	Pos  Pos
	Use
}

// IsPattern reports whether the name of m is a pattern.
func (m *Method) IsPattern() bool { return strings.Contains(m.Name, "*") }

// Matches reports whether m applies to the method name.
func (m *Method) Matches(name string) bool {
	first, rest, pattern := strings.Cut(m.Name, "*")
	if !pattern {
		return name == m.Name
	}
	name, ok := strings.CutPrefix(name, first)
	if !ok {
		return false
	}
	parts := strings.Split(rest, "*")
	last := len(parts) - 1
	for _, part := range parts[:last] {
		_, after, ok := strings.Cut(name, part)
		if !ok {
			return false
		}
		name = after
	}
	return strings.HasSuffix(name, parts[last])
}

// literal returns the number of bytes in m's pattern other than *.
func (m *Method) literal() int { return len(m.Name) - strings.Count(m.Name, "*") }

// MethodFor returns the entry of b.Methods that applies to a method, or nil. An entry
// with the method's name takes precedence. Otherwise, the matching pattern with the most
// bytes other than * applies. tie is another matching pattern that is equally specific,
// or nil.
func (b *Binding) MethodFor(name string) (best, tie *Method) {
	for i := range b.Methods {
		m := &b.Methods[i]
		switch {
		case !m.Matches(name):
		case !m.IsPattern():
			return m, nil
		case best == nil || m.literal() > best.literal():
			best, tie = m, nil
		case m.literal() == best.literal() && tie == nil:
			tie = m
		}
	}
	return best, tie
}

// method reads an entry of methods.
func (d decoder) method(e syntax.Entry) Method {
	m := Method{Name: e.Key, Pos: posOf(e.At)}
	if !token.IsIdentifier(strings.ReplaceAll(e.Key, "*", "x")) {
		d.problem(e.At, "P904", "%s is not the name of a method: write it as Get, or a pattern such as Get*",
			syntax.Quote(e.Key))
	}
	if !e.Value.IsMap() {
		m.Policy = d.policyName(e.Value, true)
		return m
	}
	unknown := d.unknownKeys(e.Value, "method", methodKeys...) // one may be the policy
	d.use(e.Value, &m.Use)
	for _, key := range []string{"step", "formerly"} {
		if at := e.Value.Written(key); at != nil && m.IsPattern() {
			d.problem(at.At, "P102",
				"%s names one step, but %s may be several: write an entry with the name of the method", key, e.Key)
		}
	}
	p := e.Value.Get("policy")
	switch {
	case p != nil:
		m.Policy = d.policyName(p.Value, true)
		if p.Value.Value == "none" {
			d.withoutPolicy(e.Value, "remove it, or name a policy")
		}
	case !unknown:
		d.problem(e.At, "P102", "%s names no policy: write %s: POLICY, or %s: none", e.Key, e.Key, e.Key)
	}
	return m
}
