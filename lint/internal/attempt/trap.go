package attempt

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// A set is a set of basic blocks.
type set map[*ssa.BasicBlock]bool

// forced returns the least set of executed blocks of the loop that is consistent with forces.
// forces reports whether a block belongs to the set because it leads to blocks that are known
// to belong to it. The next execution of the operation does not lead to any block.
func (t *Attempt) forced(forces func(b *ssa.BasicBlock, known set) bool) set {
	known := set{}
	var work []*ssa.BasicBlock
	visit := func(b *ssa.BasicBlock) {
		if !known[b] && forces(b, known) {
			known[b] = true
			work = append(work, b)
		}
	}
	for _, b := range t.Loop.List {
		if t.Run.IsReached(b) {
			visit(b)
		}
	}
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		for i, p := range b.Preds {
			if b != t.Op.Block() && t.Run.Enters(b, i) {
				visit(p)
			}
		}
	}
	return known
}

// A Trap describes whether a loop is ever left, and what decides this.
type Trap struct {
	Never Outcomes // the outcomes after which the loop is never left; they decide every branch that could leave it
	// Decisions contains the branches of the run that may leave the loop permanently, but need
	// not.
	Decisions map[*ssa.BasicBlock]Why

	missed *Missed // the last comparison that is never satisfied
}

// Outcomes is a set of ways in which an operation ends.
type Outcomes uint8

// The outcomes.
const (
	SomeFailure Outcomes = 1 << iota // some failure; or some result, if it is unknown which results are failures
	SomeAnswer                       // some result that is not a failure, or is not known to be one
)

// Traps reports whether there is a failure after which the loop is never left.
func (t Trap) Traps() bool { return t.Never&SomeFailure != 0 }

// trap decides whether there is a failure that never leaves the loop, if the failure decides
// all branches that depend only on chosen. It also returns the branches on which the answer
// depends. The result is the greatest fixed point of this rule: a block is trapped if all of
// its executed successors in the loop are trapped. If the failure decides the branch of the
// block, one trapped successor is sufficient. Returns, panics, edges that leave the loop, and
// calls that may not return are not trapped.
func (t *Attempt) trap(j *judge, chosen Why) Trap {
	f := &freeing{t: t, j: j, chosen: chosen, Trap: Trap{Decisions: map[*ssa.BasicBlock]Why{}}}
	free := t.forced(func(b *ssa.BasicBlock, free set) bool {
		return !t.callsAgain(b) && (t.mayStop(b) || f.isFree(b, free))
	})
	if !t.Run.Bounded && !free[t.Op.Block()] {
		f.Never = SomeFailure
	}
	return f.Trap
}

// trapAnswers corrects Never for a loop that waits for an answer. A failure leaves this loop,
// so the outcome that never leaves it is an answer.
func (t *Attempt) trapAnswers() {
	asks := t.IsByAnswer() || t.Ends == Polls && t.givesUp()
	switch {
	case !t.Traps():
	case asks:
		t.Never = SomeAnswer
	case !t.Fails():
		t.Never |= SomeAnswer
	}
}

// A freeing finds the blocks that are not trapped, and holds its results.
type freeing struct {
	t      *Attempt
	j      *judge
	chosen Why
	Trap
}

// isFree reports whether the loop is left from a block after every failure, if it is left from
// the blocks in free.
func (f *freeing) isFree(b *ssa.BasicBlock, free set) bool {
	out, in := 0, 0
	for k, s := range b.Succs {
		switch {
		case !f.t.Run.Takes(b, k):
		case !f.t.Loop.Has(s), free[s] && s != f.t.Op.Block():
			out++
		default:
			in++
		}
	}
	branch := flow.Branch(b)
	if branch == nil || in == 0 || out == 0 {
		return out > 0 || in == 0
	}
	if m := f.t.misses(branch); m != nil && f.t.Change == Same {
		f.missed = m
		return false
	}
	f.Decisions[b] = f.j.why(branch.Cond)
	return f.Decisions[b]&^f.chosen != 0
}

// mayStop reports whether a call in a block may not return.
func (t *Attempt) mayStop(b *ssa.BasicBlock) bool {
	if t.Run.Stops(b) {
		return true
	}
	for _, call := range t.pkg.index(t.Fn).stoppers[b] {
		if call != t.Op {
			return true
		}
	}
	return false
}

// mayStop reports whether a call may end the program or the goroutine. A logger may do so only
// for its fatal level, and does not count.
func (p *Package) mayStop(call *ssa.CallCommon) bool {
	k := known(call)
	isTest := func(arg ssa.Value) bool { return vocab.MayFailTest(arg.Type()) }
	return k.Is(vocab.Exits) || slices.ContainsFunc(flow.Arguments(call), isTest) ||
		!k.Is(vocab.Logs) && p.summaryOf(call).Is(vocab.Exits)
}

// pathToReturn returns the blocks from b through its successor s to a return, or nil. Apart
// from panics, little other code may follow.
func pathToReturn(b, s *ssa.BasicBlock) []*ssa.BasicBlock {
	path := []*ssa.BasicBlock{b, s}
	for range 4 {
		if _, ok := s.Instrs[len(s.Instrs)-1].(*ssa.Return); ok {
			return path
		}
		next := slices.DeleteFunc(slices.Clone(s.Succs), func(s *ssa.BasicBlock) bool {
			_, panics := s.Instrs[len(s.Instrs)-1].(*ssa.Panic)
			return panics
		})
		if len(next) != 1 || len(s.Instrs) > 6 {
			break
		}
		s = next[0]
		path = append(path, s)
	}
	return nil
}

// returned returns the return instruction at the end of a path, and what is known about its
// results.
func returned(run *flow.Run, path []*ssa.BasicBlock) (ret *ssa.Return, results []flow.Value) {
	from, to := path[len(path)-2], path[len(path)-1]
	ret = to.Instrs[len(to.Instrs)-1].(*ssa.Return)
	for _, v := range ret.Results {
		if load, ok := v.(*ssa.UnOp); ok {
			v = stored(path[1:], load)
		}
		if call, ok := v.(*ssa.Call); ok && known(&call.Call).Is(vocab.Wraps) {
			v = call.Call.Args[0]
		}
		if phi, ok := v.(*ssa.Phi); ok && phi.Block() == to {
			v = phi.Edges[slices.Index(to.Preds, from)]
		}
		results = append(results, run.Value(v))
	}
	return ret, results
}

// stored returns the last value that a path stores in the local variable that a load reads.
// Named results are such variables if the function defers calls. If the path stores no value,
// stored returns the load.
func stored(path []*ssa.BasicBlock, load *ssa.UnOp) ssa.Value {
	variable, ok := load.X.(*ssa.Alloc)
	if !ok || flow.Escapes(variable) {
		return load
	}
	for _, b := range slices.Backward(path) {
		for _, instr := range slices.Backward(b.Instrs) {
			if store, ok := instr.(*ssa.Store); ok && store.Addr == load.X {
				return store.Val
			}
		}
	}
	return load
}

// OneClass reports whether only one class of errors is trapped, because a branch on the error
// leaves the loop for all other errors.
func (t *Attempt) OneClass() bool {
	j := &judge{p: t.pkg, run: t.Run}
	for branch := range t.Run.Branches() {
		b := branch.Block()
		if !t.Run.Takes(b, 0) || !t.Run.Takes(b, 1) {
			continue // all failures take the same edge
		}
		if !t.mayLeave(b.Succs[0]) && !t.mayLeave(b.Succs[1]) {
			continue
		}
		if k := t.included(b, j.why(branch.Cond)); k >= 0 && t.mayLeave(b.Succs[1-k]) {
			return true
		}
	}
	return false
}

// mayLeave reports whether the loop is left after a block, or may be left by a call in it.
func (t *Attempt) mayLeave(b *ssa.BasicBlock) bool {
	return !t.Loop.Has(b) || !t.Run.Repeats(b) && !t.leads(b) || t.mayStop(b)
}

// included returns the edge of a branch that one class of errors takes, while all other errors
// take the other edge. It returns -1 if there is none.
func (t *Attempt) included(b *ssa.BasicBlock, why Why) int {
	branch := flow.Branch(b)
	if branch == nil || why&Class == 0 {
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
