package effect

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
)

// EndsMeanwhile reports whether code that runs concurrently with a function may end the
// program. This code is in goroutines that the function, or a function around it, starts, and
// in functions that they pass to other code. If the function is a literal that is started as a
// goroutine, the rest of the enclosing function runs concurrently, too.
func (p *Package) EndsMeanwhile(fn *ssa.Function) bool {
	for f := fn; f != nil; f = f.Parent() {
		starts, ends := false, false
		for i := range flow.Instructions(f.Blocks) {
			if g, ok := i.(*ssa.Go); ok {
				starts = starts || Callee(&g.Call) == fn
			} else if e := p.Instr(i); e != nil {
				ends = ends || e.Ends
			}
			if c, ok := i.(ssa.CallInstruction); ok && p.endsMeanwhile(c, fn) {
				return true
			}
		}
		if starts && ends {
			return true
		}
	}
	return false
}

// endsMeanwhile reports whether a call starts as a goroutine, or passes to other code, a
// function that may end the program, other than fn and the functions around it.
func (p *Package) endsMeanwhile(c ssa.CallInstruction, fn *ssa.Function) bool {
	_, goes := c.(*ssa.Go)
	return slices.ContainsFunc(targets(c), func(t target) bool {
		e := p.effects[t.fn]
		return (goes || t.passed) && e != nil && e.Ends && !encloses(t.fn, fn)
	})
}

// encloses reports whether a function is, or contains, another one.
func encloses(outer, fn *ssa.Function) bool {
	for ; fn != nil; fn = fn.Parent() {
		if fn == outer {
			return true
		}
	}
	return false
}
