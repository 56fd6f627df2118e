package retryloop

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// tires reports whether the callee says by itself that it was tried for long enough: it
// counts or asks a clock, and a way out asks for an error that it makes up.
func (r *Retry) tires() bool {
	fn := r.Call.Common().StaticCallee()
	if fn == nil || len(fn.Blocks) == 0 || !r.LeavesFor(fn) && !r.leavesForTypeOf(fn) {
		return false
	}
	return anyInstr(fn, func(instr ssa.Instruction) bool {
		switch instr := instr.(type) {
		case *ssa.Store:
			return steps(instr)
		case *ssa.Call:
			return isClock(instr.Common().StaticCallee())
		}
		return false
	})
}

// leavesForTypeOf reports whether the retry ends for an error of a type of which a function
// makes one.
func (r *Retry) leavesForTypeOf(fn *ssa.Function) bool {
	cycle := r.failed.cycle()
	for _, b := range r.failed.loop.list {
		branch, ok := terminator(b).(*ssa.If)
		if !ok || !cycle[b] || cycle[b.Succs[0]] {
			continue
		}
		as, ok := branch.Cond.(*ssa.Call)
		if !ok || !isNamed(as.Common().StaticCallee(), "errors", "As") {
			continue
		}
		target := targetOf(as.Common().Args[1])
		if target == nil {
			continue
		}
		wanted := target.Type().(*types.Pointer).Elem()
		if anyInstr(fn, func(instr ssa.Instruction) bool {
			made, ok := instr.(*ssa.MakeInterface)
			return ok && types.Identical(made.X.Type(), wanted)
		}) {
			return true
		}
	}
	return false
}

// mayExit reports whether the cycle calls a function that may end the program when it has been
// called often enough, or for long enough: it is given a number that counts, or it may do
// otherwise the next time, or when somebody has stopped. Of other packages that is not seen.
func (r *Retry) mayExit(cycle map[*ssa.BasicBlock]bool) bool {
	for b := range cycle {
		for _, instr := range b.Instrs {
			call, ok := instr.(*ssa.Call)
			if !ok || call == r.Call {
				continue
			}
			fn, counted := call.Common().StaticCallee(), slices.ContainsFunc(call.Common().Args, r.counts)
			if counted && isHidden(fn) && call.Common().Signature().Results().Len() == 0 && !isLogged(call) {
				return true // what else is it told for
			}
			if fn == nil || !exits(fn) {
				continue
			}
			if remembers(fn, 3) || AsksToStop(fn) || counted {
				return true
			}
		}
	}
	return false
}

// isHidden reports whether a function is not known, or of another package.
func isHidden(fn *ssa.Function) bool { return fn == nil || len(fn.Blocks) == 0 }

// exits reports whether a function may end the program, or its test.
func exits(fn *ssa.Function) bool {
	return slices.ContainsFunc(fn.Blocks, func(b *ssa.BasicBlock) bool {
		panics := len(b.Succs) == 0 && !isEndOf(b)
		return panics && !(len(b.Preds) == 1 && noCase(b.Preds[0]) == b) || ends(b)
	})
}

// isWatched reports whether the function starts a timer before the loop that ends the
// program, or its test, in a while.
func (l *loop) isWatched() bool {
	return anyInstr(l.header.Parent(), func(instr ssa.Instruction) bool {
		start, ok := instr.(*ssa.Call)
		return ok && isNamed(start.Common().StaticCallee(), "time", "AfterFunc") && precedes(start, terminator(l.header)) &&
			!l.blocks[start.Block()] &&
			slices.ContainsFunc(givenTo(start.Common())[1:], exits)
	})
}
