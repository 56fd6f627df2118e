package retryloop

import (
	"go/token"
	"go/types"
	"regexp"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// MayEnd reports whether an operation may say by itself that it was tried often
// enough: it steps a variable that it keeps, asks a context, a channel or a
// clock, or may have nothing to try.
func MayEnd(fn *ssa.Function) bool {
	return maySkip(fn) || anyInstr(fn, func(instr ssa.Instruction) bool {
		switch instr := instr.(type) {
		case *ssa.Store:
			return steps(instr)
		case *ssa.Select:
			return true
		case *ssa.UnOp:
			return instr.Op == token.ARROW
		case *ssa.Call:
			return asksContext(instr) ||
				isClock(instr.Common().StaticCallee())
		}
		return false
	})
}

// AsksToStop reports whether an operation asks a context, or whether somebody has
// stopped.
func AsksToStop(fn *ssa.Function) bool {
	return slices.ContainsFunc(fn.Blocks, func(b *ssa.BasicBlock) bool {
		return whenStopped(b) != nil && !comparesState(b) || slices.ContainsFunc(b.Instrs, func(instr ssa.Instruction) bool {
			call, ok := instr.(*ssa.Call)
			return ok && asksContext(call)
		})
	})
}

// AsksOnce reports whether an operation that answers with a bool and an error never asks to be
// called again: it answers true, or with an error.
func AsksOnce(fn *ssa.Function) bool {
	results := fn.Signature.Results()
	if results.Len() != 2 || !types.Identical(results.At(0).Type(), types.Typ[types.Bool]) ||
		!isError(results.At(1).Type()) {
		return false
	}
	return !slices.ContainsFunc(returnsOf(behind(fn.Blocks[0])), func(ret *ssa.Return) bool {
		err := returnedError(ret)
		made, ok := err.(*ssa.Call)
		return !isBool(returned(ret, 0), true) && !isAnswered(err, ret.Block(), true) &&
			!(ok && makesError.MatchString(nameOf(made)))
	})
}

// makesError names what makes an error of a text, or of another error that is none of nil.
var makesError = regexp.MustCompile(`^(New|Errorf|Wrapf?|WithMessagef?|WithStack)$`)

// comparesState reports whether a block asks for the state of something else: a
// container that has terminated is no program that stops.
func comparesState(b *ssa.BasicBlock) bool {
	branch, ok := terminator(b).(*ssa.If)
	if !ok {
		return false
	}
	switch cond := branch.Cond.(type) {
	case *ssa.BinOp:
		_, chosen := cond.X.(*ssa.Extract) // of a select
		return !chosen
	case *ssa.Call:
		fn := cond.Common().StaticCallee()
		atomic := fn != nil && fn.Pkg != nil && fn.Pkg.Pkg.Path() == "sync/atomic"
		return len(argumentsOf(cond.Common())) > 0 && !atomic
	}
	return false
}

// reached names what is set by a success.
var reached = regexp.MustCompile(
	`(?i)(initiali[sz]ed|connected|ready|loaded|synced|registered|joined|established|succeeded|success)$`)

// maySkip reports whether an operation may return no error before it has tried
// anything: it is told that there is no need any more, and not because it has
// succeeded. One that answers a question as well may only say no.
func maySkip(fn *ssa.Function) bool {
	results := fn.Signature.Results()
	if results.Len() == 0 || !isError(results.At(results.Len()-1).Type()) ||
		types.Identical(results.At(0).Type(), types.Typ[types.Bool]) {
		return false
	}
	return slices.ContainsFunc(fn.Blocks, func(b *ssa.BasicBlock) bool {
		ret, ok := terminator(b).(*ssa.Return)
		return ok && len(b.Preds) > 0 && isNil(returnedError(ret)) && !hasTried(b)
	})
}

// hasTried reports whether something that may fail has run when block b does, or b only runs
// where what a success sets is set.
func hasTried(b *ssa.BasicBlock) bool {
	for at := b; at != nil; at = at.Idom() {
		if slices.ContainsFunc(at.Instrs, func(instr ssa.Instruction) bool {
			call, ok := instr.(*ssa.Call)
			return ok && len(errorsOf(call)) > 0
		}) {
			return true
		}
		if branch, ok := terminator(at).(*ssa.If); ok && at != b && reached.MatchString(nameOfValue(branch.Cond)) {
			return true
		}
	}
	return false
}

// FailsWithContext reports whether an operation may return the error of a call
// because the context of that ended. The context that the operation is given
// itself is for its caller to judge.
func FailsWithContext(fn *ssa.Function) bool {
	return anyInstr(fn, func(instr ssa.Instruction) bool {
		call, ok := instr.(*ssa.Call)
		if !ok {
			return false
		}
		ctx := GivenContext(call)
		_, handedOn := ctx.(*ssa.Parameter)
		return ctx != nil && !handedOn && !NeverEnds(ctx) && isPassedOn(call)
	})
}

// isPassedOn reports whether the error of a call is returned, or given to
// another that may return it.
func isPassedOn(call *ssa.Call) bool {
	for err := range errorsOf(call) {
		if reachesReturn(err, 6) {
			return true
		}
	}
	return false
}

func reachesReturn(v ssa.Value, depth int) bool {
	return depth > 0 && v.Referrers() != nil && slices.ContainsFunc(*v.Referrers(), func(ref ssa.Instruction) bool {
		switch ref := ref.(type) {
		case *ssa.Return:
			return true
		case *ssa.Call:
			results := ref.Common().Signature().Results()
			return results.Len() > 0 && isError(results.At(results.Len()-1).Type())
		case *ssa.Store:
			// fmt.Errorf("…: %w", err): a list of arguments
			at, ok := ref.Addr.(*ssa.IndexAddr)
			return ok && reachesReturn(at.X, depth-1)
		case *ssa.ChangeInterface, *ssa.MakeInterface, *ssa.Slice:
			return reachesReturn(ref.(ssa.Value), depth-1)
		}
		return false
	})
}

// steps reports whether a store changes memory by what it was before.
func steps(store *ssa.Store) bool {
	sum, ok := store.Val.(*ssa.BinOp)
	if !ok {
		return false
	}
	before, ok := sum.X.(*ssa.UnOp)
	return ok && before.Op == token.MUL && root(before.X) == root(store.Addr)
}

// OnlyStored returns what a variable holds, if it is assigned to once.
func OnlyStored(alloc *ssa.Alloc) ssa.Value {
	var only ssa.Value
	for _, ref := range *alloc.Referrers() {
		if store, ok := ref.(*ssa.Store); ok && store.Addr == alloc {
			if only != nil {
				return nil
			}
			only = store.Val
		}
	}
	return only
}

// LiveContext returns a context that somebody may end while instr runs, or nil. Behind the
// end of one there is none.
func LiveContext(instr ssa.Instruction) ssa.Value {
	if endedAt(instr.Block()) || slices.ContainsFunc(before(instr), receivesEnd) {
		return nil
	}
	if ctx := liveContext(instr.Parent(), instr.Block(), isLive); ctx != nil {
		return ctx
	}
	for _, earlier := range before(instr) {
		if v, ok := earlier.(ssa.Value); ok && isLive(v) {
			return v
		}
	}
	return nil
}

// before returns the instructions of its block that run before instr.
func before(instr ssa.Instruction) []ssa.Instruction {
	instrs := instr.Block().Instrs
	return instrs[:slices.Index(instrs, instr)]
}
