// Package effect computes what functions do to memory that others share: the regions that
// they read and write, and those by which they decide on their result. Questions about a
// loop become intersections: a call repairs what an operation depends on if it writes what
// that reads; an operation ends by itself if it decides by what it writes, or by what others
// may write meanwhile.
//
// Regions are found by types: a field of a type is one region for all objects that a
// function does not make itself. Calls that are not known read and write the World, and
// everything that can be reached from their arguments.
package effect

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
)

// A Need is the value of a region that a decision depends on.
type Need uint8

const (
	// NotZero: it must be true, or not nil, or not zero.
	NotZero Need = 1 << iota
	// Zero: it must be false, nil or zero.
	Zero
	// Any: another value than before may do.
	Any = NotZero | Zero
)

// Effects are what a function, or a call, does.
type Effects struct {
	Reads  Set
	Writes Set
	Fails  Set             // what it may write before it returns an error; part of Writes
	Skips  map[Region]Need // what it decides by that it returns nil in place of its work
	Refuse map[Region]Need // what it decides by that it returns an error of its own
	Ends   bool            // it may end the program, or the goroutine
}

func newEffects() *Effects {
	return &Effects{Reads: Set{}, Writes: Set{}, Fails: Set{}, Skips: map[Region]Need{}, Refuse: map[Region]Need{}}
}

// size counts what e has, which only grows.
func (e *Effects) size() int {
	n := len(e.Reads) + len(e.Writes) + len(e.Fails)
	for _, m := range []map[Region]Need{e.Skips, e.Refuse} {
		for _, need := range m {
			n += 1 + int(need)
		}
	}
	if e.Ends {
		n++
	}
	return n
}

// maxRegions limits a set of regions. A function that touches more may touch the World.
const maxRegions = 256

func (s Set) add(r Region) {
	if len(s) >= maxRegions {
		r = Region{Kind: World}
	}
	s[r] = true
}

// join adds the effects of a call that is made, or may be made.
func (e *Effects) join(c *Effects) {
	for r := range c.Reads {
		e.Reads.add(r)
	}
	for r := range c.Writes {
		e.Writes.add(r)
	}
	e.Ends = e.Ends || c.Ends
}

// decide adds regions of the decisions of another function.
func (e *Effects) decide(c *Effects) {
	for r, need := range c.Skips {
		e.Skips[r] |= need
	}
	for r, need := range c.Refuse {
		e.Refuse[r] |= need
	}
}

// A Package has the effects of the functions of a package.
type Package struct {
	facts   func(*types.Func) *Fact
	effects map[*ssa.Function]*Effects
	callers map[*ssa.Function]map[*ssa.Function]bool
	writes  map[Region][]write // by Kind and Name; of a Cell, by variable
	used    map[*ssa.Function]use
	path    string
}

// New computes the effects of functions, all those of one package, literals included. Facts
// returns those of a function of another package, or nil.
func New(fns []*ssa.Function, facts func(*types.Func) *Fact) *Package {
	p := &Package{facts: facts, effects: map[*ssa.Function]*Effects{},
		callers: map[*ssa.Function]map[*ssa.Function]bool{}, writes: map[Region][]write{}, used: map[*ssa.Function]use{}}
	for _, fn := range fns {
		p.effects[fn] = newEffects()
		p.path = fn.Package().Pkg.Path()
	}
	for _, fn := range fns {
		p.index(fn)
	}
	work := p.calleesFirst(fns)
	queued := map[*ssa.Function]bool{}
	for _, fn := range work {
		queued[fn] = true
	}
	for len(work) > 0 {
		fn := work[0]
		work = work[1:]
		delete(queued, fn)
		before := p.effects[fn].size()
		p.collect(fn)
		if p.effects[fn].size() == before {
			continue
		}
		for caller := range p.callers[fn] {
			if !queued[caller] {
				queued[caller] = true
				work = append(work, caller)
			}
		}
	}
	return p
}

// calleesFirst sorts functions so that callees come before callers, recursion aside.
func (p *Package) calleesFirst(fns []*ssa.Function) (sorted []*ssa.Function) {
	seen := map[*ssa.Function]bool{}
	var visit func(*ssa.Function)
	visit = func(fn *ssa.Function) {
		if seen[fn] || p.effects[fn] == nil {
			return
		}
		seen[fn] = true
		for i := range flow.Instructions(fn.Blocks) {
			if c, ok := i.(ssa.CallInstruction); ok {
				for _, callee := range p.functions(c) {
					if p.callers[callee] == nil {
						p.callers[callee] = map[*ssa.Function]bool{}
					}
					p.callers[callee][fn] = true
					visit(callee)
				}
			}
		}
		sorted = append(sorted, fn)
	}
	for _, fn := range fns {
		visit(fn)
	}
	return sorted
}

// Of returns the effects of a function of the package, as it sees them itself, or nil.
func (p *Package) Of(fn *ssa.Function) *Effects { return p.effects[fn] }
