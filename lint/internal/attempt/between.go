package attempt

import (
	"go/constant"
	"go/types"
	"time"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
)

// Defers returns the defer statements that are executed between any two executions of the
// operation. None of the deferred calls runs before the function ends. In a poll, they may also
// be executed after answers.
func (t *Attempt) Defers() (found []*ssa.Defer) {
	for instr := range flow.Instructions(t.Loop.List) {
		d, ok := instr.(*ssa.Defer)
		if ok && (t.Run.IsPassed(d.Block()) || t.Ends&Polls != 0 && t.Passed.IsPassed(d.Block())) {
			found = append(found, d)
		}
	}
	return found
}

// Pauses returns the sum of the waits between n attempts, if all attempts fail and no context
// ends. It returns 0 if the sum is unknown.
func (t *Attempt) Pauses(n int) (total time.Duration) {
	if len(t.Waits) != 1 || !t.Waits[0].Always || !t.Run.IsPassed(t.Waits[0].At.Block()) {
		return 0
	}
	x := t.numbers()
	for k := range n - 1 {
		d, known := x.int(t.Waits[0].Delay, k)
		if !known {
			return 0
		}
		total += time.Duration(d)
	}
	return total
}

// An Overflow is a delay that grows with each attempt until it is too large for its type.
type Overflow struct {
	At       ssa.Value // the growing value: a left shift, if there is one
	Greatest int64     // the maximum shift without an overflow, or 0 if it is unknown
}

// Overflow returns how a duration in the loop becomes shorter because it overflows, or nil.
// Otherwise, a delay that takes centuries to overflow does not count.
func (t *Attempt) Overflow(delay ssa.Value) *Overflow {
	const typical, century = int64(time.Second), 100 * 365 * 24 * time.Hour
	x, guessed := t.numbers(), false
	x.wraps = &wrap{}
	x.assume = func(v ssa.Value) constant.Value {
		if !flow.IsBasic(v.Type(), types.IsInteger) {
			return nil
		}
		guessed = true
		return constant.MakeInt64(typical)
	}
	var o Overflow
	var all, last time.Duration
	for n := range 200 {
		d, known := x.int(delay, n)
		delay := time.Duration(d)
		switch {
		case !known || all > century, n == 0 && x.wraps.at != nil:
			return nil
		case delay < last && x.wraps.at != nil:
			if o.At = x.wraps.at; x.wraps.shift != nil {
				o.At = x.wraps.shift
			}
			if guessed {
				o.Greatest = 0
			}
			return &o
		case x.wraps.at == nil:
			o.Greatest = x.wraps.by
		}
		all, last = all+delay, delay
	}
	return nil
}
