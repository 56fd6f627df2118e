package attempt

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// A Spin describes how, after a failure, a daemon repeats its operation without a wait,
// although it waits after a success, or although the operation blocks until it succeeds.
type Spin struct {
	Skipped  ssa.Instruction // the wait that only follows a success, or nil
	Persists bool            // after one failure, the operation always fails
	Evidence vocab.Evidence
}

// bounds contains the reasons that end a loop after a number of iterations or a time.
const bounds = Count | Clock | Item | Person

// Spins returns how a daemon repeats its operation immediately after a failure, or nil.
func (t *Attempt) Spins() *Spin {
	s := t.spins()
	if s == nil && t.ByField != nil {
		s = t.ByField.spins()
	}
	return s
}

// spins does the same as Spins, for one kind of failure.
func (t *Attempt) spins() *Spin {
	if !t.IsDaemon() || !t.Fails() || t.Change != Same || !t.isInnermost() {
		return nil
	}
	s := &Spin{Skipped: t.skipped()}
	switch {
	case s.Skipped == nil && !t.Known().Is(vocab.Persists|vocab.Blocks|vocab.Receives):
		return nil // this may be the purpose of the loop, as in a load test
	case t.decided()&bounds != 0, t.OneClass(), !t.isHurriedDaemon():
		return nil
	}
	s.Evidence = min(t.Evidence, t.spinEvidence(s))
	return s
}

// spinEvidence returns the evidence that failures follow each other immediately.
func (t *Attempt) spinEvidence(s *Spin) vocab.Evidence {
	k := t.Known()
	switch {
	case k.Is(vocab.Persists):
		s.Persists = true
		return k.Evidence
	case t.LeavesProcess() && k.Is(vocab.Blocks), s.Skipped != nil && t.isExternal():
		return vocab.Library
	case k.Is(vocab.Blocks) && t.Traps() && !t.IsSelective():
		s.Persists = true // the end of the receiver is a permanent failure
		return k.Evidence
	}
	return vocab.Named
}

// isExternal reports whether the operation is known to fail for reasons that the loop does not
// change: it leaves the process, or it is in the vocabulary, such as a function that reads a
// file.
func (t *Attempt) isExternal() bool {
	return t.LeavesProcess() || t.Known().Evidence >= vocab.Library
}

// Blocks reports whether the operation blocks until it succeeds.
func (t *Attempt) Blocks() bool { return t.Known().Is(vocab.Blocks) }

// isInnermost reports whether no loop inside the loop of the attempt contains the operation.
func (t *Attempt) isInnermost() bool {
	around := flow.Around(t.Op)
	return around == nil || around.Header == t.Loop.Header
}

// skipped returns the first timed wait that follows a success, or nil.
func (t *Attempt) skipped() ssa.Instruction {
	for _, w := range t.pkg.index(t.Fn).waits {
		if w.Timed && w.Evidence >= vocab.Library && t.Loop.Has(w.At.Block()) && isOn(t.Passed, w.At.Block()) {
			return w.At
		}
	}
	return nil
}

// isHurriedDaemon reports whether some failure can lead to the next execution without a pause
// and without a call that may block.
func (t *Attempt) isHurriedDaemon() bool {
	if !t.Blocks() && t.pausesItself() {
		return false
	}
	// The other results of a failed operation are not set.
	const chosen = adversary &^ Answer
	pauses := t.pausing()
	slow := t.forced(func(b *ssa.BasicBlock, slow set) bool {
		return pauses(b) || t.blocksIn(b) || t.isSlow(b, slow, chosen)
	})
	return !slow[t.Op.Block()]
}

// blocksIn reports whether an instruction of a block, other than the operation, may block.
func (t *Attempt) blocksIn(b *ssa.BasicBlock) bool {
	return slices.ContainsFunc(b.Instrs, func(instr ssa.Instruction) bool {
		switch instr := instr.(type) {
		case *ssa.Send:
			return true
		case *ssa.Call:
			return instr != t.Op && t.pkg.mayBlock(&instr.Call)
		}
		return false
	})
}

// mayBlock reports whether a call may block: it leaves the process, takes the next item, or is
// unknown.
func (p *Package) mayBlock(call *ssa.CallCommon) bool {
	if _, builtin := call.Value.(*ssa.Builtin); builtin || contextAsked(call) != nil {
		return false
	}
	const (
		blocking = vocab.Remote | vocab.Receives | vocab.Serves | vocab.Asks | vocab.Waits | vocab.Blocks
		computes = vocab.Logs | vocab.Judges | vocab.Makes | vocab.Cleans | vocab.Stops
	)
	k, s := known(call), p.summaryOf(call)
	switch {
	case k.Is(blocking):
		return true
	case k.Evidence >= vocab.Library, flow.IsErrorLike(call.Value.Type()):
		return false
	case s.known:
		return s.Waits != Never || s.Blocks || s.Is(vocab.Remote|vocab.Asks) || s.State&Unknown != 0
	}
	return !k.Is(computes) || k.Is(vocab.Gets)
}
