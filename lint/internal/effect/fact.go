package effect

import (
	"fmt"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// A Fact has the effects of a function for the packages that import its own. It is an
// analysis fact of the function's object.
type Fact struct {
	Reads, Writes, Fails []Portable
	Skips, Refuse        []Decided
	Ends                 bool
}

// A Portable is a region without references to the code that it was found in.
type Portable struct {
	Kind  Kind
	Name  string
	Param int
}

// A Decided is a region that a decision depends on, and what it must be.
type Decided struct {
	Portable
	Need Need
}

// AFact marks a fact.
func (*Fact) AFact() {}

// String formats a fact for tests.
func (f *Fact) String() string { return f.effects().String() }

// Fact returns the effects of a function as a fact. What it decides by is limited to what may
// change.
func (p *Package) Fact(fn *ssa.Function) *Fact {
	e := p.effects[fn]
	if e == nil {
		return nil
	}
	f := &Fact{Ends: e.Ends}
	for from, to := range map[*Set]*[]Portable{&e.Reads: &f.Reads, &e.Writes: &f.Writes, &e.Fails: &f.Fails} {
		for _, r := range from.Sorted() {
			if r.isShared(fn) && r.Kind != Cell {
				*to = append(*to, Portable{r.Kind, r.Name, r.From.Param})
			}
		}
	}
	f.Skips, f.Refuse = p.decided(fn, e.Skips), p.decided(fn, e.Refuse)
	return f
}

func (p *Package) decided(fn *ssa.Function, m map[Region]Need) (all []Decided) {
	s := Set{}
	for r := range m {
		s[r] = r.isShared(fn) && r.Kind != Cell
	}
	for _, r := range s.Sorted() {
		if s[r] && p.MayBecome(r, m[r], func(*ssa.Function) bool { return true }) {
			all = append(all, Decided{Portable{r.Kind, r.Name, r.From.Param}, m[r]})
		}
	}
	return all
}

func (f *Fact) effects() *Effects {
	e := newEffects()
	for to, from := range map[*Set][]Portable{&e.Reads: f.Reads, &e.Writes: f.Writes, &e.Fails: f.Fails} {
		for _, r := range from {
			to.add(r.region())
		}
	}
	for _, d := range f.Skips {
		e.Skips[d.region()] |= d.Need
	}
	for _, d := range f.Refuse {
		e.Refuse[d.region()] |= d.Need
	}
	e.Ends = f.Ends
	return e
}

func (r Portable) region() Region { return Region{r.Kind, r.Name, Root{Param: r.Param}} }

// String formats effects for tests, one line for each set that is not empty.
func (e *Effects) String() string {
	var b strings.Builder
	for _, part := range []struct {
		name string
		set  Set
	}{{"reads", e.Reads}, {"writes", e.Writes}, {"fails", e.Fails}} {
		for _, r := range part.set.Sorted() {
			fmt.Fprintf(&b, "%s %v\n", part.name, r)
		}
	}
	for _, part := range []struct {
		name string
		m    map[Region]Need
	}{{"skips", e.Skips}, {"refuses", e.Refuse}} {
		s := Set{}
		for r := range part.m {
			s[r] = true
		}
		for _, r := range s.Sorted() {
			fmt.Fprintf(&b, "%s %v %s\n", part.name, r, [...]string{"", "if set", "if zero", "if changed"}[part.m[r]])
		}
	}
	if e.Ends {
		b.WriteString("ends\n")
	}
	return b.String()
}
