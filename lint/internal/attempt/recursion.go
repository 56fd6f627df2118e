package attempt

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// findRecursions returns the operations of a function outside of loops after whose failure,
// and only then, the function calls itself with the same context. Their Loop is the whole
// function, Trapped and Decisions are not set.
func (p *Package) findRecursions(fn *ssa.Function) (found []*Attempt) {
	var again []*ssa.BasicBlock
	for _, call := range p.contextCalls(fn) {
		c, ok := call.(*ssa.Call)
		if _, given := givenContext(call.Common()).(*ssa.Parameter); ok && given && callsItself(c) {
			again = append(again, c.Block())
		}
	}
	if len(again) == 0 {
		return nil
	}
	whole := flow.Whole(fn)
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			op, ok := instr.(*ssa.Call)
			if !ok || !isOperation(op) || callsItself(op) {
				continue
			}
			if t := p.recursion(whole, op, again); t != nil {
				found = append(found, t)
			}
		}
	}
	return found
}

// callsItself reports whether a call is of its own function.
func callsItself(call *ssa.Call) bool {
	_, fn := flow.StaticCallee(&call.Call)
	return fn != nil && fn == call.Parent()
}

// recursion returns the attempt that an operation is, or nil.
func (p *Package) recursion(whole *flow.Loop, op *ssa.Call, again []*ssa.BasicBlock) *Attempt {
	e := p.endings(op)[0]
	if !e.known {
		return nil
	}
	t := &Attempt{Fn: op.Parent(), Loop: whole, Op: op, Ends: Leaves, Fails: true, Evidence: vocab.Proven, pkg: p}
	t.Run, t.Passed = p.flow.After(whole, op, e.failed), p.flow.After(whole, op, e.passed)
	if t.Run == nil || !leadsTo(t.Run, again) || leadsTo(t.Passed, again) {
		return nil
	}
	if t.Change, t.Evidence = t.operands(t.Run); t.Change == Changed {
		return nil
	}
	before := leading(t.Run, again)
	for _, w := range p.waits(t.Fn) {
		if call, ok := w.At.(*ssa.Call); ok && callsItself(call) {
			continue
		}
		if b := w.At.Block(); w.At != ssa.Instruction(op) && t.Run.IsReached(b) && before[b] {
			t.Waits = append(t.Waits, w)
		}
	}
	return t
}

func leadsTo(run *flow.Run, blocks []*ssa.BasicBlock) bool {
	return slices.ContainsFunc(blocks, run.IsReached)
}

// leading returns the blocks of a run from which one of some blocks is executed.
func leading(run *flow.Run, to []*ssa.BasicBlock) map[*ssa.BasicBlock]bool {
	before := map[*ssa.BasicBlock]bool{}
	for work := slices.Clone(to); len(work) > 0; {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		if before[b] {
			continue
		}
		before[b] = true
		for i, p := range b.Preds {
			if run.Enters(b, i) {
				work = append(work, p)
			}
		}
	}
	return before
}
