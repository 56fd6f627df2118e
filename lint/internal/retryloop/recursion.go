package retryloop

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// Recursions returns the calls by which fn tries the same again, for ever: in
// answer to an error, with the arguments that it was given, and after nothing
// that could make a difference.
func Recursions(fn *ssa.Function) (found []*ssa.Call) {
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			call, ok := instr.(*ssa.Call)
			if !ok {
				continue
			}
			if args, ok := recursion(call, fn); ok && sameArguments(call, args) && answersFailure(call) {
				found = append(found, call)
			}
		}
	}
	return found
}

// recursion returns with which arguments a call is of fn, if it is, or of a function that
// only tells of the failure, waits, and calls fn.
func recursion(call *ssa.Call, fn *ssa.Function) (args []ssa.Value, ok bool) {
	if isItself(call, fn) {
		return call.Common().Args, true
	}
	between := call.Common().StaticCallee()
	if between == nil || between.Pkg != fn.Pkg || between == fn || slices.ContainsFunc(between.Blocks, ends) {
		return nil, false
	}
	var again *ssa.Call
	if anyInstr(between, func(instr ssa.Instruction) bool {
		switch instr := instr.(type) {
		case *ssa.Call:
			if again == nil && isItself(instr, fn) && isAlwaysRun(instr.Block()) {
				again = instr
				return false
			}
			return !isTold(instr) && !isBuiltin(instr) && sleeps(instr) == nil
		case *ssa.Store:
			_, local := root(instr.Addr).(*ssa.Alloc)
			return !local
		case *ssa.MapUpdate, *ssa.Send, *ssa.Select, *ssa.Go, *ssa.Defer, *ssa.Panic:
			return true
		}
		return false
	}) || again == nil {
		return nil, false
	}
	for _, arg := range again.Common().Args {
		p, isParameter := arg.(*ssa.Parameter)
		if !isParameter && !isConst(arg) {
			return nil, false
		}
		if isParameter {
			arg = call.Common().Args[slices.Index(between.Params, p)]
		}
		args = append(args, arg)
	}
	return args, true
}

// isItself reports whether a call is of fn, or of the instance of fn that it is, or of the
// variable that holds nothing but the literal fn.
func isItself(call *ssa.Call, fn *ssa.Function) bool {
	if callee := call.Common().StaticCallee(); callee != nil {
		return callee == fn || callee.Origin() == fn
	}
	load, ok := call.Common().Value.(*ssa.UnOp)
	if !ok || call.Common().IsInvoke() {
		return false
	}
	captured, ok := load.X.(*ssa.FreeVar)
	if !ok || fn.Parent() == nil || captured.Parent() != fn {
		return false
	}
	return anyInstr(fn.Parent(), func(instr ssa.Instruction) bool {
		literal, ok := instr.(*ssa.MakeClosure)
		if !ok || literal.Fn != ssa.Value(fn) {
			return false
		}
		variable, ok := literal.Bindings[slices.Index(fn.FreeVars, captured)].(*ssa.Alloc)
		return ok && OnlyStored(variable) == ssa.Value(literal) && !isWrittenElsewhere(variable)
	})
}

// sameArguments reports whether a function calls itself with what it was given, or with
// a count of the attempts that it never compares, and that only paces them.
func sameArguments(call *ssa.Call, args []ssa.Value) bool {
	for i, arg := range args {
		p := call.Parent().Params[i]
		if isStep(arg, p) && onlyPaces(p, call) {
			continue
		}
		if arg != ssa.Value(p) {
			return false
		}
	}
	return true
}

// onlyPaces reports whether nothing is done with a number, and with what is computed
// from it, but to wait, to tell somebody, and to hand it on to a recursion.
func onlyPaces(v ssa.Value, recursion *ssa.Call) bool {
	again := func(call *ssa.Call) bool {
		return call.Common().StaticCallee() == recursion.Parent()
	} // at another place, too
	numbers := func(call *ssa.Call) bool {
		basic, ok := call.Type().Underlying().(*types.Basic)
		return ok && basic.Info()&types.IsNumeric != 0 && !again(call)
	}
	for _, use := range usesOf(v, numbers) {
		switch use := use.(type) {
		case *ssa.DebugRef, *ssa.Convert, *ssa.ChangeType, *ssa.Phi:
			continue
		case *ssa.MakeInterface:
			if isOnlyTold(use, 4) {
				continue
			}
		case *ssa.BinOp:
			if !types.Identical(use.Type().Underlying(), types.Typ[types.Bool]) {
				continue
			}
		case *ssa.Call:
			if again(use) || sleeps(use) != nil || numbers(use) {
				continue
			}
		}
		return false
	}
	return true
}

// isAlwaysRun reports whether no branch before block b returns instead.
func isAlwaysRun(b *ssa.BasicBlock) bool {
	return !slices.ContainsFunc(b.Parent().Blocks, func(before *ssa.BasicBlock) bool {
		return len(before.Succs) == 0 && before != b.Parent().Recover && !b.Dominates(before)
	})
}

// asksSetting reports whether a condition compares a setting of an object with a constant: it
// holds each time, or never.
func asksSetting(cond ssa.Value) bool {
	cmp, ok := cond.(*ssa.BinOp)
	if !ok || !isConst(cmp.Y) {
		return false
	}
	load, ok := cmp.X.(*ssa.UnOp)
	if !ok || load.Op != token.MUL {
		return false
	}
	field, ok := load.X.(*ssa.FieldAddr)
	return ok && isSettled(field)
}

// answersFailure reports whether each condition on the way to a call asks nothing but
// whether an earlier call failed, or with which error where nothing is done but to tell of
// it and to wait, and at least one does. What is given a context fails when that ends, and is
// called again all the same, unless something asks which error it was.
func answersFailure(call *ssa.Call) bool {
	failed, quiet, waits := false, true, false
	var classes []ssa.Value
	for b := call.Block(); b.Idom() != nil; b = b.Idom() {
		at := b.Idom()
		for _, instr := range b.Instrs {
			if matters(instr, call) {
				return false
			}
			quiet = quiet && onlyTells(instr, call)
			waits = waits || isTimedWait(instr)
		}
		branch, ok := terminator(at).(*ssa.If)
		if !ok || asksSetting(branch.Cond) {
			continue
		}
		err, fails := askedError(branch, b, call)
		if err == nil {
			classes = append(classes, branch.Cond)
			continue
		}
		tried, ok := errorCall(err)
		if !ok || isNoAttempt(tried) || reads(tried.Common().StaticCallee(), 2) ||
			tried.Common().StaticCallee() == call.Parent() {
			return false
		}
		_, asksClass := branch.Cond.(*ssa.Call)
		if ctx := GivenContext(tried); ctx != nil && !NeverEnds(ctx) && (asksClass || !fails || len(classes) > 0) {
			return false
		}
		failed = failed || fails
		if asksClass && !fails {
			classes = append(classes, branch.Cond)
		}
		if at == tried.Block() {
			other := slices.ContainsFunc(classes, func(cond ssa.Value) bool { return !asksWhich(cond, err) })
			if other || len(classes) > 0 && !(quiet && (waits || triesTheGiven(tried))) {
				return false
			}
			// What stands before the attempt is part of the attempt.
			return failed && isAlwaysRun(at) && !countsBefore(at)
		}
	}
	return false
}

// onlyTells reports whether an instruction on the way to a recursion computes, tells of a
// failure, asks about it or waits.
func onlyTells(instr ssa.Instruction, recursion *ssa.Call) bool {
	switch instr := instr.(type) {
	case *ssa.Call:
		return instr == recursion || isTold(instr) || isBuiltin(instr) || sleeps(instr) != nil || asksForError(instr) ||
			types.Identical(instr.Type(), types.Typ[types.Bool])
	case *ssa.Defer, *ssa.Go, *ssa.Send, *ssa.MapUpdate:
		return false
	}
	return true
}

// triesTheGiven reports whether a call is made with nothing but what its function was given,
// and constants: another attempt makes up nothing else.
func triesTheGiven(call *ssa.Call) bool {
	return !slices.ContainsFunc(append(slices.Clone(call.Common().Args), call.Common().Value), func(v ssa.Value) bool {
		switch root(v).(type) {
		case *ssa.Parameter, *ssa.Const, *ssa.Function, *ssa.Global:
			return false
		}
		return true
	})
}

// asksWhich reports whether a condition asks nothing but which error it was: it calls what is
// given that, or its text, or compares a field of what errors.As has made of it.
func asksWhich(cond, err ssa.Value) bool {
	switch cond := cond.(type) {
	case *ssa.Call:
		return slices.ContainsFunc(cond.Common().Args, func(arg ssa.Value) bool {
			text, ok := arg.(*ssa.Call)
			return arg == err || ok && receiverOf(text) == err
		})
	case *ssa.BinOp:
		target, ok := root(cond.X).(*ssa.Alloc)
		return ok && isConst(cond.Y) && slices.ContainsFunc(*err.Referrers(), func(ref ssa.Instruction) bool {
			as, ok := ref.(*ssa.Call)
			return ok && isNamed(as.Common().StaticCallee(), "errors", "As") && targetOf(as.Common().Args[1]) == target
		})
	}
	return false
}

// countsBefore reports whether an attempt, which ends with block b, steps what it keeps: it may
// be about the next thing each time.
func countsBefore(b *ssa.BasicBlock) bool {
	for ; b != nil; b = b.Idom() {
		if slices.ContainsFunc(b.Instrs, func(instr ssa.Instruction) bool {
			store, ok := instr.(*ssa.Store)
			return ok && steps(store)
		}) {
			return true
		}
	}
	return false
}

// matters reports whether an instruction between the failure and the recursion
// may change what the next attempt finds.
func matters(instr ssa.Instruction, recursion *ssa.Call) bool {
	switch instr := instr.(type) {
	case *ssa.Store:
		_, local := root(instr.Addr).(*ssa.Alloc)
		return !local
	case *ssa.MapUpdate, *ssa.Send, *ssa.Select, *ssa.Go:
		return true
	case *ssa.Call:
		if instr == recursion {
			return false
		}
		return slices.ContainsFunc(instr.Common().Args, func(arg ssa.Value) bool {
			_, isPointer := arg.Type().Underlying().(*types.Pointer)
			return isPointer && slices.ContainsFunc(recursion.Parent().Params, func(p *ssa.Parameter) bool {
				return root(arg) == p
			})
		})
	}
	return false
}

// askedError returns the error that a branch compares with nil or asks for its class,
// and whether block b then answers a failure. One class alone does where the function
// counts how often it calls itself: others were not faster.
func askedError(branch *ssa.If, b *ssa.BasicBlock, recursion *ssa.Call) (err ssa.Value, fails bool) {
	switch cond := branch.Cond.(type) {
	case *ssa.BinOp:
		if isError(cond.X.Type()) {
			return cond.X, isNil(cond.Y) && failingEdge(branch.Block()) == b
		}
	case *ssa.Call:
		if isNamed(cond.Common().StaticCallee(), "errors", "Is") {
			counts := slices.ContainsFunc(recursion.Common().Args, func(arg ssa.Value) bool {
				_, step := arg.(*ssa.BinOp)
				return step
			})
			return cond.Common().Args[0], counts && branch.Block().Succs[0] == b
		}
	}
	return nil, false
}

func errorCall(v ssa.Value) (*ssa.Call, bool) {
	if x, ok := v.(*ssa.Extract); ok {
		v = x.Tuple
	}
	call, ok := v.(*ssa.Call)
	return call, ok
}
