package attempt

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// choice returns what decides which case of a select is chosen.
func (j *judge) choice(s *ssa.Select) (w Why) {
	timers := 0
	for _, state := range s.States {
		if state.Dir == types.SendOnly {
			w |= Signal
			continue
		}
		x := j.channel(state.Chan)
		switch {
		case x == Awaited && s.Blocking:
			timers++
		case x == Awaited && isTicking(state.Chan):
			x = Clock
		case x == Awaited:
			x = Renewed
		}
		w |= x
	}
	if timers > 1 {
		w |= Clock // the order of timers is not modeled
	}
	return w
}

// channel returns what a receive from a channel waits for.
func (j *judge) channel(ch ssa.Value) (w Why) {
	switch ch := ch.(type) {
	case *ssa.Call:
		if ctx := contextAsked(&ch.Call); ctx != nil {
			return j.context(ctx)
		}
		if known(&ch.Call).Is(vocab.Clock) {
			if isTicking(ch) || j.has(ch.Block()) {
				return Awaited
			}
			return Clock
		}
	case *ssa.UnOp:
		if timer := timerOf(ch); timer != nil {
			return j.timer(timer)
		}
	case *ssa.Phi:
		for _, e := range ch.Edges {
			if _, nested := e.(*ssa.Phi); nested {
				if e == ssa.Value(ch) {
					continue
				}
				return Signal
			}
			w |= j.channel(e)
		}
		return w
	}
	return Signal
}

// timerOf returns the timer or ticker whose channel a load reads, or nil.
func timerOf(load *ssa.UnOp) ssa.Value {
	if f, ok := load.X.(*ssa.FieldAddr); ok && vocab.IsTimer(f.X.Type()) {
		return f.X
	}
	return nil
}

// isTicking reports whether a channel belongs to a ticker.
func isTicking(ch ssa.Value) bool {
	switch ch := ch.(type) {
	case *ssa.Call:
		return known(&ch.Call).Is(vocab.Ticks)
	case *ssa.UnOp:
		return timerOf(ch) != nil && vocab.IsTicker(timerOf(ch).Type())
	}
	return false
}

// timer returns what a receive from the channel of a timer or ticker waits for.
func (j *judge) timer(timer ssa.Value) Why {
	if vocab.IsTicker(timer.Type()) {
		return Awaited
	}
	if call, ok := timer.(*ssa.Call); ok && j.has(call.Block()) {
		return Awaited
	}
	for _, call := range j.p.index(j.function()).resets {
		if j.isReached(call.Block()) && flow.Variable(call.Call.Args[0]) == flow.Variable(timer) {
			return Awaited
		}
	}
	return Clock
}
