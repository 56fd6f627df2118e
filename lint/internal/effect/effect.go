// Package effect computes the effects of functions on shared memory: the regions that they read
// and write. Questions about a loop then become intersections of regions. A call repairs what
// an operation depends on if it writes a region that the operation reads. An operation varies
// if it reads a region that it writes before it fails, or if its result depends on a region
// that other code may write in the meantime.
//
// Regions are found by types: a field of a type is one region for all objects that a function
// does not create itself. Unknown calls read and write the World, and all memory that can be
// reached from their arguments.
package effect

import (
	"go/types"
	"sync"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
)

// An Access is a set that describes how a function or a call accesses a region.
type Access uint8

const (
	// Reads: the region is read.
	Reads Access = 1 << iota
	// Writes: the region may be written.
	Writes
	// Fails: the region may be written before an error is returned.
	Fails
	// Decides: the region may decide about the return.
	Decides
)

// Effects describes the effects of a function or a call.
type Effects struct {
	Access map[Region]Access
	Ends   bool // it may end the program, or the goroutine
}

func newEffects() *Effects { return &Effects{Access: map[Region]Access{}} }

// Regions returns the regions with at least one of the given kinds of access.
func (e *Effects) Regions(of Access) Set {
	s := Set{}
	for r, a := range e.Access {
		if a&of != 0 {
			s[r] = true
		}
	}
	return s
}

// size returns a measure of e that only grows.
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

// maxRegions limits the regions of a function. A function that accesses more regions may access
// the World.
const maxRegions = 512

func (e *Effects) add(r Region, a Access) {
	if _, known := e.Access[r]; !known && len(e.Access) >= maxRegions {
		r = Region{Kind: World}
	}
	e.Access[r] |= a
}

// write adds a region that is written before anything can fail.
func (e *Effects) write(r Region) { e.add(r, Writes|Fails) }

// join adds the effects of a call that is, or may be, executed.
func (e *Effects) join(c *Effects) {
	for r, a := range c.Access {
		e.add(r, a)
	}
	e.Ends = e.Ends || c.Ends
}

// A Package holds the effects of the functions of a package.
type Package struct {
	facts     func(*types.Func) *Fact
	effects   map[*ssa.Function]*Effects
	callers   map[*ssa.Function]map[*ssa.Function]bool
	writes    map[Region][]Write // by Kind and Name; for a Cell, by variable
	blocks    sync.Map           // by *ssa.BasicBlock: the changes of the block
	writtenBy sync.Map           // by ssa.Instruction: the regions that it writes
	path      string
}

// New computes the effects of all functions of one package, including function literals. facts
// returns the effects of a function of another package, or nil.
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

// calleesFirst sorts functions so that callees precede callers, except in recursions.
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
