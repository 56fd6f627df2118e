// Package attempt finds the operations that a function retries.
//
// # Definition
//
// An operation is a call in a loop whose results are used. It is retried in that loop if
//
//  1. after it has failed it may be executed again without leaving the loop,
//  2. none of its operands is Changed on the way, and
//  3. after it has succeeded it is not executed again (Leaves), or the loop is left once its
//     other operations succeed (Joint), or its operands are Changed (Progress), or a test of
//     what it returned leaves the loop (Polls).
//
// With 1 and 2 alone it is a daemon: an [Attempt] with no Ends. Its waits are judged only if a
// success does not pass them. If a failure leaves the loop and an answer leads back, it
// is an Attempt as well: see [Attempt.IsByAnswer].
//
// # Flow of data
//
// package flow solves what is executed after a failure and after a success: the two [Runs] of
// an Attempt. Over the run that leads back, [Change] says what happens to an operand, [Why]
// what a branch depends on, and [Trap] whether some failure can never leave the loop. [Wait]s
// are what blocks on the way. What a call does is read from the [Summary] of the callee, which
// is computed callees first and kept as a fact for packages that import this one.
//
// Rules are queries of Attempts. They see no syntax, and no name that is not in package vocab.
package attempt

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// Ends is a set: how a success of an operation ends its loop.
type Ends uint8

// The ends of a loop by success.
const (
	Leaves   Ends = 1 << iota // the operation is not executed again
	Joint                     // the loop is left once its other operations succeed
	Progress                  // the operation is executed again, with other operands
	Polls                     // a test of what the operation returned leaves the loop
)

// An Attempt is an operation that is executed again because of how it ended.
type Attempt struct {
	Fn   *ssa.Function
	Loop *flow.Loop
	Op   *ssa.Call

	Until    Success
	Ends     Ends // none: a daemon
	Change   Change
	Evidence vocab.Evidence // that it is a retry
	Runs
	Trap
	Waits     []Wait     // on the way to the next execution, in the order of the function
	Recursion *Recursion // nil: Loop is a loop
	ByField   *Attempt   // of a daemon: the same if a field of the result reports the failure; or nil

	pkg *Package
}

// Runs are what is executed after an operation.
type Runs struct {
	Run    *flow.Run // to the next execution: Failed or Passed
	Failed *flow.Run // from the failure; from any result if it is not known what a failure is
	Passed *flow.Run // from the success; the same as Failed if that is not known
}

// IsDaemon reports whether the operation is executed again whatever it returns.
func (t *Attempt) IsDaemon() bool { return t.Ends == 0 }

// Fails reports whether it is known which results of the operation are a failure.
func (t *Attempt) Fails() bool { return t.Until != Unclear }

// IsByAnswer reports whether a failure leaves the loop, and what the operation returns without
// one leads back.
func (t *Attempt) IsByAnswer() bool { return t.Fails() && t.Run == t.Passed }

// IsRetry reports whether the operation is executed again because it has failed, until it
// succeeds.
func (t *Attempt) IsRetry() bool { return t.Fails() && !t.IsByAnswer() && !t.IsDaemon() }

// Pos returns the position of the operation.
func (t *Attempt) Pos() token.Pos { return t.Op.Pos() }

// Parameter returns the parameter of Fn that is the operation, or nil.
func (t *Attempt) Parameter() *ssa.Parameter {
	if t.Op.Call.IsInvoke() {
		return nil
	}
	return parameterOf(t.Op.Call.Value)
}

// parameterOf returns the parameter that a function value is, or nil.
func parameterOf(v ssa.Value) *ssa.Parameter {
	p, _ := flow.Source(v, flow.Renamed).(*ssa.Parameter)
	return p
}

// IsInterval reports whether a wait of a daemon also follows a success.
func (t *Attempt) IsInterval(w Wait) bool {
	return t.IsDaemon() && t.Passed.IsReached(w.At.Block())
}

// Known returns what the vocabulary says of the operation.
func (t *Attempt) Known() vocab.Known { return known(&t.Op.Call) }

// Name returns the name of the operation.
func (t *Attempt) Name() string { return Name(t.Op) }

// Name returns the name of what is called.
func Name(call *ssa.Call) string {
	if obj, _ := flow.StaticCallee(&call.Call); obj != nil {
		return obj.Name()
	}
	switch v := call.Call.Value.(type) {
	case *ssa.UnOp:
		if f, ok := v.X.(*ssa.FieldAddr); ok && flow.FieldOf(f) != nil {
			return flow.FieldOf(f).Name()
		}
		if variable, ok := v.X.(*ssa.Alloc); ok {
			return variable.Comment
		}
		return v.X.Name()
	case *ssa.Parameter, *ssa.FreeVar:
		return v.Name()
	}
	return "a function"
}

// isOperation reports whether a call may be an operation: it does something, and its results
// are used.
func isOperation(call *ssa.Call) bool {
	common := call.Common()
	if _, builtin := common.Value.(*ssa.Builtin); builtin {
		return false
	}
	if common.Signature().Results().Len() == 0 || len(flow.Refs(call)) == 0 {
		return false
	}
	if contextAsked(common) != nil {
		return false
	}
	if k := known(common); k.Is(vocab.Pure|vocab.Clock|vocab.Loads) ||
		k.Is(vocab.Logs) && k.Evidence >= vocab.Library {
		return false
	}
	return !(common.IsInvoke() && flow.IsErrorLike(common.Value.Type()))
}

// known returns what the vocabulary says of a call.
func known(call *ssa.CallCommon) vocab.Known { return flow.Known(call) }

// attempt returns what a call is in a loop, or nil if it is no attempt.
func (p *Package) attempt(l *flow.Loop, op *ssa.Call) *Attempt {
	var daemon *Attempt
	for _, e := range p.endings(op) {
		t := p.attemptUntil(l, op, e)
		switch {
		case t == nil:
		case daemon == nil && t.IsDaemon() && t.Until == NoError:
			daemon = t
		case daemon == nil:
			return t
		case t.IsDaemon() && t.Until == InField:
			daemon.ByField = t
		}
	}
	return daemon
}

// attemptUntil is attempt if a success of the call is what e says.
func (p *Package) attemptUntil(l *flow.Loop, op *ssa.Call, e ending) *Attempt {
	failed := p.flow.After(l, op, e.failed)
	if failed == nil {
		return nil
	}
	t := &Attempt{Fn: op.Parent(), Loop: l, Op: op, Until: e.until, Evidence: e.evidence(), pkg: p,
		Runs: Runs{Run: failed, Failed: failed, Passed: failed}}
	if t.Fails() && failed.Again {
		t.Passed = p.flow.After(l, op, e.passed)
	}
	if !t.Run.Again && (e.answered == nil || !t.isAsked(e.answered)) {
		return nil
	}
	var evidence vocab.Evidence
	if t.Change, evidence = t.operands(t.Run); t.Change == Changed || t.Change == Counted && t.IsByAnswer() {
		return nil
	}
	t.Evidence = min(t.Evidence, evidence)
	j := &judge{p: p, run: t.Run}
	if !t.IsByAnswer() && !t.findEnds(j, e.field) {
		return nil
	}
	t.Trap = t.trap(j, adversary)
	t.trapAnswers()
	t.Waits = t.waits()
	return t
}

// isAsked reports whether a call whose failure leaves the loop is repeated for its answer, and
// makes that the run of the attempt.
func (t *Attempt) isAsked(answered flow.Assumption) bool {
	t.Passed = t.pkg.flow.After(t.Loop, t.Op, answered)
	t.Run, t.Ends = t.Passed, Polls
	return t.Run.Again && t.leavesBy(&judge{p: t.pkg, run: t.Run}, false)
}

// couldPoll reports whether a call returns or fills something besides its error: what it is
// given the address of, or a function literal that captures it.
func couldPoll(op *ssa.Call) bool {
	return op.Call.Signature().Results().Len() > 1 || slices.ContainsFunc(op.Call.Args, func(arg ssa.Value) bool {
		_, pointer := arg.Type().Underlying().(*types.Pointer)
		switch flow.Source(arg, flow.Renamed).(type) {
		case *ssa.MakeInterface, *ssa.MakeClosure:
			return true
		}
		return pointer
	})
}

// findEnds finds how a success ends the loop. A field of the result, if there is one, may say as
// well whether the operation has failed. It reports false if Op is no operation: what it returns
// is no failure, and leaves nothing.
func (t *Attempt) findEnds(j *judge, field *ending) bool {
	if !t.Fails() {
		t.Ends = Polls
		return t.leavesBy(j, false)
	}
	if !t.Passed.Again {
		t.Ends = Leaves
		return true
	}
	passed := &judge{p: t.pkg, run: t.Passed}
	if change, _ := t.operands(t.Passed); change == Changed {
		t.Ends |= Progress
	}
	if t.leavesBy(passed, true) {
		t.Ends |= Joint
	} else if t.leavesBy(passed, false) {
		t.Ends |= Polls
	}
	switch {
	case t.Ends != Polls:
	case field != nil && !t.pkg.flow.After(t.Loop, t.Op, field.passed).Again:
		t.Ends |= Leaves
		t.Evidence = min(t.Evidence, field.evidence())
	case t.isJudgedWhole(passed):
		t.Ends |= Leaves
		t.Evidence = min(t.Evidence, vocab.Library)
	}
	return true
}

// isJudgedWhole reports whether the loop is left by what a call says that is given the error of the
// operation and what it returned besides: what it repeats for is a failure.
func (t *Attempt) isJudgedWhole(j *judge) bool {
	for branch := range j.run.Branches() {
		call, ok := flow.Source(branch.Cond, flow.Unpacked|flow.Negated).(*ssa.Call)
		if !ok || call == t.Op || !t.leavesAt(j, branch, false) {
			continue
		}
		results := 0
		for _, arg := range call.Call.Args {
			if x, ok := arg.(*ssa.Extract); ok && x.Tuple == ssa.Value(t.Op) {
				results++
			}
		}
		if results > 1 {
			return true
		}
	}
	return false
}

// leavesBy reports whether the loop is left by a branch on what Op returned, or, if joint, on
// the success of other operations.
func (t *Attempt) leavesBy(j *judge, joint bool) bool {
	for branch := range j.run.Branches() {
		if t.leavesAt(j, branch, joint) {
			return true
		}
	}
	return false
}

func (t *Attempt) leavesAt(j *judge, i *ssa.If, joint bool) bool {
	b := i.Block()
	if b.Succs[0] == b.Succs[1] {
		return false
	}
	only := -1
	if joint {
		if only = successOf(i.Cond); only < 0 {
			return false
		}
	}
	leaves := false
	for k, s := range b.Succs {
		if (only < 0 || k == only) && j.run.Takes(b, k) && !j.repeats(s) && (joint || !t.fails(j.run, b, s)) {
			leaves = true
		}
	}
	if !leaves {
		return false
	}
	why := j.why(i.Cond)
	if joint {
		return why&^Fixed == Other
	}
	return why&(Outcome|Class) != 0 && why&^adversary == 0
}

// fails reports whether an edge that leaves the loop leads to a return of an error: the answer
// is not the one that the loop asks for.
func (t *Attempt) fails(run *flow.Run, b, s *ssa.BasicBlock) bool {
	path := pathToReturn(b, s)
	if path == nil || !flow.ReturnsError(t.Fn.Signature) {
		return false
	}
	_, values := returned(run, path)
	return values[len(values)-1].Equal(flow.NonNil)
}

// givesUp reports whether some failures leave the loop by returning an error. Those that do not
// are answers like any other to a loop that polls.
func (t *Attempt) givesUp() bool {
	for b := range t.Decisions {
		for k, s := range b.Succs {
			if t.Run.Takes(b, k) && !t.Loop.Has(s) && t.fails(t.Run, b, s) {
				return true
			}
		}
	}
	return false
}

// successOf returns the edge that a comparison of an error with nil takes on success, or -1.
func successOf(cond ssa.Value) int {
	cmp, ok := cond.(*ssa.BinOp)
	if !ok || !flow.IsError(cmp.X.Type()) {
		return -1
	}
	if !flow.IsNil(cmp.Y) {
		return -1
	}
	if cmp.Op == token.EQL {
		return 0
	}
	return 1
}
