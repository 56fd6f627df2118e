// Package attempt finds the operations that a function retries.
//
// # Definition
//
// An operation is a call in a loop whose results are used. The loop retries it if
//
//  1. after a failure, it may be executed again without leaving the loop,
//  2. none of its operands is Changed before that, and
//  3. after a success, it is not executed again (Leaves), or the loop is left when its other
//     operations succeed, too (Joint), or its operands are Changed (Progress), or a test of its
//     results leaves the loop (Polls).
//
// If only conditions 1 and 2 hold, the operation is a daemon: an [Attempt] without Ends. The
// waits of a daemon are checked only if a success does not pass them. A call is also an Attempt
// if a failure leaves the loop and an answer leads back to the call: see [Attempt.IsByAnswer].
//
// # Data flow
//
// Package flow computes which code is executed after a failure and after a success. These are
// the two [Runs] of an Attempt. For the run that leads back to the operation, [Change]
// describes how its operands change, [Why] describes what a branch depends on, and [Trap]
// describes whether some failure can never leave the loop. The [Wait]s are the instructions on
// the path that block. The effect of a call is read from the [Summary] of the callee. Summaries
// are computed for callees first, and are facts for packages that import this one.
//
// Rules are queries of Attempts. They use no syntax, and no names except those in package
// vocab.
package attempt

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// Ends is a set that describes how a success of an operation ends its loop.
type Ends uint8

// The ends of a loop by success.
const (
	Leaves   Ends = 1 << iota // the operation is not executed again
	Joint                     // the loop is left when its other operations succeed, too
	Progress                  // the operation is executed again, with other operands
	Polls                     // a test of what the operation returned leaves the loop
)

// An Attempt is an operation that is executed again because of its result.
type Attempt struct {
	Fn   *ssa.Function
	Loop *flow.Loop
	Op   *ssa.Call

	Until    Success
	Ends     Ends // none for a daemon
	Change   Change
	Evidence vocab.Evidence // evidence that it is a retry
	Runs
	Trap
	Waits     []Wait     // the waits before the next execution, in the order of the function
	Recursion *Recursion // set if the function calls itself in place of a loop
	ByField   *Attempt   // for a daemon: the same attempt, if a field of the result reports the failure; or nil

	pkg *Package
}

// Runs describes the code that is executed after an operation.
type Runs struct {
	Run    *flow.Run // the run that leads to the next execution: Failed or Passed
	Failed *flow.Run // after a failure; after any result if it is unknown which results are failures
	Passed *flow.Run // after a success; the same as Failed if that is unknown
}

// IsDaemon reports whether the operation is executed again after every result.
func (t *Attempt) IsDaemon() bool { return t.Ends == 0 }

// Fails reports whether it is known which results of the operation are failures.
func (t *Attempt) Fails() bool { return t.Until != Unclear }

// IsByAnswer reports whether a failure leaves the loop, while a result without a failure can
// lead back to the operation.
func (t *Attempt) IsByAnswer() bool { return t.Fails() && t.Run == t.Passed }

// IsRetry reports whether the operation is executed again because it has failed, until it
// succeeds.
func (t *Attempt) IsRetry() bool { return t.Fails() && !t.IsByAnswer() && !t.IsDaemon() }

// Pos returns the position of the operation.
func (t *Attempt) Pos() token.Pos { return t.Op.Pos() }

// Parameter returns the parameter of Fn that the operation calls, or nil.
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

// IsInterval reports whether the operation is a daemon and the wait also follows a success.
func (t *Attempt) IsInterval(w Wait) bool {
	return t.IsDaemon() && t.Passed.IsReached(w.At.Block())
}

// Known returns what the vocabulary contains about the operation.
func (t *Attempt) Known() vocab.Known { return known(&t.Op.Call) }

// Name returns the name of the operation.
func (t *Attempt) Name() string { return Name(t.Op) }

// Name returns the name of the called function.
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

// isOperation reports whether a call may be an operation: it does more than compute, and its
// results are used.
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

// known returns what the vocabulary contains about a call.
func known(call *ssa.CallCommon) vocab.Known { return flow.Known(call) }

// attempt returns the attempt that a call in a loop is, or nil.
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

// attemptUntil does the same as attempt, for a call that ends as e describes.
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

// isAsked reports whether a call whose failure leaves the loop is repeated because of its
// answer. If so, it sets the run of the attempt accordingly.
func (t *Attempt) isAsked(answered flow.Assumption) bool {
	t.Passed = t.pkg.flow.After(t.Loop, t.Op, answered)
	t.Run, t.Ends = t.Passed, Polls
	return t.Run.Again && t.leavesBy(&judge{p: t.pkg, run: t.Run}, false)
}

// couldPoll reports whether a call returns or sets a value in addition to its error. It may set
// values through a pointer, or in variables that a function literal captures.
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

// findEnds finds how a success ends the loop. If the result has a field that may also report a
// failure, field describes it. findEnds returns false if Op is not an operation, because its
// results are not failures and do not end the loop.
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

// isJudgedWhole reports whether the loop is left depending on a call that takes both the error
// of the operation and another of its results. A result for which the loop repeats is then a
// failure.
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

// leavesBy reports whether the loop is left by a branch on a result of Op or, if joint is true,
// on the success of other operations.
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

// fails reports whether an edge out of the loop leads to a return of an error. The answer is
// then not the one that the loop waits for.
func (t *Attempt) fails(run *flow.Run, b, s *ssa.BasicBlock) bool {
	path := pathToReturn(b, s)
	if path == nil || !flow.ReturnsError(t.Fn.Signature) {
		return false
	}
	_, values := returned(run, path)
	return values[len(values)-1].Equal(flow.NonNil)
}

// givesUp reports whether some failures leave the loop with a return of an error. For a loop
// that polls, the other failures are ordinary answers.
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

// successOf returns the edge that is taken on success if a branch compares an error with nil,
// or -1.
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
