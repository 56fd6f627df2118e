package attempt

import (
	"go/token"
	"iter"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/effect"
	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// An Endless is a retry that only a success ends.
type Endless struct {
	*Attempt
	Evidence vocab.Evidence
	// ContextEnd reports that the end of the operation's own context is retried, too.
	ContextEnd bool
	// Hurried reports that nothing waits between the attempts.
	Hurried bool
	// DeadContext reports that the loop checks a context that never ends.
	DeadContext bool
	// Counter counts attempts but does not end the loop; nil if there is none.
	Counter *Counter
	// Missed is the comparison of a counter with a limit that it never reaches, or nil.
	Missed *Missed
	// Renewed is the condition on a limit that each iteration resets, or nil.
	Renewed ssa.Value
}

// Endless returns why an attempt never stops, or nil if something may stop it.
func (t *Attempt) Endless() *Endless {
	if !t.Traps() || t.IsDaemon() || !t.Fails() || t.Change == Counted || !t.returns() {
		return nil
	}
	contended, evidence := t.isContended()
	if contended || t.IsConflict() {
		return nil
	}
	e := &Endless{Attempt: t, Evidence: min(t.Evidence, evidence, t.doubts(), t.sharedDoubts())}
	given := t.GivenContext() != nil
	switch {
	case t.isJudged():
		if given || len(t.Waits) == 0 {
			e.Evidence = vocab.Named // the called function may recognize the end of the context, or a conflict
		}
	case given && t.OneClass(), t.Until == InField && t.Context() != nil && t.mayHaveContext():
		return nil // the end of the context is another error
	default:
		e.ContextEnd = given && t.keepsEnding(t.GivenContext()) && !t.othersEnd()
	}
	if at, hurried := t.AtOnce(); hurried && at >= vocab.Library {
		e.Hurried = true
	}
	t.refine(e)
	return e
}

// mayHaveContext reports whether a context may end the operation: the operation is given a context
// or a value that has one, or it is not a function of a known library.
func (t *Attempt) mayHaveContext() bool {
	call := &t.Op.Call
	return known(call).Evidence < vocab.Library || GivenContext(call) != nil ||
		slices.ContainsFunc(call.Args, func(arg ssa.Value) bool { return carriesContext(arg.Type()) })
}

// keepsEnding reports whether a context that has ended also ends later attempts. It does not if each
// attempt derives its own from a context that never ends.
func (t *Attempt) keepsEnding(ctx ssa.Value) bool {
	for t.Loop.Contains(flow.Source(ctx, flow.Unpacked)) {
		parent := DerivedFrom(ctx)
		if parent == nil {
			return t.isFromBefore(ctx)
		}
		ctx = parent
	}
	return !t.pkg.NeverEnds(ctx)
}

// othersEnd reports whether a failure of another call, which takes a context, may leave the
// loop.
func (t *Attempt) othersEnd() bool {
	for b := range t.Decisions {
		cmp, ok := flow.Branch(b).Cond.(*ssa.BinOp)
		if !ok {
			continue
		}
		call, ok := flow.Source(cmp.X, flow.Unpacked).(*ssa.Call)
		if ok && call != t.Op && GivenContext(&call.Call) != nil {
			return true
		}
	}
	return false
}

// returns reports whether the function can return after the operation has succeeded. If it
// cannot, no caller waits for the end of the loop.
func (t *Attempt) returns() bool {
	reached := flow.Reachable(t.Op.Block(), flow.EveryEdge)
	for ret := range flow.Returns(t.Fn) {
		if reached[ret.Block()] || ret.Block() == t.Op.Block() {
			return true
		}
	}
	return false
}

// isContended reports whether no limit is expected for the operation: it takes items, asks a
// person, creates something, acquires what others hold, or comes from the callers.
func (t *Attempt) isContended() (bool, vocab.Evidence) {
	call := &t.Op.Call
	k := known(call)
	switch {
	case k.Is(vocab.Receives | vocab.Asks | vocab.Random | vocab.Exits | vocab.Judges):
		return true, 0
	case k.Is(vocab.Locks) && (k.Evidence >= vocab.Library || t.decided()&Class != 0):
		return true, 0
	case k.Is(vocab.Serves) && len(t.Waits) == 0:
		return true, 0 // it is supervised
	}
	if s := t.pkg.summaryOf(call); s.Is(vocab.Asks) || s.Is(vocab.Locks) && !s.Is(vocab.Remote) {
		return true, 0
	}
	if k.Is(vocab.Makes) && !k.Is(vocab.Gets|vocab.Remote) && !t.pkg.summaryOf(call).Is(vocab.Remote) {
		return k.Evidence >= vocab.Library, vocab.Named
	}
	return !call.IsInvoke() && !isHeld(call.Value) && effect.Callee(call) == nil, vocab.Proven
}

// isHeld reports whether a function value is read from a field.
func isHeld(v ssa.Value) bool {
	_, field := flow.Back(v, flow.Loaded).(*ssa.FieldAddr)
	return field
}

// IsConflict reports whether only one class of errors is retried, immediately and without a
// limit. The reason is usually that others were faster, or that each call makes progress.
func (t *Attempt) IsConflict() bool {
	if !t.Traps() || t.IsDaemon() || len(t.Waits) > 0 {
		return false
	}
	if k := known(&t.Op.Call); k.Is(vocab.Locks) && k.Evidence >= vocab.Library {
		return true
	}
	return t.Fails() && t.decided()&Class != 0 && t.OneClass()
}

// decided returns everything on which the decisions of the loop depend.
func (t *Attempt) decided() (all Why) {
	for _, why := range t.Decisions {
		all |= why
	}
	return all
}

// doubts returns how certain it is that the decisions of the loop do not end it.
func (t *Attempt) doubts() vocab.Evidence {
	switch why := t.decided(); {
	case why&(Setting|Answer|Count|Clock|Flag|Item|Unknown) != 0:
		return vocab.Named // callers may know better, or something lifts an existing limit
	case why&Class != 0:
		return vocab.Library
	}
	return vocab.Proven
}

// sharedDoubts returns how certain it is that no other function ends the retries through shared
// memory.
func (t *Attempt) sharedDoubts() vocab.Evidence {
	effects := t.pkg.effects
	switch {
	case effects.Repairs(t.between(t.Run), t.Op),
		effects.Varies(t.Op),
		effects.EndsMeanwhile(t.Fn),
		t.Ends == Polls && t.works():
		return vocab.Named
	}
	return vocab.Proven
}

// between yields the instructions that a run executes between two attempts.
func (t *Attempt) between(run *flow.Run) iter.Seq[ssa.Instruction] {
	return func(yield func(ssa.Instruction) bool) {
		for _, b := range t.Loop.List {
			if !isOn(run, b) && !t.leads(b) {
				continue
			}
			for _, instr := range b.Instrs {
				if call, ok := instr.(*ssa.Call); ok && t.Recursion.has(call) {
					break // the rest follows the next attempt
				}
				if !yield(instr) {
					return
				}
			}
		}
	}
}

// works reports whether something is written only after a success. The loop then consumes the
// results.
func (t *Attempt) works() bool {
	for _, b := range t.Loop.List {
		if !t.Passed.IsReached(b) || t.Run.IsReached(b) {
			continue
		}
		for _, instr := range b.Instrs {
			if e := t.pkg.effects.Instr(instr); e != nil && instr != ssa.Instruction(t.Op) && len(e.Regions(effect.Writes)) > 0 {
				return true
			}
		}
	}
	return false
}

// isJudged reports whether a condition on the error is a call of a function that is not in the
// vocabulary.
func (t *Attempt) isJudged() bool {
	for b, why := range t.Decisions {
		if why&Class == 0 {
			continue
		}
		cond := flow.Branch(b).Cond
		if not, ok := cond.(*ssa.UnOp); ok && not.Op == token.NOT {
			cond = not.X
		}
		if call, ok := cond.(*ssa.Call); ok && known(&call.Call).Evidence < vocab.Library {
			return true
		}
	}
	return false
}

// refine finds the code that was meant to end the retries.
func (t *Attempt) refine(e *Endless) {
	e.Counter = t.deadCounter()
	e.Missed = t.missed
	for branch := range t.Run.Branches() {
		why := t.Decisions[branch.Block()]
		e.DeadContext = e.DeadContext || why&Dead != 0
		if why&Renewed != 0 {
			e.Renewed = branch.Cond
		}
	}
}
