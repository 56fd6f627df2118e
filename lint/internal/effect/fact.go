package effect

import (
	"fmt"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// A Fact has the effects of a function for the packages that import its own. It is an
// analysis fact of the function's object.
type Fact struct {
	Regions []Portable
	Ends    bool
}

// A Portable is a region, and the access to it, without references to the code that it was
// found in.
type Portable struct {
	Kind   Kind
	Name   string
	Param  int
	Access Access
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
	for _, r := range e.Regions(all).Sorted() {
		a := e.Access[r]
		for _, v := range []verdict{skipping, refusing} {
			if !p.MayBecome(r, a.need(v), func(*ssa.Function) bool { return true }) {
				a &^= Access(Any) << v
			}
		}
		if a != 0 && r.isShared(fn) && r.Kind != Cell {
			f.Regions = append(f.Regions, Portable{r.Kind, r.Name, r.From.Param, a})
		}
	}
	return f
}

func (f *Fact) effects() *Effects {
	e := newEffects()
	for _, r := range f.Regions {
		e.add(Region{r.Kind, r.Name, Root{Param: r.Param}}, r.Access)
	}
	e.Ends = f.Ends
	return e
}

// String formats effects for tests, one line for each set that is not empty.
func (e *Effects) String() string {
	var b strings.Builder
	for i, name := range []string{"reads", "writes", "fails"} {
		for _, r := range e.Regions(1 << i).Sorted() {
			fmt.Fprintf(&b, "%s %v\n", name, r)
		}
	}
	for v, name := range []string{skipping: "skips", refusing: "refuses"} {
		for _, r := range e.Regions(Access(Any) << v).Sorted() {
			if need := e.Access[r].need(verdict(v)); name != "" {
				fmt.Fprintf(&b, "%s %v %s\n", name, r, [...]string{"", "if set", "if zero", "if changed"}[need])
			}
		}
	}
	if e.Ends {
		b.WriteString("ends\n")
	}
	return b.String()
}
