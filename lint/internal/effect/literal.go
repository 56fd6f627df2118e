package effect

import (
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
)

// A use says how functions are used other than by calls that are executed in place: a set.
type use uint8

const (
	started use = 1 << iota // with go
	passed                  // stored, or an argument of a call
)

// indexLiterals records the functions that an instruction starts or gives away.
func (p *Package) indexLiterals(i ssa.Instruction) {
	var callee ssa.Value
	how := passed
	switch i := i.(type) {
	case *ssa.Go:
		callee, how = i.Call.Value, started
	case ssa.CallInstruction:
		callee = i.Common().Value
		how = 0
	case *ssa.Store:
		if a, ok := i.Addr.(*ssa.Alloc); ok && flow.OnlyStored(a) != nil {
			return // a variable, the uses of which are judged themselves
		}
	case *ssa.DebugRef, *ssa.MakeClosure:
		return
	}
	for _, o := range i.Operands(nil) {
		if *o == nil {
			continue
		}
		fn, _ := functionOf(*o)
		if fn == nil || p.effects[fn] == nil {
			continue
		}
		if *o == callee {
			p.used[fn] |= how
		} else {
			p.used[fn] |= passed
		}
	}
}

// Meanwhile returns the effects of what runs while a function does: the goroutines that it,
// or a function around it, starts, and what it gives to others to run later. For a literal that
// is started as a goroutine, that is also the rest of the function around it.
func (p *Package) Meanwhile(fn *ssa.Function) *Effects {
	e := newEffects()
	for f := fn; f != nil; f = f.Parent() {
		for i := range flow.Instructions(f.Blocks) {
			p.meanwhile(e, i, f, fn)
		}
	}
	return e
}

func (p *Package) meanwhile(e *Effects, i ssa.Instruction, in, fn *ssa.Function) {
	_, goes := i.(*ssa.Go)
	if in != fn && p.used[fn]&started != 0 && !goes {
		if one := p.Instr(i); one != nil {
			e.Ends = e.Ends || one.Ends
		}
	}
	c, ok := i.(ssa.CallInstruction)
	if !ok {
		return
	}
	for _, t := range targets(c) {
		if t.fn == fn || !goes && !t.passed || encloses(t.fn, fn) {
			continue
		}
		if callee := p.effects[t.fn]; callee != nil {
			e.join(callee.within(t), Reads|Writes)
		}
	}
}

// encloses reports whether a function is declared within another.
func encloses(outer, fn *ssa.Function) bool {
	for f := fn.Parent(); f != nil; f = f.Parent() {
		if f == outer {
			return true
		}
	}
	return false
}
