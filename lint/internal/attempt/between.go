package attempt

import (
	"slices"
	"time"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// Defers returns the defers that are executed between any two executions of the operation, and
// none of which runs before the function ends. A poll has them after answers as well.
func (t *Attempt) Defers() (found []*ssa.Defer) {
	for _, b := range t.Loop.List {
		if !t.Run.IsPassed(b) && !(t.Ends&Polls != 0 && t.Passed.IsPassed(b)) {
			continue
		}
		for _, instr := range b.Instrs {
			if d, ok := instr.(*ssa.Defer); ok {
				found = append(found, d)
			}
		}
	}
	return found
}

// Pause returns the constant time that every failure waits until the next execution, if
// nothing but the end of a context makes it shorter, or 0.
func (t *Attempt) Pause() time.Duration {
	if len(t.Waits) != 1 || !t.Waits[0].Always || !t.Run.IsPassed(t.Waits[0].At.Block()) {
		return 0
	}
	durations, plain := timesOf(t.Waits[0].At)
	if len(durations) != 1 || !plain {
		return 0
	}
	d, _ := flow.IntOf(durations[0])
	return time.Duration(d)
}

// timesOf returns the durations that a wait is given, also for the timers that it receives
// from, and whether all else that it waits for is the end of a context.
func timesOf(wait ssa.Instruction) (durations []ssa.Value, plain bool) {
	var calls []ssa.Value
	switch wait := wait.(type) {
	case *ssa.Call:
		calls = []ssa.Value{wait}
	case *ssa.UnOp:
		calls = []ssa.Value{wait.X}
	case *ssa.Select:
		for _, state := range wait.States {
			calls = append(calls, state.Chan)
		}
	}
	for _, v := range calls {
		call, ok := v.(*ssa.Call)
		if !ok {
			return nil, false
		}
		if contextAsked(&call.Call) != nil {
			continue
		}
		given := slices.DeleteFunc(slices.Clone(call.Call.Args), func(arg ssa.Value) bool {
			return !vocab.IsDuration(arg.Type())
		})
		if len(given) == 0 {
			return nil, false
		}
		durations = append(durations, given...)
	}
	return durations, true
}
