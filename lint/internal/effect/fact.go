package effect

import (
	"cmp"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A Fact describes the effects of a function for packages that import its package. It is an
// analysis fact of the function's object.
type Fact struct {
	Regions []Portable
	Ends    bool
}

// A Portable is a region with the access to it, without references to code.
type Portable struct {
	Kind   Kind
	Name   string
	Param  int
	Access Access
}

// AFact marks Fact as a fact.
func (*Fact) AFact() {}

// Fact returns the effects of a function as a fact.
func (p *Package) Fact(fn *ssa.Function) *Fact {
	e := p.effects[fn]
	if e == nil {
		return nil
	}
	f := &Fact{Ends: e.Ends}
	for r, a := range e.Access {
		if r.isShared(fn) && r.Kind != Cell {
			f.Regions = append(f.Regions, Portable{r.Kind, r.Name, r.From.Param, a})
		}
	}
	slices.SortFunc(f.Regions, func(a, b Portable) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Param, b.Param),
			cmp.Compare(a.Access, b.Access))
	})
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
