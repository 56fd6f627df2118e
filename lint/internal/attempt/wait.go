package attempt

import (
	"go/token"
	"go/types"
	"math"
	"slices"
	"time"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// NoLimit is the maximum duration of a wait whose duration is unknown.
const NoLimit = time.Duration(math.MaxInt64)

// A Wait is an instruction that blocks for a time.
type Wait struct {
	At       ssa.Instruction
	Max      time.Duration // the maximum duration; NoLimit if it is unknown
	Delay    ssa.Value     // the duration, if only this and the end of a context end the wait; or nil
	Timed    bool          // it ends at a certain time, unless something ends it earlier
	Heeds    bool          // it ends early with a context, or with something that may be one
	Always   bool          // it waits whenever it is executed
	Evidence vocab.Evidence
}

// waits returns the waits between Op and its next execution.
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

// isOn reports whether a block is on a path to the next execution.
func isOn(run *flow.Run, b *ssa.BasicBlock) bool { return run.IsReached(b) && run.Repeats(b) }

// wait returns the wait that an instruction represents. The second result is false if the
// instruction does not block.
func (p *Package) wait(instr ssa.Instruction) (Wait, bool) {
	w := Wait{At: instr, Always: true, Evidence: vocab.Proven}
	var channels []ssa.Value
	switch instr := instr.(type) {
	case *ssa.Call:
		return p.calledWait(w, instr)
	case *ssa.UnOp:
		if instr.Op != token.ARROW || isStopped(instr) {
			return w, false
		}
		channels = append(channels, instr.X)
	case *ssa.Select:
		if !instr.Blocking {
			return w, false
		}
		for _, state := range instr.States {
			channels = append(channels, state.Chan)
			w.Heeds = w.Heeds || state.Dir == types.SendOnly
		}
		w.Heeds = w.Heeds || len(channels) == 0
	default:
		return w, false
	}
	given := 0 // the number of channels that do not belong to contexts
	for _, ch := range channels {
		delay, timed := delayOf(ch)
		w.Max = max(w.Max, Longest(delay))
		w.Timed, w.Heeds = w.Timed || timed, w.Heeds || !timed
		if call, ok := ch.(*ssa.Call); !ok || contextAsked(&call.Call) == nil {
			given, w.Delay = given+1, delay
		}
	}
	if given > 1 {
		w.Delay = nil
	}
	return w, true
}

// calledWait returns the wait that a call represents.
func (p *Package) calledWait(w Wait, call *ssa.Call) (Wait, bool) {
	common := call.Common()
	k, s := knownCall(common), p.summaryOf(common)
	if k.Is(vocab.Waits) && k.Duration >= 0 && !s.known {
		w.Evidence = k.Evidence
		w.Delay = durationAt(common, k.Duration)
		w.Max, w.Timed = Longest(w.Delay), true
		w.Heeds = GivenContext(common) != nil
		return w, true
	}
	if k.Is(vocab.Logs) {
		return w, false
	}
	switch {
	case s.Waits != Never:
		w.Max, w.Always, w.Timed = s.Max, s.Waits == Always, true
		if s.MaxParameter >= 0 && s.MaxParameter < len(common.Args) {
			w.Delay = common.Args[s.MaxParameter]
			w.Max = max(w.Max, Longest(w.Delay))
		}
		// The result may report that the wait was interrupted.
		w.Heeds = s.Heeds || s.Blocks || !w.Always || GivenContext(common) != nil ||
			common.Signature().Results().Len() > 0
		return w, true
	case s.Blocks, k.Is(vocab.Waits) && !s.known:
		w.Max, w.Heeds, w.Evidence = NoLimit, true, vocab.Named
		return w, true
	}
	return w, false
}

// knownCall returns what is known about a call, which may also be the call of a function value.
// A function value that takes only a duration and returns nothing is assumed to wait.
func knownCall(call *ssa.CallCommon) vocab.Known {
	sig := call.Signature()
	if call.IsInvoke() || call.StaticCallee() != nil || sig.Results().Len() > 0 || sig.Params().Len() != 1 ||
		!vocab.IsDuration(sig.Params().At(0).Type()) {
		return known(call)
	}
	return vocab.Known{Role: vocab.Waits, Duration: 0, Evidence: vocab.Named}
}

// isStopped reports whether a receive only drains the channel of a timer that has expired.
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

// durationAt returns the argument of a call at an index if it is a number, or nil.
func durationAt(call *ssa.CallCommon, index int) ssa.Value {
	args := flow.Arguments(call)
	if index < 0 || index >= len(args) || !isNumber(args[index].Type()) {
		return nil
	}
	return args[index]
}

// delayOf reports whether a channel belongs to a timer or a ticker. It also returns the maximum
// delay until a value arrives, or nil.
func delayOf(ch ssa.Value) (delay ssa.Value, timed bool) {
	switch ch := ch.(type) {
	case *ssa.Call:
		i := slices.IndexFunc(ch.Call.Args, func(arg ssa.Value) bool { return vocab.IsDuration(arg.Type()) })
		if i >= 0 && isOfTimes(ch.Type()) {
			return ch.Call.Args[i], true
		}
	case *ssa.UnOp:
		timer := timerOf(ch)
		if call, ok := timer.(*ssa.Call); ok && vocab.IsTicker(timer.Type()) {
			return durationAt(&call.Call, known(&call.Call).Duration), true
		}
		return nil, timer != nil
	}
	return nil, false
}

// isOfTimes reports whether t is a channel of times, on which a clock sends.
func isOfTimes(t types.Type) bool {
	ch, ok := t.Underlying().(*types.Chan)
	return ok && vocab.IsTime(ch.Elem())
}

// Longest returns an upper bound of a duration, or NoLimit if none is known.
func Longest(v ssa.Value) time.Duration {
	x := newNumbers()
	x.most = true
	if d, ok := x.int(v, 0); ok {
		return time.Duration(d)
	}
	return NoLimit
}

// Unit returns the constant factor of a wait's duration, such as time.Second, or an hour if it
// is unknown.
func (w Wait) Unit() time.Duration {
	if product, ok := flow.Source(w.Delay, flow.Renamed|flow.Converted).(*ssa.BinOp); ok && product.Op == token.MUL {
		for _, factor := range []ssa.Value{product.X, product.Y} {
			if n, ok := flow.IntOf(factor); ok {
				return time.Duration(n)
			}
		}
	}
	return time.Hour
}

// parameter returns the index of the parameter, of the wait's function, that contains its
// duration, or -1.
func (w Wait) parameter() int {
	p, _ := flow.Source(w.Delay, flow.Renamed|flow.Converted).(*ssa.Parameter)
	return slices.Index(w.At.Parent().Params, p)
}
