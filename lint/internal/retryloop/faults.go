package retryloop

import (
	"go/constant"
	"go/token"
	"go/types"
	"iter"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// Hidden returns where a function of a retry returns a nil error although the
// context ended.
func (r Retry) Hidden() (found []*ssa.Return) {
	if r.operands == countingOperands || r.operands.areNew() || r.recognised || !returnsError(r.Call.Parent()) {
		return nil
	}
	if !r.succeeded.mayReturn() || !slices.ContainsFunc(returnsOf(r.succeeded.outside()), mayBeNil) || r.servesBehind() {
		return nil // the function goes on as long as it may
	}
	cycle := r.failed.cycle()
	for _, b := range r.failed.loop.list {
		branch, ok := terminator(b).(*ssa.If)
		if !ok || !cycle[b] || contextAsked(branch.Cond) == nil {
			continue
		}
		for _, s := range b.Succs {
			if ret := plainReturn(s); !cycle[s] && ret != nil && !slices.Contains(found, ret) && !r.saysNo(ret) {
				found = append(found, ret)
			}
		}
	}
	return found
}

// saysNo reports whether a return says by another result that it is not that of a
// success: by a bool, or by a value to go on with.
func (r Retry) saysNo(ret *ssa.Return) bool {
	for i := range ret.Results {
		said, ok := returned(ret, i).(*ssa.Const)
		if !ok || said.Value == nil {
			continue
		}
		if said.Value.Kind() != constant.Bool {
			if !isZero(said) {
				return true
			}
			continue
		}
		if !slices.ContainsFunc(returnsOf(r.succeeded.outside()), func(other *ssa.Return) bool {
			c, ok := returned(other, i).(*ssa.Const)
			return ok && other != ret && c.Value != nil && constant.Compare(c.Value, token.EQL, said.Value)
		}) {
			return true
		}
	}
	return false
}

// mayBeNil reports whether a return gives back no error, or one of which nobody has seen
// that it is none.
func mayBeNil(ret *ssa.Return) bool {
	err := returnedError(ret)
	if isAnswered(err, ret.Block(), true) {
		return false
	}
	for b := ret.Block(); b.Idom() != nil; b = b.Idom() {
		branch, ok := terminator(b.Idom()).(*ssa.If)
		if !ok || len(b.Preds) != 1 || asksForOne(branch) != b {
			continue
		}
		if cmp, ok := branch.Cond.(*ssa.BinOp); ok && cmp.X == err && !isNil(cmp.Y) {
			return false // it is that of a variable
		}
	}
	return true
}

// servesBehind reports whether, after a success, the function goes on behind the loop until
// a context, or what it has started, ends: what it has tried is how it begins.
func (r Retry) servesBehind() bool {
	for b := range r.succeeded.outside() {
		if slices.ContainsFunc(b.Instrs, func(instr ssa.Instruction) bool {
			if call, ok := instr.(*ssa.Call); ok {
				return GivenContext(call) != nil && runner.MatchString(nameOf(call)) || nameOf(call) == "Wait" && receiverOf(call) != nil
			}
			return receivesEnd(instr)
		}) {
			return true
		}
	}
	return false
}

// Emptied returns where a function returns, because a context has ended, the error of a
// call that its loop makes again, which has succeeded there: it is nil.
func Emptied(fn *ssa.Function) (found []*ssa.Return) {
	if !returnsError(fn) {
		return nil
	}
	for _, l := range loops(fn) {
		for _, b := range fn.Blocks {
			branch, ok := terminator(b).(*ssa.If)
			if !ok || !l.header.Dominates(b) {
				continue
			}
			ctx, ended := endOf(branch)
			if ctx == nil || NeverEnds(ctx) {
				continue
			}
			ret, ok := terminator(ended).(*ssa.Return)
			if !ok || slices.Contains(found, ret) {
				continue
			}
			err := returnedError(ret)
			if made := blockOf(err); made != nil && l.blocks[made] && l.innermost[made] == l && isKnownNil(err, ended) {
				found = append(found, ret)
			}
		}
	}
	return found
}

// isKnownNil reports whether an error is nil wherever block b runs.
func isKnownNil(err ssa.Value, b *ssa.BasicBlock) bool {
	if joined, ok := err.(*ssa.Phi); ok {
		for i, edge := range joined.Edges {
			pred := joined.Block().Preds[i]
			justAsked := isCompared(edge, pred) && failingEdge(pred) != joined.Block()
			if !isNil(edge) && !justAsked && !isKnownNilFrom(edge, pred) {
				return false
			}
		}
		return true
	}
	return isKnownNilFrom(err, b)
}

// isKnownNilFrom reports whether block b only runs where the error of a call is nil.
func isKnownNilFrom(err ssa.Value, b *ssa.BasicBlock) bool {
	if _, ok := err.(*ssa.Extract); !ok {
		if _, ok := err.(*ssa.Call); !ok {
			return false
		}
	}
	return !b.Dominates(blockOf(err)) && isAnswered(err, b, false)
}

// isAnswered reports whether block b only runs where an error was asked for, and was not
// nil, or was nil.
func isAnswered(err ssa.Value, b *ssa.BasicBlock, failed bool) bool {
	for ; b.Idom() != nil; b = b.Idom() {
		if at := b.Idom(); len(b.Preds) == 1 && isCompared(err, at) && (failingEdge(at) == b) == failed {
			return true
		}
	}
	return false
}

// isCompared reports whether a block ends by asking whether an error is nil.
func isCompared(err ssa.Value, b *ssa.BasicBlock) bool {
	branch, ok := terminator(b).(*ssa.If)
	if !ok {
		return false
	}
	cmp, ok := branch.Cond.(*ssa.BinOp)
	return ok && cmp.X == err && isNil(cmp.Y)
}

// plainReturn returns the return of a nil error that b is, or leads to, without
// doing anything but to log.
func plainReturn(b *ssa.BasicBlock) *ssa.Return {
	for range 3 {
		for _, instr := range b.Instrs {
			switch instr := instr.(type) {
			case *ssa.Return:
				if isNil(returnedError(instr)) {
					return instr
				}
			case *ssa.Store:
				if !setsResult(instr) && !isTellersArgument(instr.Addr) {
					return nil
				}
			case *ssa.Call:
				if !isLogged(instr) {
					return nil
				}
			case *ssa.Send, *ssa.Phi, *ssa.MapUpdate:
				return nil
			}
		}
		if len(b.Succs) != 1 {
			return nil
		}
		b = b.Succs[0]
	}
	return nil
}

// isLogged reports whether a call is a part of telling a log something: the caller does not
// hear of it.
func isLogged(call *ssa.Call) bool {
	if fn := call.Common().StaticCallee(); isNamed(fn, "fmt", "Fprint", "Fprintf", "Fprintln") {
		return isOfPackageVariable(root(call.Common().Args[0])) || isPackageVariable(root(call.Common().Args[0])) // os.Stderr
	}
	return isTold(call) || isBuiltin(call) || isGotten(call)
}

// setsResult reports whether a store only sets what the same block returns.
func setsResult(store *ssa.Store) bool {
	block := store.Block().Instrs
	ret, ok := block[len(block)-1].(*ssa.Return)
	return ok && slices.ContainsFunc(ret.Results, func(v ssa.Value) bool { return isLoadOf(v, store.Addr) })
}

// Defers returns the defers that each failed attempt of a retry adds, of which
// none runs before the function ends. What is deferred under a condition may be
// so once.
func (r Retry) Defers() (found []*ssa.Defer) {
	if r.operands == countingOperands || r.operands.areNew() {
		return nil // each round may be about something else
	}
	cycle := r.failed.cycle()
	for _, b := range r.failed.loop.list {
		for _, instr := range b.Instrs {
			if d, ok := instr.(*ssa.Defer); ok && cycle[b] && r.isInEach(b) {
				found = append(found, d)
			}
		}
	}
	return found
}

// isInEach reports whether block b runs in every attempt that fails.
func (r Retry) isInEach(b *ssa.BasicBlock) bool {
	w := r.failed
	if b.Dominates(r.Call.Block()) || r.Call.Block().Dominates(b) && b.Dominates(w.from) {
		return true
	}
	return w.blocks[b] && !slices.ContainsFunc(w.loop.header.Preds, func(pred *ssa.BasicBlock) bool {
		return w.enters(pred) && !b.Dominates(pred)
	})
}

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
	again := func(call *ssa.Call) bool { return call.Common().StaticCallee() == recursion.Parent() } // at another place, too
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

// usesOf yields what uses a number, or what is computed from it, with the one of them that is
// used: also what those calls return of which through says so.
func usesOf(v ssa.Value, through func(*ssa.Call) bool) iter.Seq2[ssa.Value, ssa.Instruction] {
	return func(yield func(ssa.Value, ssa.Instruction) bool) {
		seen := map[ssa.Value]bool{v: true}
		for todo := []ssa.Value{v}; len(todo) > 0; {
			v := todo[0]
			todo = todo[1:]
			if v.Referrers() == nil {
				continue
			}
			for _, use := range *v.Referrers() {
				if !yield(v, use) {
					return
				}
				switch use := use.(type) {
				case *ssa.BinOp, *ssa.Convert, *ssa.ChangeType, *ssa.Phi:
				case *ssa.Call:
					if through == nil || !through(use) {
						continue
					}
				default:
					continue
				}
				if next := use.(ssa.Value); !seen[next] {
					seen[next] = true
					todo = append(todo, next)
				}
			}
		}
	}
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
		if !ok || isNoAttempt(tried) || reads(tried.Common().StaticCallee(), 2) || tried.Common().StaticCallee() == call.Parent() {
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
		return instr == recursion || isTold(instr) || isBuiltin(instr) || sleeps(instr) != nil || asksForError(instr) || types.Identical(instr.Type(), types.Typ[types.Bool])
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
			return isPointer && slices.ContainsFunc(recursion.Parent().Params, func(p *ssa.Parameter) bool { return root(arg) == p })
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

// Overflows returns the powers that a delay is made of, as whole numbers, of a number of
// attempts that nothing bounds, the delay itself neither, but for what is capped
// afterwards. A delay without a cap takes centuries to overflow.
func Overflows(fn *ssa.Function) (found []ssa.Value) {
	for _, l := range loops(fn) {
		for _, b := range l.list {
			for _, instr := range b.Instrs {
				power, ok := instr.(ssa.Value)
				if ok && l.innermost[b] == l && l.isFreePower(power) && becomesDuration(power, 5) && isCapped(power) && !isGuarded(power) && !l.endsBy(power) {
					found = append(found, power)
				}
			}
		}
	}
	return found
}

// isFreePower reports whether v is shifted by, or has as its exponent, a number that the
// loop counts up and never compares.
func (l *loop) isFreePower(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.BinOp:
		return v.Op == token.SHL && l.isFreeCounter(v.Y)
	case *ssa.Convert:
		return isInteger(v.Type()) && l.isFreeFloat(v.X, 4)
	}
	return false
}

// isFreeFloat reports whether v is a power of that kind, or a multiple of one, which is not
// looked at before it is made a whole number: by then it may be capped. It looks depth
// products deep.
func (l *loop) isFreeFloat(v ssa.Value, depth int) bool {
	if depth == 0 || v.Referrers() == nil || slices.ContainsFunc(*v.Referrers(), func(ref ssa.Instruction) bool {
		product, ok := ref.(*ssa.BinOp)
		_, whole := ref.(*ssa.Convert)
		_, debug := ref.(*ssa.DebugRef)
		return !debug && !whole && !(ok && product.Op == token.MUL)
	}) {
		return false
	}
	switch v := v.(type) {
	case *ssa.BinOp:
		return v.Op == token.MUL && (l.isFreeFloat(v.X, depth-1) || l.isFreeFloat(v.Y, depth-1))
	case *ssa.Call:
		if !isNamed(v.Common().StaticCallee(), "math", "Pow") {
			return false
		}
		base, ok := v.Common().Args[0].(*ssa.Const)
		return ok && base.Float64() > 1 && l.isFreeCounter(v.Common().Args[1])
	}
	return false
}

// isFreeCounter reports whether v is made of a variable that the loop counts up
// and never compares.
func (l *loop) isFreeCounter(v ssa.Value) bool {
	for {
		switch x := v.(type) {
		case *ssa.Convert:
			v = x.X
		case *ssa.BinOp:
			if x.Op != token.MUL && x.Op != token.ADD && x.Op != token.SUB {
				return false
			}
			if isConst(x.X) {
				v = x.Y
			} else if isConst(x.Y) {
				v = x.X
			} else {
				return false
			}
		case *ssa.Phi:
			return x.Block() == l.header && l.countsFreely(x)
		default:
			return false
		}
	}
}

func (l *loop) countsFreely(phi *ssa.Phi) bool {
	stepped := false
	for i, edge := range phi.Edges {
		if !l.blocks[l.header.Preds[i]] || edge == phi {
			continue
		}
		step, ok := edge.(*ssa.BinOp)
		if !ok || !isStep(edge, phi) || step.Op != token.ADD || compared(step) {
			return false
		}
		stepped = true
	}
	return stepped && !compared(phi)
}

// endsBy reports whether the loop leaves when a number, or what is computed from
// it, is too large.
func (l *loop) endsBy(v ssa.Value) bool {
	for _, use := range usesOf(v, nil) {
		branch, ok := use.(*ssa.If)
		if ok && slices.ContainsFunc(branch.Block().Succs, func(s *ssa.BasicBlock) bool { return !l.blocks[s] }) {
			return true
		}
	}
	return false
}

// isCapped reports whether a number, or what is computed from it, is compared,
// or given to what returns the smaller of two.
func isCapped(v ssa.Value) bool {
	for of, use := range usesOf(v, nil) {
		switch use := use.(type) {
		case *ssa.Call:
			if len(use.Common().Args) > 1 && types.Identical(use.Type(), of.Type()) {
				return true
			}
		case *ssa.BinOp:
			if types.Identical(use.Type().Underlying(), types.Typ[types.Bool]) {
				return true
			}
		}
	}
	return false
}

// isGuarded reports whether a number, or what is computed from it, is compared with 0, or
// given to what returns the greater of two: as what has overflowed is found.
func isGuarded(v ssa.Value) bool {
	isCallOf := func(call *ssa.Call, name string) bool {
		builtin, ok := call.Common().Value.(*ssa.Builtin)
		return ok && builtin.Name() == name
	}
	for _, use := range usesOf(v, func(call *ssa.Call) bool { return isCallOf(call, "min") }) {
		switch use := use.(type) {
		case *ssa.Call:
			if isCallOf(use, "max") {
				return true
			}
		case *ssa.BinOp:
			if types.Identical(use.Type().Underlying(), types.Typ[types.Bool]) && (isZero(use.X) || isZero(use.Y)) {
				return true
			}
		}
	}
	return false
}

// GrowsOn reports whether a number is multiplied, shifted or added to where beyond says that it
// is not looked at.
func GrowsOn(v ssa.Value, beyond func(token.Pos) bool) bool {
	for _, use := range usesOf(v, nil) {
		if sum, ok := use.(*ssa.BinOp); ok && !types.Identical(sum.Type().Underlying(), types.Typ[types.Bool]) && beyond(sum.Pos()) {
			return true
		}
	}
	return false
}

// becomesDuration reports whether a value is, or is part of, a time.Duration.
func becomesDuration(v ssa.Value, depth int) bool {
	if isDuration(v.Type()) {
		return true
	}
	if depth == 0 {
		return false
	}
	return slices.ContainsFunc(*v.Referrers(), func(ref ssa.Instruction) bool {
		switch ref := ref.(type) {
		case *ssa.BinOp, *ssa.Convert, *ssa.ChangeType:
			return becomesDuration(ref.(ssa.Value), depth-1)
		}
		return false
	})
}

func isDuration(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == "Duration" && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "time"
}
