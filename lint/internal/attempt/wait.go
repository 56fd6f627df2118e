package attempt

import (
	"go/constant"
	"go/token"
	"go/types"
	"math"
	"slices"
	"time"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// NoLimit is the longest duration of a wait of which none is known.
const NoLimit = time.Duration(math.MaxInt64)

// A Wait is an instruction that blocks for a time.
type Wait struct {
	At       ssa.Instruction
	Max      time.Duration // how long it waits at most; NoLimit if that is not known
	Heeds    bool          // it ends early with a context, or with something that may be one
	Always   bool          // it waits whenever it is executed
	Evidence vocab.Evidence
}

// waits returns the waits on the way from Op to its next execution.
func (t *Attempt) waits() (waits []Wait) {
	for _, w := range t.pkg.index(t.Fn).waits {
		b := w.At.Block()
		if t.Loop.Has(b) && w.At != ssa.Instruction(t.Op) &&
			(isOn(t.Run, b) || t.Ends&Polls != 0 && isOn(t.Passed, b)) {
			waits = append(waits, w)
		}
	}
	return waits
}

// isOn reports whether a block is on the way to the next execution.
func isOn(run *flow.Run, b *ssa.BasicBlock) bool { return run.IsReached(b) && run.Repeats(b) }

// wait returns the wait that an instruction is, if it blocks.
func (p *Package) wait(instr ssa.Instruction) (Wait, bool) {
	w := Wait{At: instr, Max: NoLimit, Always: true, Evidence: vocab.Proven}
	switch instr := instr.(type) {
	case *ssa.Call:
		return p.calledWait(w, instr)
	case *ssa.UnOp:
		if instr.Op != token.ARROW {
			return w, false
		}
		if isStopped(instr) {
			return w, false
		}
		limit, timed := p.timed(instr.X)
		w.Max, w.Heeds = limit, !timed
		return w, true
	case *ssa.Select:
		if !instr.Blocking {
			return w, false
		}
		w.Max = 0
		for _, state := range instr.States {
			limit, timed := p.timed(state.Chan)
			w.Max = max(w.Max, limit)
			w.Heeds = w.Heeds || !timed || state.Dir == types.SendOnly
		}
		w.Heeds = w.Heeds || len(instr.States) == 0
		return w, true
	}
	return w, false
}

// calledWait returns the wait that a call is.
func (p *Package) calledWait(w Wait, call *ssa.Call) (Wait, bool) {
	common := call.Common()
	k, s := knownCall(common), p.summaryOf(common)
	if k.Is(vocab.Waits) && k.Duration >= 0 && !s.known {
		w.Evidence = k.Evidence
		w.Max = p.longestArgument(common, k.Duration)
		w.Heeds = givenContext(common) != nil
		return w, true
	}
	if k.Is(vocab.Logs) {
		return w, false
	}
	switch {
	case s.Waits != Never:
		w.Max, w.Always = s.Max, s.Waits == Always
		if s.MaxParameter >= 0 && s.MaxParameter < len(common.Args) {
			w.Max = max(w.Max, Longest(common.Args[s.MaxParameter]))
		}
		// What it returns may be that it was interrupted.
		w.Heeds = s.Heeds || s.Blocks || !w.Always || givenContext(common) != nil ||
			common.Signature().Results().Len() > 0
		return w, true
	case s.Blocks, k.Is(vocab.Waits) && !s.known:
		w.Heeds, w.Evidence = true, vocab.Named
		return w, true
	}
	return w, false
}

// knownCall is known for a call that may also be of a function value: one that is given how
// long to wait, and returns nothing, may be named like what waits.
func knownCall(call *ssa.CallCommon) vocab.Known {
	sig := call.Signature()
	if call.IsInvoke() || call.StaticCallee() != nil || sig.Results().Len() > 0 || sig.Params().Len() != 1 ||
		!vocab.IsDuration(sig.Params().At(0).Type()) {
		return known(call)
	}
	return vocab.Known{Role: vocab.Waits, Duration: 0, Evidence: vocab.Named}
}

// isStopped reports whether a receive only empties the channel of a timer that has run out.
func isStopped(receive *ssa.UnOp) bool {
	load, ok := receive.X.(*ssa.UnOp)
	if !ok || timerOf(load) == nil || len(receive.Block().Preds) != 1 {
		return false
	}
	branch := flow.Branch(receive.Block().Preds[0])
	if branch == nil {
		return false
	}
	cond := branch.Cond
	if not, ok := cond.(*ssa.UnOp); ok {
		cond = not.X
	}
	call, ok := cond.(*ssa.Call)
	return ok && known(&call.Call).Is(vocab.Cleans) && flow.Variable(call.Call.Args[0]) == flow.Variable(timerOf(load))
}

// longestArgument returns the largest value of a duration that a call is given.
func (p *Package) longestArgument(call *ssa.CallCommon, index int) time.Duration {
	args := flow.Arguments(call)
	if index < 0 || index >= len(args) || !isNumber(args[index].Type()) {
		return NoLimit
	}
	return Longest(args[index])
}

// timed reports whether a channel belongs to a timer or a ticker, and when it comes at the
// latest.
func (p *Package) timed(ch ssa.Value) (time.Duration, bool) {
	switch ch := ch.(type) {
	case *ssa.Call:
		for i, arg := range ch.Call.Args {
			if vocab.IsDuration(arg.Type()) && isOfTimes(ch.Type()) {
				return Longest(ch.Call.Args[i]), true
			}
		}
	case *ssa.UnOp:
		timer := timerOf(ch)
		if timer == nil {
			break
		}
		if call, ok := timer.(*ssa.Call); ok && vocab.IsTicker(timer.Type()) {
			return p.longestArgument(&call.Call, known(&call.Call).Duration), true
		}
		return NoLimit, true
	}
	return NoLimit, false
}

// isOfTimes reports whether t is a channel of times: a clock sends on it.
func isOfTimes(t types.Type) bool {
	ch, ok := t.Underlying().(*types.Chan)
	return ok && vocab.IsTime(ch.Elem())
}

// Longest returns an upper bound of a duration: NoLimit if none is known.
func Longest(v ssa.Value) time.Duration { return longestWithin(v, 8) }

// longestWithin is longest for an expression of some depth at most.
func longestWithin(v ssa.Value, depth int) time.Duration {
	if depth == 0 {
		return NoLimit
	}
	switch v := v.(type) {
	case *ssa.Const:
		if n, ok := constant.Int64Val(constant.ToInt(v.Value)); ok {
			return time.Duration(n)
		}
	case *ssa.Phi:
		most := time.Duration(0)
		for _, e := range v.Edges {
			if e != ssa.Value(v) {
				most = max(most, longestWithin(e, depth-1))
			}
		}
		return most
	case *ssa.Call:
		return longestCall(v, depth)
	case *ssa.BinOp:
		x, y := longestWithin(v.X, depth-1), longestWithin(v.Y, depth-1)
		switch v.Op {
		case token.MUL:
			if x >= 0 && y > 0 && x <= NoLimit/y {
				return x * y
			}
		case token.ADD:
			if x >= 0 && y >= 0 && x <= NoLimit-y {
				return x + y
			}
		case token.QUO, token.SUB, token.REM:
			return x
		}
	case *ssa.Convert:
		return longestWithin(v.X, depth-1)
	case *ssa.ChangeType:
		return longestWithin(v.X, depth-1)
	}
	return NoLimit
}

// longestCall is longest for the smallest of several durations, and for a random one.
func longestCall(call *ssa.Call, depth int) time.Duration {
	args := call.Call.Args
	least := NoLimit
	if b, ok := call.Call.Value.(*ssa.Builtin); ok {
		if b.Name() == "min" {
			for _, arg := range args {
				least = min(least, longestWithin(arg, depth-1))
			}
		}
		return least
	}
	k := known(&call.Call)
	switch {
	case !k.Is(vocab.Random):
		return least
	case k.Duration >= 0 && len(args) == 2:
		return longestJitter(longestWithin(args[k.Duration], depth-1), args[1-k.Duration])
	}
	if len(args) > 0 && isNumber(args[len(args)-1].Type()) {
		return longestWithin(args[len(args)-1], depth-1)
	}
	if flow.IsBasic(call.Type(), types.IsFloat) {
		return 1 // at most
	}
	return least
}

// longestJitter is longest for a duration to which a random part of it is added: factor times as
// much at most.
func longestJitter(d time.Duration, factor ssa.Value) time.Duration {
	c, ok := factor.(*ssa.Const)
	if !ok || c.Value == nil || !isNumber(c.Type()) || d >= NoLimit/2 {
		return NoLimit
	}
	most := float64(d) * (1 + c.Float64())
	if most >= float64(NoLimit) {
		return NoLimit
	}
	return time.Duration(most)
}

// parameter returns the index of the parameter of its function that says how long a call waits,
// or -1.
func (w Wait) parameter() int {
	call, ok := w.At.(*ssa.Call)
	if !ok || w.Max != NoLimit {
		return -1
	}
	for _, arg := range call.Call.Args {
		p, ok := flow.Source(arg, flow.Renamed|flow.Converted).(*ssa.Parameter)
		if ok && vocab.IsDuration(arg.Type()) {
			return slices.Index(call.Parent().Params, p)
		}
	}
	return -1
}
