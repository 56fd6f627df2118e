package attempt

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/effect"
	"github.com/retrygen/retrygen/lint/internal/flow"
)

// findRecursions returns the operations of a function after whose failure, and only then, the
// function calls itself, with the same context if it is given one. Their Loop is the whole
// function, and nothing but their Waits is known.
func (p *Package) findRecursions(fn *ssa.Function) (found []*Attempt) {
	var ops []*ssa.Call
	var again []*ssa.BasicBlock
	for instr := range flow.Instructions(fn.Blocks) {
		switch call, ok := instr.(*ssa.Call); {
		case !ok:
		case effect.Callee(&call.Call) != fn:
			ops = append(ops, call)
		default:
			ctx := givenContext(&call.Call)
			if _, given := ctx.(*ssa.Parameter); given || ctx == nil {
				again = append(again, call.Block())
			}
		}
	}
	if len(again) == 0 {
		return nil
	}
	whole := flow.Whole(fn)
	for _, op := range ops {
		if t := p.recursion(whole, op, again); t != nil {
			found = append(found, t)
		}
	}
	return found
}

// recursion returns the attempt that an operation is, or nil. Its function calls itself again in
// some blocks.
func (p *Package) recursion(whole *flow.Loop, op *ssa.Call, again []*ssa.BasicBlock) *Attempt {
	if !isOperation(op) || !p.endings(op)[0].known {
		return nil
	}
	e := p.endings(op)[0]
	t := &Attempt{Fn: op.Parent(), Loop: whole, Op: op, Ends: Leaves, Fails: true, pkg: p}
	t.Run, t.Passed = p.flow.After(whole, op, e.failed), p.flow.After(whole, op, e.passed)
	if t.Run == nil || slices.ContainsFunc(again, t.Passed.IsReached) {
		return nil
	}
	if t.Change, t.Evidence = t.operands(t.Run); t.Change == Changed {
		return nil
	}
	leads := flow.Before(slices.DeleteFunc(slices.Clone(again), func(b *ssa.BasicBlock) bool {
		return !t.Run.IsReached(b)
	}), t.Run.Enters)
	for _, w := range p.index(t.Fn).waits {
		call, _ := w.At.(*ssa.Call)
		itself := call != nil && (call == op || effect.Callee(&call.Call) == t.Fn)
		if b := w.At.Block(); !itself && t.Run.IsReached(b) && leads[b] {
			t.Waits = append(t.Waits, w)
		}
	}
	return t
}
