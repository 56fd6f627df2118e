package attempt

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// few is the number of attempts that need no wait between them.
const few = 2

// AtOnce reports whether an operation that leaves the process may be repeated again and again
// without a wait: after some failure, the path to the next execution contains no wait, and
// nothing that may change what the operation depends on. A loop that retries only one class of
// errors does not count, because a conflict is repeated immediately on purpose. AtOnce also
// returns the evidence.
func (t *Attempt) AtOnce() (vocab.Evidence, bool) {
	evidence, leaves := t.remote()
	switch {
	case !leaves, !t.IsRetry(), t.Ends == Polls, t.Change != Same:
		return 0, false
	case t.decided()&(Item|Person) != 0, t.OneClass(), t.pausesItself():
		return 0, false // it ends with the last of several items, or asks a person
	}
	for _, l := range t.Limits() {
		if l.Attempts > 0 && l.Attempts <= few {
			return 0, false
		}
		if l.Of != nil {
			evidence = vocab.Named // callers may ask for one retry
		}
	}
	return min(evidence, t.Evidence), t.isHurried()
}

// remote reports whether the operation leaves the process, and returns the evidence.
func (t *Attempt) remote() (vocab.Evidence, bool) {
	call := &t.Op.Call
	if k := known(call); k.Is(vocab.Remote) {
		return k.Evidence, true
	}
	if t.pkg.summaryOf(call).Is(vocab.Remote) {
		return vocab.Library, true
	}
	return t.pkg.leavesBehind(call)
}

// LeavesProcess reports whether the operation is known to access the network or another
// process.
func (t *Attempt) LeavesProcess() bool {
	evidence, leaves := t.remote()
	return leaves && evidence >= vocab.Library || t.Known().Is(vocab.Serves)
}

// pausesItself reports whether the operation may wait before it returns. An operation with a
// connection among its operands may wait for the peer.
func (t *Attempt) pausesItself() bool {
	s := t.pkg.summaryOf(&t.Op.Call)
	if s.known && (s.Waits != Never || s.Blocks) || slices.ContainsFunc(t.pkg.implementations(&t.Op.Call), t.pkg.pauses) {
		return true
	}
	return slices.ContainsFunc(t.Op.Call.Operands(nil), func(operand *ssa.Value) bool {
		return *operand != nil && vocab.IsConn((*operand).Type())
	})
}

// pauses reports whether a function may wait.
func (p *Package) pauses(fn *ssa.Function) bool {
	s := p.summary(flow.Generic(fn))
	return s.Waits != Never || s.Blocks
}

// pausing returns a function that reports whether a block contains a wait, or may change what
// the operation depends on.
func (t *Attempt) pausing() func(*ssa.BasicBlock) bool {
	waits := set{}
	for _, w := range t.Waits {
		waits[w.At.Block()] = true
	}
	repairs := t.pkg.effects.RepairsIn(t.Op)
	return func(b *ssa.BasicBlock) bool { return waits[b] || repairs(b) }
}

// isHurried reports whether some failure can lead to the next execution without a pause each
// time.
func (t *Attempt) isHurried() bool {
	pauses := t.pausing()
	slow := t.forced(func(b *ssa.BasicBlock, slow set) bool { return pauses(b) || t.isSlow(b, slow, adversary) })
	return !slow[t.Op.Block()]
}

// isSlow reports whether a block leads to a pause for every failure. The failure decides all
// branches that depend only on chosen. One class of errors needs no pause.
func (t *Attempt) isSlow(b *ssa.BasicBlock, slow set, chosen Why) bool {
	paused, hurried, at := 0, 0, -1
	for k, s := range b.Succs {
		switch {
		case !t.Run.Takes(b, k) || !t.Loop.Has(s) || !t.Run.Repeats(s):
		case slow[s] && s != t.Op.Block():
			paused++
		default:
			hurried, at = hurried+1, k
		}
	}
	branch := flow.Branch(b)
	if branch == nil || paused == 0 || hurried == 0 {
		return paused > 0 && hurried == 0
	}
	why := (&judge{p: t.pkg, run: t.Run}).why(branch.Cond)
	return why&^chosen != 0 || t.included(b, why) == at
}

// LeavesProcess reports whether a function is known to leave the process, and known not to
// wait.
func (p *Package) LeavesProcess(fn *ssa.Function) bool {
	s := p.summary(fn)
	return s.Is(vocab.Remote) && s.Waits == Never && !s.Blocks
}

// StaysInside reports whether the operation is known not to leave the process.
func (t *Attempt) StaysInside() bool {
	if _, leaves := t.remote(); leaves {
		return false
	}
	_, fn := flow.StaticCallee(&t.Op.Call)
	return fn != nil && t.pkg.StaysInside(fn)
}

// StaysInside reports whether a function, with all functions that it calls, is known not to
// leave the process.
func (p *Package) StaysInside(fn *ssa.Function) bool {
	return p.staysInside(fn, map[*ssa.Function]bool{})
}

func (p *Package) staysInside(fn *ssa.Function, seen map[*ssa.Function]bool) bool {
	if seen[fn] {
		return true
	}
	seen[fn] = true
	if len(fn.Blocks) == 0 || p.summary(fn).Is(vocab.Remote) {
		return false
	}
	for instr := range flow.Instructions(fn.Blocks) {
		call, ok := instr.(ssa.CallInstruction)
		if ok && !p.callStaysInside(call.Common(), seen) {
			return false
		}
	}
	return true
}

// callStaysInside reports whether the code that a call executes is known not to leave the
// process.
func (p *Package) callStaysInside(call *ssa.CallCommon, seen map[*ssa.Function]bool) bool {
	if _, builtin := call.Value.(*ssa.Builtin); builtin {
		return true
	}
	if k := known(call); k.Evidence >= vocab.Library && !k.Is(vocab.Remote) || flow.IsErrorLike(call.Value.Type()) {
		return true
	}
	if contextAsked(call) != nil {
		return true
	}
	_, fn := flow.StaticCallee(call)
	return fn != nil && p.staysInside(fn, seen)
}

// IsSelective reports whether a branch of the loop distinguishes the errors of the operation.
func (t *Attempt) IsSelective() bool {
	j := &judge{p: t.pkg, run: t.Run}
	for branch := range t.Run.Branches() {
		if j.why(branch.Cond)&Class != 0 {
			return true
		}
	}
	return false
}
