package retryloop

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// asksForLate reports whether a condition compares the time that has passed
// since the same round read the clock, and whether it holds when much has.
func (l *loop) asksForLate(cond ssa.Value) (late, ok bool) {
	switch cond := cond.(type) {
	case *ssa.BinOp:
		op, span, limit := cond.Op, cond.X, cond.Y
		if !l.isNewTime(span) {
			op, span, limit = mirrored[op], limit, span
		}
		if instr, inLoop := limit.(ssa.Instruction); !l.isNewTime(span) || inLoop && l.blocks[instr.Block()] {
			return false, false
		}
		switch op {
		case token.GTR, token.GEQ:
			return true, true
		case token.LSS, token.LEQ:
			return false, true
		}
	case *ssa.Call:
		fn := cond.Common().StaticCallee()
		if !isOfTime(fn) || !isNamed(fn, "time", "After", "Before") || !l.isNewTime(cond.Common().Args[0]) ||
			!l.isNewTime(cond.Common().Args[1]) {
			return false, false
		}
		// Now is after the deadline, or the deadline before now.
		first, second := isDeadline(cond.Common().Args[0]), isDeadline(cond.Common().Args[1])
		return second == (fn.Name() == "After"), first != second
	}
	return false, false
}

// isNewTime reports whether v is a time, or a span of time, that is made of
// nothing but what each round of the loop reads from the clock.
func (l *loop) isNewTime(v ssa.Value) bool {
	call, ok := v.(*ssa.Call)
	if !ok || !l.blocks[call.Block()] {
		return false
	}
	fn, args := call.Common().StaticCallee(), call.Common().Args
	switch {
	case isNamed(fn, "time", "Now"):
		return true
	case isNamed(fn, "time", "Since", "Until", "Add", "Seconds", "Milliseconds", "Minutes"):
		return l.isNewTime(args[0])
	case isNamed(fn, "time", "Sub"):
		return l.isNewTime(args[0]) && l.isNewTime(args[1])
	}
	return false
}

func isDeadline(v ssa.Value) bool {
	call, ok := v.(*ssa.Call)
	return ok && isNamed(call.Common().StaticCallee(), "time", "Add")
}

// isLate reports whether one of the cases of a select waits for a timer that
// the same round has started, and never gets its turn: the select does not
// wait, or only for another timer that is faster.
func (l *loop) isLate(sel *ssa.Select, n int) bool {
	timer := timerOf(sel.States[n].Chan)
	if timer == nil || !l.blocks[timer.Block()] || l.innermost[timer.Block()] != l {
		return false
	}
	if !sel.Blocking {
		return true
	}
	limit, ok := constantDuration(timer.Common().Args[0])
	return ok && slices.ContainsFunc(sel.States, func(other *ssa.SelectState) bool {
		faster := timerOf(other.Chan)
		if faster == nil {
			faster = tickerOf(other.Chan)
		}
		if faster == nil || faster == timer {
			return false
		}
		d, ok := constantDuration(faster.Common().Args[0])
		return ok && d < limit
	})
}

// timerOf returns what starts the timer that a channel is of, or nil.
func timerOf(ch ssa.Value) *ssa.Call { return startOf(ch, "After", "NewTimer") }

// tickerOf returns what starts the ticker that a channel is of, or nil.
func tickerOf(ch ssa.Value) *ssa.Call { return startOf(ch, "Tick", "NewTicker") }

func startOf(ch ssa.Value, names ...string) *ssa.Call {
	if load, ok := ch.(*ssa.UnOp); ok {
		if field, ok := load.X.(*ssa.FieldAddr); ok {
			ch = field.X
		}
	}
	call, ok := ch.(*ssa.Call)
	if !ok || !isNamed(call.Common().StaticCallee(), "time", names...) ||
		call.Common().StaticCallee().Signature.Recv() != nil {
		return nil
	}
	return call
}
