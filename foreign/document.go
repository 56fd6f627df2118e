package foreign

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// A document is a policy file in memory. The import command writes it, and the check command
// checks it. Its nodes have the positions of the foreign file.
type document struct {
	root     *syntax.Node
	policies map[*syntax.Node]*Policy // by the values of their entries
	subjects map[entryName]subject
}

// An entryName names an entry of a policy file.
type entryName struct{ section, name string }

// A subject is the object that an entry of a policy file represents.
type subject struct {
	policy *Policy // for a class: one that uses it; for other entries: nil
	words  words
}

// newDocument returns the policies of a file as a policy file. It contains what the
// policies need.
func newDocument(f *File) *document {
	d := &document{policies: map[*syntax.Node]*Policy{}, subjects: map[entryName]subject{}}
	list := []syntax.Entry{{Key: "version", Value: syntax.Int(1)}}
	if !f.matchText {
		list = append(list, syntax.Entry{Key: "match_text", Value: syntax.Bool(false)})
	}
	for _, section := range []syntax.Entry{
		{Key: "scopes", Value: d.sections("scopes", f.scopes)},
		{Key: "errors", Value: d.classes(f)},
		{Key: "breakers", Value: d.breakers(f)},
		{Key: "groups", Value: d.sections("groups", f.groups)},
		{Key: "policies", Value: d.policyEntries(f)},
	} {
		if len(section.Value.Entries) > 0 {
			list = append(list, section)
		}
	}
	d.root = syntax.Map(list...)
	d.root.Place(start)
	return d
}

// start is the position of anything without a position in the foreign file.
var start = syntax.Span{Line: 1, Col: 1, Width: 1}

// entry returns an entry of a section. The entry has the position of v, and so do the parts of
// it that have no position.
func (d *document) entry(section, name string, about subject, v *value, n *syntax.Node) syntax.Entry {
	d.subjects[entryName{section, name}] = about
	n.Place(v.span())
	return syntax.Entry{Key: name, At: n.Span, Value: n}
}

// settingsMap returns a map of settings. place returns where a setting is written, or nil. In
// the latter case, the position of the map is used.
func settingsMap(list []setting, place func(rules.Field) *value) *syntax.Node {
	entries := make([]syntax.Entry, len(list))
	for i, s := range list {
		entries[i] = syntax.Entry{Key: string(s.field), Value: s.value}
		if v := place(s.field); v != nil {
			s.value.Place(v.span())
			entries[i].At = s.value.Span
		}
	}
	return syntax.Map(entries...)
}

// sections returns scopes or groups.
func (d *document) sections(section string, list []*section) *syntax.Node {
	var entries []syntax.Entry
	for _, s := range list {
		n := settingsMap(s.settings, func(f rules.Field) *value { return s.places[f] })
		entries = append(entries, d.entry(section, s.name, subject{words: s.words}, s.at, n))
	}
	return syntax.Map(entries...)
}

// classes returns the classes that policies use.
func (d *document) classes(f *File) *syntax.Node {
	users, retried := f.uses()
	var entries []syntax.Entry
	for _, c := range f.classes {
		user := users[retry.Class(c.name)]
		if user == nil {
			continue
		}
		var tests []syntax.Entry
		if len(c.http) > 0 {
			var list []*syntax.Node
			for _, r := range c.http {
				if r[1] > r[0] {
					list = append(list, syntax.Text(strconv.Itoa(r[0])+"-"+strconv.Itoa(r[1])))
				} else {
					list = append(list, syntax.Int(r[0]))
				}
			}
			tests = append(tests, syntax.Entry{Key: "http", Value: syntax.List(list...)})
		}
		if c.grpc != nil {
			tests = append(tests, syntax.Entry{Key: "grpc", Value: textList(c.grpc)})
		}
		if c.pattern != "" {
			pattern := syntax.Text(c.pattern)
			pattern.Form.Quoted = true
			tests = append(tests, syntax.Entry{Key: "pattern", Value: pattern})
		}
		if c.ofRequest() && retried[retry.Class(c.name)] {
			tests = append(tests, syntax.Entry{Key: "retryable", Value: syntax.Bool(true)})
		}
		about := subject{policy: user, words: user.words}
		entries = append(entries, d.entry("errors", c.name, about, user.root(), syntax.FlowMap(tests...)))
	}
	return syntax.Map(entries...)
}

// uses returns the first policy that uses each class, and the classes that policies
// retry.
func (f *File) uses() (users map[retry.Class]*Policy, retried map[retry.Class]bool) {
	users, retried = map[retry.Class]*Policy{}, map[retry.Class]bool{}
	for _, p := range f.Policies {
		for _, c := range p.RetryOn {
			retried[c] = true
		}
		used := slices.Concat(p.RetryOn, p.AbortOn)
		for _, o := range p.PerError {
			used = append(used, o.Class)
		}
		for _, c := range used {
			if users[c] == nil {
				users[c] = p
			}
		}
	}
	return users, retried
}

// breakers returns the breakers of policies.
func (d *document) breakers(f *File) *syntax.Node {
	var entries []syntax.Entry
	written := map[*circuit]bool{}
	for _, p := range f.Policies {
		b := p.breaker
		if b == nil || written[b] {
			continue
		}
		written[b] = true
		n := settingsMap(breakerSettings(b), func(f rules.Field) *value { return b.places[f] })
		entries = append(entries, d.entry("breakers", b.Name, subject{words: b.words}, b.at, n))
	}
	return syntax.Map(entries...)
}

// policyEntries returns the section policies.
func (d *document) policyEntries(f *File) *syntax.Node {
	var entries []syntax.Entry
	for _, p := range f.Policies {
		n := settingsMap(policySettings(p), p.written)
		d.policies[n] = p
		entries = append(entries, d.entry("policies", p.Name, subject{p, p.words}, p.root(), n))
	}
	return syntax.Map(entries...)
}

// perError returns the schedules of error classes.
func (p *Policy) perError() *syntax.Node {
	var entries []syntax.Entry
	for _, o := range p.PerError {
		n := settingsMap(overrideSettings(&p.Schedule, &o.Schedule), func(rules.Field) *value { return nil })
		n.Place(cmp.Or(p.written(rules.PerError(o.Class)), p.root()).span())
		entries = append(entries, syntax.Entry{Key: string(o.Class), At: n.Span, Value: n})
	}
	return syntax.Map(entries...)
}

// textList returns a list of strings.
func textList[S ~string](texts []S) *syntax.Node {
	items := make([]*syntax.Node, len(texts))
	for i, s := range texts {
		items[i] = syntax.Text(string(s))
	}
	return syntax.List(items...)
}
