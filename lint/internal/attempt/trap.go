package attempt

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// An Exit is how a run leaves the loop.
type Exit struct {
	From   *ssa.BasicBlock
	Why    Why         // what decides that the loop is left here
	Return *ssa.Return // what follows, if nothing else does
	Values []flow.Value
}

// trap decides whether some failure can never leave the loop. That is the greatest fixpoint of:
// a block is trapped if all its executed successors in the loop are; if the failure itself
// decides its branch, one is enough. Returns, panics, edges that leave the loop, and calls
// that may not return are not trapped.
func (t *Attempt) trap(j *judge) {
	t.Decisions = map[*ssa.BasicBlock]Why{}
	free := map[*ssa.BasicBlock]bool{}
	var work []*ssa.BasicBlock
	release := func(b *ssa.BasicBlock) {
		if !free[b] {
			free[b] = true
			work = append(work, b)
		}
	}
	for _, b := range t.Loop.List {
		if t.Run.IsReached(b) && (t.mayStop(b) || t.isFree(j, b, free)) {
			release(b)
		}
	}
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		if b == t.Op.Block() {
			continue // the next execution
		}
		for i, p := range b.Preds {
			if t.Run.Enters(b, i) && !free[p] && t.isFree(j, p, free) {
				release(p)
			}
		}
	}
	t.Trapped = !t.ByAnswer && t.Run.Again && !t.Run.Bounded && !free[t.Op.Block()]
}

// isFree reports whether the loop is left from a block whatever the failure is, if it is left
// from the blocks that are free.
func (t *Attempt) isFree(j *judge, b *ssa.BasicBlock, free map[*ssa.BasicBlock]bool) bool {
	out, in := 0, 0
	for k, s := range b.Succs {
		switch {
		case !t.Run.Takes(b, k):
		case !t.Loop.Has(s), free[s] && s != t.Op.Block():
			out++
		default:
			in++
		}
	}
	branch, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If)
	if !ok || in == 0 || out == 0 {
		return out > 0 || in == 0
	}
	why, judged := t.Decisions[b]
	if !judged {
		why = j.why(branch.Cond)
		t.Decisions[b] = why
	}
	return why&^adversary != 0
}

// mayStop reports whether a call in a block may not return.
func (t *Attempt) mayStop(b *ssa.BasicBlock) bool {
	if t.Run.Stops(b) {
		return true
	}
	for _, call := range t.pkg.stoppers(t.Fn)[b] {
		if call != t.Op {
			return true
		}
	}
	return false
}

// mayStop reports whether a call may end the program or the goroutine. A logger may do so for
// its fatal level only.
func (p *Package) mayStop(call *ssa.CallCommon) bool {
	k := known(call)
	if k.Is(vocab.Exits) || slices.ContainsFunc(call.Args, func(arg ssa.Value) bool { return vocab.MayFailTest(arg.Type()) }) {
		return true
	}
	return !k.Is(vocab.Logs) && p.summaryOf(call).MayExit
}

// Exits returns how the run leaves the loop, in the order of the blocks.
func (t *Attempt) Exits() (exits []Exit) {
	j := &judge{p: t.pkg, run: t.Run}
	for _, b := range t.Loop.List {
		if !t.Run.IsReached(b) {
			continue
		}
		for k, s := range b.Succs {
			if t.Run.Takes(b, k) && !t.Loop.Has(s) {
				exits = append(exits, t.exit(j, b, s))
			}
		}
		if ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return); ok {
			exits = append(exits, Exit{From: b, Why: t.guard(j, b), Return: ret, Values: t.returned(ret, nil)})
		}
	}
	return exits
}

// exit returns the exit by the edge from a block to a block outside of the loop.
func (t *Attempt) exit(j *judge, b, s *ssa.BasicBlock) Exit {
	e := Exit{From: b, Why: t.guard(j, b)}
	if branch, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If); ok {
		e.Why = j.why(branch.Cond)
	}
	for n := 0; n < 4; n++ {
		if ret, ok := s.Instrs[len(s.Instrs)-1].(*ssa.Return); ok {
			e.Return, e.Values = ret, t.returned(ret, b)
			break
		}
		if len(s.Succs) != 1 || len(s.Instrs) > 6 {
			break
		}
		b, s = s, s.Succs[0]
	}
	return e
}

// returned returns what is known of the results of a return that is entered from a block.
func (t *Attempt) returned(ret *ssa.Return, from *ssa.BasicBlock) (values []flow.Value) {
	for _, v := range ret.Results {
		if phi, ok := v.(*ssa.Phi); ok && phi.Block() == ret.Block() {
			for i, p := range phi.Block().Preds {
				if p == from {
					v = phi.Edges[i]
				}
			}
		}
		values = append(values, t.Run.Value(v))
	}
	return values
}

// guard returns what the nearest branch before a block depends on.
func (t *Attempt) guard(j *judge, b *ssa.BasicBlock) Why {
	for len(b.Preds) == 1 {
		b = b.Preds[0]
		if branch, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If); ok {
			return j.why(branch.Cond)
		}
	}
	return 0
}

// OneClass reports whether just one class of errors is trapped: a branch on the error leaves
// the loop for all others.
func (t *Attempt) OneClass() bool {
	j := &judge{p: t.pkg, run: t.Run}
	for _, b := range t.Loop.List {
		branch, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If)
		if !ok || !t.Run.IsReached(b) {
			continue
		}
		if k := t.included(b, j.why(branch.Cond)); k >= 0 && t.mayLeave(b.Succs[1-k]) {
			return true
		}
	}
	return false
}

// mayLeave reports whether the loop is left after a block, or may be by a call in it.
func (t *Attempt) mayLeave(b *ssa.BasicBlock) bool {
	return !t.Loop.Has(b) || !t.Run.Repeats(b) || t.mayStop(b)
}

// included returns the edge of a branch that one class of errors takes, as opposed to all
// others, or -1.
func (t *Attempt) included(b *ssa.BasicBlock, why Why) int {
	branch, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If)
	if !ok || why&Class == 0 {
		return -1
	}
	k, cond := 0, branch.Cond
	for {
		not, ok := cond.(*ssa.UnOp)
		if !ok || not.Op != token.NOT {
			break
		}
		k, cond = 1-k, not.X
	}
	if cmp, ok := cond.(*ssa.BinOp); ok && cmp.Op == token.NEQ {
		k = 1 - k
	}
	return k
}
