// Package effect computes the effects of functions on shared memory: the regions that
// they read and write. Questions about a loop become intersections: a call repairs what
// an operation depends on if it writes what that reads; an operation varies if it reads
// what it writes itself before it fails, or returns by what others may write meanwhile.
//
// Regions are found by types: a field of a type is one region for all objects that a
// function does not make itself. Calls that are not known read and write the World, and
// everything that can be reached from their arguments.
package effect

import (
	"go/types"
	"sync"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
)

// An Access is what a function, or a call, does to a region: a set.
type Access uint8

const (
	// Reads: it reads the region.
	Reads Access = 1 << iota
	// Writes: it may write to it.
	Writes
	// Fails: it may do so before it returns an error.
	Fails
	// Decides: it may return because of it.
	Decides
)

// Effects are what a function, or a call, does.
type Effects struct {
	Access map[Region]Access
	Ends   bool // it may end the program, or the goroutine
}

func newEffects() *Effects { return &Effects{Access: map[Region]Access{}} }

// Regions returns the regions to which the access has one of some elements.
func (e *Effects) Regions(of Access) Set {
	s := Set{}
	for r, a := range e.Access {
		if a&of != 0 {
			s[r] = true
		}
	}
	return s
}

// size counts what e has, which only grows.
func (e *Effects) size() int {
	n := 0
	for _, a := range e.Access {
		n += 1 + int(a)
	}
	if e.Ends {
		n++
	}
	return n
}

// maxRegions limits the regions of a function. One that touches more may touch the World.
const maxRegions = 512

func (e *Effects) add(r Region, a Access) {
	if _, known := e.Access[r]; !known && len(e.Access) >= maxRegions {
		r = Region{Kind: World}
	}
	e.Access[r] |= a
}

// write adds what is written before anything can fail.
func (e *Effects) write(r Region) { e.add(r, Writes|Fails) }

// join adds the effects of a call that is made, or may be made.
func (e *Effects) join(c *Effects) {
	for r, a := range c.Access {
		e.add(r, a)
	}
	e.Ends = e.Ends || c.Ends
}

// A Package has the effects of the functions of a package.
type Package struct {
	facts     func(*types.Func) *Fact
	effects   map[*ssa.Function]*Effects
	callers   map[*ssa.Function]map[*ssa.Function]bool
	writes    map[Region][]Write // by Kind and Name; of a Cell, by variable
	blocks    sync.Map           // by *ssa.BasicBlock: its changes
	writtenBy sync.Map           // by ssa.Instruction: what it writes
	path      string
}

// New computes the effects of all functions of one package, literals included. Facts returns
// the effects of a function of another package, or nil.
func New(fns []*ssa.Function, facts func(*types.Func) *Fact) *Package {
	p := &Package{facts: facts, effects: map[*ssa.Function]*Effects{},
		callers: map[*ssa.Function]map[*ssa.Function]bool{}, writes: map[Region][]Write{}}
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
