package effect

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
)

// EndsMeanwhile reports whether what runs while a function does may end the program: the
// goroutines that it, or a function around it, starts, and what they give to others to run later.
// For a literal that is started as a goroutine, that is also the rest of the function around it.
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

// endsMeanwhile reports whether a call starts, or gives to others, another function than fn, or
// one around it, that may end the program.
func (p *Package) endsMeanwhile(c ssa.CallInstruction, fn *ssa.Function) bool {
	_, goes := c.(*ssa.Go)
	return slices.ContainsFunc(targets(c), func(t target) bool {
		e := p.effects[t.fn]
		return (goes || t.passed) && e != nil && e.Ends && !encloses(t.fn, fn)
	})
}

// encloses reports whether a function is another, or is declared within it.
func encloses(outer, fn *ssa.Function) bool {
	for ; fn != nil; fn = fn.Parent() {
		if fn == outer {
			return true
		}
	}
	return false
}
