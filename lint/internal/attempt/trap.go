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

// trap decides whether some failure can never leave the loop, if it decides all branches that
// depend on nothing but chosen, and returns the branches on which that depends. It is the
// greatest fixpoint of: a block is trapped if all its executed successors in the loop are; if
// its branch is chosen, one is enough. Returns, panics, edges that leave the loop, and calls
// that may not return are not trapped.
func (t *Attempt) trap(j *judge, chosen Why) (trapped bool, decisions map[*ssa.BasicBlock]Why) {
	f := &freeing{t: t, j: j, chosen: chosen, free: map[*ssa.BasicBlock]bool{},
		decisions: map[*ssa.BasicBlock]Why{}}
	for _, b := range t.Loop.List {
		if t.Run.IsReached(b) && (t.mayStop(b) || f.isFree(b)) {
			f.release(b)
		}
	}
	for len(f.work) > 0 {
		b := f.work[len(f.work)-1]
		f.work = f.work[:len(f.work)-1]
		if b == t.Op.Block() {
			continue // the next execution
		}
		for i, p := range b.Preds {
			if t.Run.Enters(b, i) && f.isFree(p) {
				f.release(p)
			}
		}
	}
	return !t.ByAnswer && t.Run.Again && !t.Run.Bounded && !f.free[t.Op.Block()], f.decisions
}

// A freeing finds the blocks that are not trapped.
type freeing struct {
	t         *Attempt
	j         *judge
	chosen    Why
	free      map[*ssa.BasicBlock]bool
	decisions map[*ssa.BasicBlock]Why
	work      []*ssa.BasicBlock
}

func (f *freeing) release(b *ssa.BasicBlock) {
	if !f.free[b] {
		f.free[b] = true
		f.work = append(f.work, b)
	}
}

// isFree reports whether the loop is left from a block whatever the failure is, if it is left
// from the blocks that are known to be free.
func (f *freeing) isFree(b *ssa.BasicBlock) bool {
	out, in := 0, 0
	for k, s := range b.Succs {
		switch {
		case !f.t.Run.Takes(b, k):
		case !f.t.Loop.Has(s), f.free[s] && s != f.t.Op.Block():
			out++
		default:
			in++
		}
	}
	branch, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If)
	if !ok || in == 0 || out == 0 {
		return out > 0 || in == 0
	}
	if m := f.t.misses(branch); m != nil && f.t.Change <= Remade {
		f.t.missed = m
		return false
	}
	why, judged := f.decisions[b]
	if !judged {
		why = f.j.why(branch.Cond)
		f.decisions[b] = why
	}
	return why&^f.chosen != 0
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
	given := call.Args
	if !call.IsInvoke() && call.Signature().Recv() != nil {
		given = given[1:]
	}
	isTest := func(arg ssa.Value) bool { return vocab.MayFailTest(arg.Type()) }
	return k.Is(vocab.Exits) || slices.ContainsFunc(given, isTest) ||
		!k.Is(vocab.Logs) && p.summaryOf(call).MayExit
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
	ret, from := nextReturn(b, s)
	if ret != nil {
		e.Return, e.Values = ret, t.returned(ret, from)
	}
	return e
}

// nextReturn returns the return that follows the edge from b to s, if little else does, and
// the block from which it is entered.
func nextReturn(b, s *ssa.BasicBlock) (ret *ssa.Return, from *ssa.BasicBlock) {
	for range 4 {
		if ret, ok := s.Instrs[len(s.Instrs)-1].(*ssa.Return); ok {
			return ret, b
		}
		if len(s.Succs) != 1 || len(s.Instrs) > 6 {
			break
		}
		b, s = s, s.Succs[0]
	}
	return nil, nil
}

// returned returns what is known of the results of a return that is entered from a block.
func (t *Attempt) returned(ret *ssa.Return, from *ssa.BasicBlock) (values []flow.Value) {
	for _, v := range ret.Results {
		values = append(values, returned(t.Run, v, from))
	}
	return values
}

// returned returns what is known of a result of a return that is entered from a block.
func returned(run *flow.Run, v ssa.Value, from *ssa.BasicBlock) flow.Value {
	if phi, ok := v.(*ssa.Phi); ok {
		for i, p := range phi.Block().Preds {
			if p == from {
				v = phi.Edges[i]
			}
		}
	}
	return run.Value(v)
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
