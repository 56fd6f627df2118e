package policy

import (
	"cmp"
	"slices"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// An entryName names an entry of a section. The name "" means that the section
// has entries which are not known.
type entryName struct{ section, name string }

// unsound is the set of the entries of a file whose values are not known: they
// have an error, or refer to an entry that has one. Rules do not judge them.
type unsound map[entryName]bool

// has reports whether the entry of a section is not known.
func (u unsound) has(section, name string) bool { return u[entryName{section, name}] }

// partial returns the sections with entries that are not known.
func (u unsound) partial() (list []string) {
	for e := range u {
		if !slices.Contains(list, e.section) {
			list = append(list, e.section)
		}
	}
	return list
}

// unsound returns the entries of f that are not known, after it is decoded.
func (d decoder) unsound(root *syntax.Node, resolved []resolution, f *File) unsound {
	u := unsound{}
	if d.errors() == 0 {
		return u
	}
	d.markPlaces(root, u)
	for _, section := range append([]string{"bind"}, sections...) {
		if e := root.Get(section); e != nil {
			for _, entry := range e.Value.Entries {
				// The values of an alias are elsewhere.
				if d.failedInside(entry.Value) {
					u[entryName{section, entry.Key}] = true
				}
			}
		}
	}
	for _, r := range resolved {
		if r.merged.broken {
			u[entryName{"policies", r.entry.Key}] = true
		}
	}
	u.spread(f.references(resolved))
	return u
}

// markPlaces adds the entries in whose text there is an error. An unknown key at
// the top of the file may be meant as any section.
func (d decoder) markPlaces(root *syntax.Node, u unsound) {
	type mark struct {
		Pos
		of entryName
	}
	var marks []mark
	for _, e := range root.Entries {
		section := e.Key
		if section != "bind" && !slices.Contains(sections, section) {
			marks = append(marks, mark{posOf(e.At), entryName{section: section}})
			continue
		}
		marks = append(marks, mark{posOf(e.At), entryName{section, ""}})
		for _, entry := range e.Value.Entries {
			marks = append(marks, mark{posOf(entry.At), entryName{section, entry.Key}})
		}
	}
	slices.SortStableFunc(marks, func(a, b mark) int { return comparePos(a.Pos, b.Pos) })
	for _, p := range d.problems {
		if p.Severity != rules.Error || p.Rule == "P907" {
			continue
		}
		i, _ := slices.BinarySearchFunc(marks, p.Pos, func(m mark, at Pos) int {
			return cmp.Or(comparePos(m.Pos, at), -1) // the first mark after the problem
		})
		if i == 0 {
			continue
		}
		of := marks[i-1].of
		switch {
		case of.section == "bind" || slices.Contains(sections, of.section):
			u[of] = true
		case !isTopLevel(of.section):
			for _, section := range append([]string{"bind"}, sections...) {
				u[entryName{section, ""}] = true
			}
		}
	}
}

func comparePos(a, b Pos) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col)) }

// failedInside reports whether a problem that is an error has been reported at a
// node, or inside of it.
func (d decoder) failedInside(n *syntax.Node) bool {
	return d.places[posOf(n.Span)] == rules.Error ||
		slices.ContainsFunc(n.Entries, func(e syntax.Entry) bool {
			return d.places[posOf(e.At)] == rules.Error || d.failedInside(e.Value)
		}) || slices.ContainsFunc(n.Items, d.failedInside)
}

// spread adds the entries that refer to an entry of the set, directly or not. refs
// maps each entry to those that refer to it.
func (u unsound) spread(refs map[entryName][]entryName) {
	next := make([]entryName, 0, len(u))
	for e := range u {
		next = append(next, e)
	}
	for len(next) > 0 {
		last := next[len(next)-1]
		next = next[:len(next)-1]
		for _, e := range refs[last] {
			if !u[e] {
				u[e] = true
				next = append(next, e)
			}
		}
	}
}

// references maps the entries of a file to those that refer to them.
func (f *File) references(resolved []resolution) map[entryName][]entryName {
	refs := map[entryName][]entryName{}
	add := func(from entryName, section, name string) {
		if name != "" {
			to := entryName{section, name}
			refs[to] = append(refs[to], from)
		}
	}
	for _, s := range f.Scopes {
		add(entryName{"scopes", s.Name}, "scopes", s.Within)
	}
	for _, b := range f.Breakers {
		for _, c := range b.Count {
			add(entryName{"breakers", b.Name}, "errors", c)
		}
	}
	for _, t := range f.Throttles {
		for _, c := range t.Count {
			add(entryName{"throttles", t.Name}, "errors", c)
		}
	}
	for _, g := range f.Groups {
		if g.Budget != nil {
			add(entryName{"groups", g.Name}, "budgets", g.Budget.Name)
		}
	}
	for i, p := range f.Policies {
		from := entryName{"policies", p.Name}
		add(from, "scopes", p.Scope)
		add(from, "breakers", p.Breaker)
		add(from, "budgets", p.Budget)
		add(from, "concurrency", p.Concurrency)
		add(from, "rates", p.Rate)
		add(from, "throttles", p.Throttle)
		add(from, "policies", parentOf(resolved[i].own))
		for _, list := range [][]retry.Class{p.RetryOn, p.AbortOn} {
			for _, c := range list {
				add(from, "errors", string(c))
			}
		}
		for _, o := range p.PerError {
			add(from, "errors", string(o.Class))
		}
	}
	for _, b := range f.Bindings {
		from := entryName{"bind", b.Symbol}
		add(from, "groups", b.Group.Name)
		for _, use := range b.uses() {
			add(from, "policies", use.Policy)
		}
	}
	return refs
}
