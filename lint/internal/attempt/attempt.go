// Package attempt finds what is retried.
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
// With 1 and 2 alone it is a daemon: an [Attempt] with no Ends, of which only waits that a
// success does not pass are judged. If a failure leaves the loop and an answer leads back, it
// is an Attempt as well, ByAnswer.
//
// # Flow of data
//
// package flow solves what is executed after a failure and after a success: the two runs of an
// Attempt. Over the run that leads back, [Change] says what happens to an operand, [Why] what
// a branch depends on, and Trapped whether some failure can never leave the loop. [Wait]s are
// what blocks on the way. What a call does is read from the [Summary] of the callee, which is
// computed callees first and kept as a fact for packages that import this one.
//
// Rules are queries of Attempts. They see no syntax, and no name that is not in package vocab.
package attempt

import (
	"go/token"
	"go/types"

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
	Fn       *ssa.Function
	Loop     *flow.Loop
	Op       *ssa.Call
	Ends     Ends // none: a daemon
	ByAnswer bool // a failure leaves the loop: what Op returned without one leads back
	Fails    bool // it is known which results are a failure
	Change   Change
	Evidence vocab.Evidence // that it is a retry

	Run    *flow.Run // from the failure, or if ByAnswer from the success, to the next execution
	Passed *flow.Run // from the success

	// Trapped reports that there is a failure after which the loop is never left: the failure
	// itself decides every branch that could leave.
	Trapped bool
	// Decisions are the branches of the run that may leave the loop for good, and may not.
	Decisions map[*ssa.BasicBlock]Why
	Waits     []Wait // on the way to the next execution, in the order of the function

	pkg *Package
}

// IsDaemon reports whether the operation is executed again whatever it returns.
func (t *Attempt) IsDaemon() bool { return t.Ends == 0 }

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
	switch v := v.(type) {
	case *ssa.Parameter:
		return v
	case *ssa.ChangeType:
		return parameterOf(v.X)
	}
	return nil
}

// Name returns the name of the operation.
func (t *Attempt) Name() string { return nameOf(t.Op) }

func nameOf(call *ssa.Call) string {
	if obj, _ := flow.StaticCallee(&call.Call); obj != nil {
		return obj.Name()
	}
	switch v := call.Call.Value.(type) {
	case *ssa.UnOp:
		if f, ok := v.X.(*ssa.FieldAddr); ok && flow.FieldOf(f) != nil {
			return flow.FieldOf(f).Name()
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
	if common.Signature().Results().Len() == 0 || call.Referrers() == nil || len(*call.Referrers()) == 0 {
		return false
	}
	if _, asks := contextAsked(common); asks {
		return false
	}
	if known(common).Is(vocab.Pure | vocab.Clock) {
		return false
	}
	return !(common.IsInvoke() && flow.IsErrorLike(common.Value.Type()))
}

// known returns what the vocabulary says of a call.
func known(call *ssa.CallCommon) vocab.Known {
	if obj, _ := flow.StaticCallee(call); obj != nil {
		return vocab.Of(obj)
	}
	return vocab.Known{Duration: -1}
}

// attempt returns what a call is in a loop, or nil if it is no attempt.
func (p *Package) attempt(fn *ssa.Function, l *flow.Loop, op *ssa.Call) *Attempt {
	failed, passed, fails := p.endings(op)
	t := &Attempt{Fn: fn, Loop: l, Op: op, Fails: fails, Evidence: vocab.Proven, pkg: p}
	t.Run = p.flow.After(l, op, failed)
	if t.Run == nil {
		return nil
	}
	t.Passed = t.Run
	if fails && (t.Run.Again || couldPoll(op)) {
		t.Passed = p.flow.After(l, op, passed)
	}
	j := &judge{p: p, run: t.Run}
	if !t.Run.Again {
		if !fails || !t.Passed.Again {
			return nil
		}
		t.Run, t.ByAnswer = t.Passed, true
		j = &judge{p: p, run: t.Run}
		if !t.leavesBy(j, false) {
			return nil
		}
		t.Ends = Polls
	}
	var evidence vocab.Evidence
	if t.Change, evidence = t.operands(t.Run); t.Change == Changed {
		return nil
	}
	t.Evidence = min(t.Evidence, evidence)
	if !t.ByAnswer && !t.findEnds(j) {
		return nil
	}
	t.trap(j)
	t.Waits = t.waits()
	return t
}

// couldPoll reports whether a call has a result besides its error.
func couldPoll(op *ssa.Call) bool { return op.Call.Signature().Results().Len() > 1 }

// findEnds finds how a success ends the loop. It reports false if Op is no operation: what it
// returns is no failure, and leaves nothing.
func (t *Attempt) findEnds(j *judge) bool {
	if !t.Fails {
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
	return true
}

// leavesBy reports whether the loop is left by a branch on what Op returned, or, if joint, on
// the success of other operations.
func (t *Attempt) leavesBy(j *judge, joint bool) bool {
	for _, b := range t.Loop.List {
		if j.run.IsReached(b) && t.leavesAt(j, b, joint) {
			return true
		}
	}
	return false
}

func (t *Attempt) leavesAt(j *judge, b *ssa.BasicBlock, joint bool) bool {
	i, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If)
	if !ok || b.Succs[0] == b.Succs[1] {
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
		if (only < 0 || k == only) && j.run.Takes(b, k) && !j.repeats(s) {
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

// successOf returns the edge that a comparison of an error with nil takes on success, or -1.
func successOf(cond ssa.Value) int {
	cmp, ok := cond.(*ssa.BinOp)
	if !ok || !flow.IsError(cmp.X.Type()) {
		return -1
	}
	if c, ok := cmp.Y.(*ssa.Const); !ok || c.Value != nil {
		return -1
	}
	if cmp.Op == token.EQL {
		return 0
	}
	return 1
}

// endings returns the assumptions that a call failed, and that it succeeded. If it is not
// known what a failure is, both assume nothing.
func (p *Package) endings(call *ssa.Call) (failed, passed flow.Assumption, known bool) {
	results := call.Call.Signature().Results()
	n := results.Len()
	switch last := results.At(n - 1).Type(); {
	case flow.IsError(last):
		// The other results of a failure are not set.
		return ending(n-1, flow.NonNil, flow.Nil), ending(n-1, flow.Nil, flow.NonNil), true
	case n == 1:
		s := p.summaryOf(&call.Call)
		switch {
		case s.FalseOnError:
			return only(flow.Bool(false)), only(flow.Bool(true)), true
		case s.NilOnError:
			return only(flow.Nil), only(flow.NonNil), true
		}
	}
	return only(flow.Top), only(flow.Top), false
}

func only(v flow.Value) flow.Assumption { return func(int, types.Type) flow.Value { return v } }

// ending assumes that result i is v, and pointers and interfaces among the others are rest.
func ending(i int, v, rest flow.Value) flow.Assumption {
	return func(k int, t types.Type) flow.Value {
		if k == i {
			return v
		}
		switch t.Underlying().(type) {
		case *types.Pointer, *types.Interface:
			return rest
		}
		return flow.Top
	}
}
