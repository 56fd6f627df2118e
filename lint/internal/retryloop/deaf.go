package retryloop

import (
	"regexp"
	"slices"
	"sync"

	"golang.org/x/tools/go/ssa"
)

// A DeafWait is a wait in a loop that tries or asks the same again, which
// nothing can cut short although a context is at hand.
type DeafWait struct {
	Instr   ssa.Instruction // a call of Sleep, or a receive from a timer or ticker
	Context ssa.Value       // lives through the loop
}

// DeafWaits returns the waits of fn that ignore a live context.
func DeafWaits(fn *ssa.Function) (found []DeafWait) {
	for _, l := range loops(fn) {
		// Only loops that wait are looked at.
		judged := sync.OnceValues(l.triesAgain)
		for _, b := range l.list {
			if l.innermost[b] != l {
				continue
			}
			for _, instr := range b.Instrs {
				if !isPlainWait(instr) || endedAt(b) || hasNone(b) || ends(b) || isInstead(instr) {
					continue
				}
				why, between := judged()
				if !between[b] || l.isDetached() {
					continue
				}
				if ctx := l.contextToWaitFor(why, b); ctx != nil {
					found = append(found, DeafWait{instr, ctx})
				}
			}
		}
	}
	return append(append(found, deafRecursion(fn)...), deafBetween(fn)...)
}

// hook names what is told what to do after a failure, before the next attempt.
var hook = regexp.MustCompile(
	`(?i)^(with_?|set_?)?(between|before|after|on)_?(each|every|failed|next)?_?(attempts?|retry|retries|tries)$`)

// deafBetween returns the waits of a function literal that is given to what calls it between
// attempts, where another literal, given the context, is what is tried.
func deafBetween(fn *ssa.Function) (found []DeafWait) {
	if fn.Parent() == nil || !anyInstr(fn, isPlainWait) {
		return nil
	}
	ctx := contextTriedWith(fn)
	if ctx == nil {
		return nil
	}
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			if isPlainWait(instr) && !inLoop(b) && !endedAt(b) {
				found = append(found, DeafWait{instr, ctx})
			}
		}
	}
	return found
}

// contextTriedWith returns the context that a literal is given which is tried, where another
// one is what is done between attempts, or nil.
func contextTriedWith(between *ssa.Function) ssa.Value {
	outer := between.Parent()
	for _, b := range outer.Blocks {
		for _, instr := range b.Instrs {
			option, ok := instr.(*ssa.Call)
			if !ok || !hook.MatchString(nameOf(option)) ||
				!slices.ContainsFunc(allArguments(option), func(arg ssa.Value) bool { return isLiteral(arg, between) }) {
				continue
			}
			ctx := liveContext(outer, b, isLive)
			tries := func(instr ssa.Instruction) bool {
				call, ok := instr.(*ssa.Call)
				if !ok {
					return false
				}
				args := allArguments(call)
				return (call == option || slices.Contains(args, ssa.Value(option))) &&
					slices.ContainsFunc(outer.AnonFuncs, func(tried *ssa.Function) bool {
						return tried != between && slices.ContainsFunc(args, func(arg ssa.Value) bool {
							return isLiteral(arg, tried)
						}) && Gives(tried, ctx)
					})
			}
			if ctx != nil && anyInstr(outer, tries) {
				return ctx
			}
		}
	}
	return nil
}

// allArguments returns what a call is given, also in a list that is made for it.
func allArguments(call *ssa.Call) (args []ssa.Value) {
	for _, arg := range call.Common().Args {
		args = append(args, arg)
		if list, ok := arg.(*ssa.Slice); ok {
			args = append(args, contents(list.X)...)
		}
	}
	return args
}

// isLiteral reports whether v is a function literal.
func isLiteral(v ssa.Value, fn *ssa.Function) bool {
	if conv, ok := v.(*ssa.ChangeType); ok {
		v = conv.X
	}
	made, ok := v.(*ssa.MakeClosure)
	return v == ssa.Value(fn) || ok && made.Fn == ssa.Value(fn)
}

// isInstead reports whether an instruction calls a function value where there is one, as
// those do that tests replace: what waits otherwise is elsewhere.
func isInstead(instr ssa.Instruction) bool {
	call, ok := instr.(*ssa.Call)
	return ok && call.Common().StaticCallee() == nil && !call.Common().IsInvoke() &&
		isOnlyIf(call.Common().Value, call.Block())
}

// deafRecursion returns the waits before a function calls itself again with the same context.
func deafRecursion(fn *ssa.Function) (found []DeafWait) {
	again := func(b *ssa.BasicBlock) bool {
		return slices.ContainsFunc(b.Instrs, func(instr ssa.Instruction) bool {
			call, ok := instr.(*ssa.Call)
			if !ok || call.Common().StaticCallee() != fn {
				return false
			}
			_, same := GivenContext(call).(*ssa.Parameter)
			return same
		})
	}
	if !slices.ContainsFunc(fn.Blocks, again) {
		return nil
	}
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			if !isPlainWait(instr) || endedAt(b) || hasNone(b) || ends(b) || !reaches(b, again) || inLoop(b) {
				continue
			}
			if ctx := liveContext(fn, b, isLive); ctx != nil {
				found = append(found, DeafWait{instr, ctx})
			}
		}
	}
	return found
}

// inLoop reports whether a block can follow itself.
func inLoop(b *ssa.BasicBlock) bool {
	return slices.ContainsFunc(b.Succs, func(s *ssa.BasicBlock) bool {
		return reaches(s, func(in *ssa.BasicBlock) bool { return in == b })
	})
}

// contextToWaitFor returns a live context that a wait in block b of a loop that tries
// again should look at, or nil.
func (l *loop) contextToWaitFor(why trial, b *ssa.BasicBlock) ssa.Value {
	fn := l.header.Parent()
	if ctx := liveContext(fn, l.header, isLive); ctx != nil {
		return ctx
	}
	if ctx := liveContext(fn, l.header, l.mayBeCancelled); ctx != nil && why != lasts {
		return ctx
	}
	asked := l.contextAsked()
	if isContextOfTest(asked) {
		asked = nil
	}
	if asked != nil && !isFieldRead(asked) && l.gives(asked) {
		return asked
	}
	// That of another object may be meant for all that it does.
	if why == aRetry {
		if asked != nil {
			return asked
		}
		if ctx := l.contextGiven(); ctx != nil {
			return ctx
		}
		if ctx := l.outerGiven(); ctx != nil && isCleanup(fn) {
			return ctx
		}
	}
	if why >= aPoll {
		if req := l.requestGiven(); req != nil {
			return req
		}
	}
	if !l.seesError(b) {
		return nil
	}
	if isFieldRead(asked) {
		return asked
	}
	return l.contextIgnored()
}

// seesError reports whether block b of the loop only runs when an error of the same round
// is not nil.
func (l *loop) seesError(b *ssa.BasicBlock) bool { return seesError(b, l.header) }

// isFieldRead reports whether v is read from a field.
func isFieldRead(v ssa.Value) bool {
	load, ok := v.(*ssa.UnOp)
	if !ok {
		return false
	}
	_, ok = load.X.(*ssa.FieldAddr)
	return ok
}

// contextIgnored returns the context of a field that the loop gives to what it tries
// until that succeeds, for ever if the context has ended, or nil.
func (l *loop) contextIgnored() ssa.Value {
	for _, b := range l.list {
		for _, instr := range b.Instrs {
			call, ok := instr.(*ssa.Call)
			if !ok || GivenContext(call) == nil {
				continue
			}
			if r, ok := l.retry(call); ok && r.IgnoresItsContext() && isFieldRead(r.beforeAttempts(GivenContext(call))) {
				return GivenContext(call)
			}
		}
	}
	return nil
}

// gives reports whether the loop gives a context to what it calls.
func (l *loop) gives(ctx ssa.Value) bool {
	return l.anyInstr(func(instr ssa.Instruction) bool {
		call, ok := instr.(*ssa.Call)
		return ok && GivenContext(call) == ctx
	})
}
