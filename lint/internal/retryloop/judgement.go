package retryloop

import (
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/tools/go/ssa"
)

// IgnoresItsContext reports whether the call is given a context that somebody
// may end, and its error then only leads to the next attempt.
func (r Retry) IgnoresItsContext() bool {
	ctx := GivenContext(r.Attempt())
	// What makes the client may well fail when the context has ended, and what runs
	// until then returns no error.
	if r.Bound != Unbounded || ctx == nil || r.remade || runner.MatchString(nameOf(r.Call)) {
		return false
	}
	switch v := r.beforeAttempts(ctx).(type) {
	case *ssa.Parameter:
		return true
	case *ssa.Extract:
		// A deadline of the attempt's own is what a retry is for.
		return !r.failed.loop.blocks[v.Block()] && (isLive(v) || isCancelled(v))
	case *ssa.UnOp:
		if shared, ok := v.X.(*ssa.FreeVar); ok {
			bound := bindingOf(shared)
			_, given := bound.(*ssa.Parameter)
			return given || bound != nil && (isLive(bound) || isCancelled(bound))
		}
		return isKept(v)
	}
	return false
}

var runner = regexp.MustCompile(`^(?i:start|run|serve)([A-Z]|$)`)

// polls names what asks again by itself, and waits in between.
var polls = regexp.MustCompile(`^[pP]oll([A-Z]|$)`)

// AtOnce reports whether a remote call is tried again without a delay, several
// times, by what does nothing about the failure.
func (r Retry) AtOnce(n Network) bool {
	if r.told || !r.isRemote(n) || r.Through() != nil || polls.MatchString(nameOf(r.Call)) ||
		sleepsWithin(r.Call.Common().StaticCallee(), 3) {
		return false
	}
	hurries := func(r Retry) bool { return !r.timesOut() && !r.Waits() && r.insists() }
	// Of what nothing ends RL101 speaks already.
	return hurries(r) ||
		r.Bound != Unbounded && slices.ContainsFunc(r.failed.sides(errorsOf(r.Call)), func(side way) bool {
			same, counted := side.repeats(r.Call)
			r.failed = side
			return same && !counted && hurries(r)
		})
}

// insists reports whether the same is tried several times, and nothing is done about
// the failure.
func (r Retry) insists() bool {
	if r.operands == countingOperands || r.corrects() || r.movesOn() || r.contends() {
		return false
	}
	if r.untiring {
		return true
	}
	limit, counted := r.limit()
	return !r.failed.alters(r.Call) &&
		(counted && (limit == 0 || limit > 2) || !counted && (r.endsLate() || r.endsByBackoff()))
}

// endsByBackoff reports whether the retry ends when the object that says how long to wait
// says that it has been tried for long enough.
func (r Retry) endsByBackoff() bool {
	cycle := r.failed.cycle()
	return slices.ContainsFunc(r.failed.loop.list, func(b *ssa.BasicBlock) bool {
		branch, ok := terminator(b).(*ssa.If)
		if !ok || !cycle[b] || cycle[b.Succs[0]] == cycle[b.Succs[1]] {
			return false
		}
		cmp, ok := branch.Cond.(*ssa.BinOp)
		if !ok || !isConst(cmp.Y) {
			return false
		}
		next, ok := cmp.X.(*ssa.Call)
		return ok && nameOf(next) == "NextBackOff" && isDuration(next.Type())
	})
}

// timesOut reports whether an error leads to the next attempt only if the last has
// run out of time, which it has waited for.
func (r Retry) timesOut() bool {
	return r.goesOnOnlyFor(func(cond ssa.Value) bool {
		asked, ok := cond.(*ssa.Call)
		return asksForTime(cond) || ok && strings.Contains(nameOf(asked), "Timeout")
	})
}

// asksForTime reports whether a condition compares an error with that of a context whose
// time has run out.
func asksForTime(cond ssa.Value) bool {
	one := sentinelOf(cond)
	return one != nil && (isVariable(one, "context", "DeadlineExceeded") || strings.Contains(one.Name(), "Timeout"))
}

var busy = regexp.MustCompile(`(?i)busy|locked`)

// contends reports whether an error leads to the next attempt only if others held
// what it needs, within this machine: as a database in a file says.
func (r Retry) contends() bool {
	return r.goesOnOnlyFor(func(cond ssa.Value) bool {
		instr, ok := cond.(ssa.Instruction)
		if ok &&
			slices.ContainsFunc(instr.Operands(nil), func(op *ssa.Value) bool {
				return isErrno(*op, syscall.EBUSY, syscall.ETXTBSY, syscall.EAGAIN)
			}) {
			return true
		}
		asked, ok := cond.(*ssa.Call)
		return ok && busy.MatchString(nameOf(asked))
	})
}

// goesOnOnlyFor reports whether the next attempt needs a condition to hold, or not to,
// where it is written the other way round.
func (r Retry) goesOnOnlyFor(is func(cond ssa.Value) bool) bool {
	cycle := r.failed.cycle()
	return slices.ContainsFunc(r.failed.loop.list, func(b *ssa.BasicBlock) bool {
		branch, ok := terminator(b).(*ssa.If)
		if !ok || !cycle[b] {
			return false
		}
		on, off := b.Succs[0], b.Succs[1]
		if cmp, ok := branch.Cond.(*ssa.BinOp); ok && cmp.Op == token.NEQ {
			on, off = off, on
		}
		return cycle[on] && !cycle[off] && is(branch.Cond)
	})
}

// endsLate reports whether the retry ends when a clock says that it is late.
func (r Retry) endsLate() bool {
	cycle := r.failed.cycle()
	for b := range cycle {
		branch, ok := terminator(b).(*ssa.If)
		if ok && !(cycle[b.Succs[0]] && cycle[b.Succs[1]]) && readsClock(branch.Cond, 3, map[ssa.Value]bool{}) &&
			!r.failed.loop.asksAnswer(branch.Cond, r.Call, 8) {
			return true
		}
	}
	return false
}

// readsClock reports whether a condition is made of what a clock says. It looks
// depth calls deep into this package.
func readsClock(v ssa.Value, depth int, seen map[ssa.Value]bool) bool {
	if seen[v] {
		return false
	}
	seen[v] = true
	switch v := v.(type) {
	case *ssa.Call:
		fn := v.Common().StaticCallee()
		if isClock(fn) || isOfTime(fn) {
			return true
		}
		return fn != nil && depth > 0 && types.Identical(v.Type(), types.Typ[types.Bool]) &&
			anyInstr(fn, func(instr ssa.Instruction) bool {
				inner, ok := instr.(*ssa.Call)
				return ok && readsClock(inner, depth-1, seen)
			})
	case *ssa.UnOp:
		return readsClock(v.X, depth, seen)
	case *ssa.BinOp:
		return readsClock(v.X, depth, seen) || readsClock(v.Y, depth, seen)
	}
	return false
}

// corrects reports whether a failure is followed by another call whose error
// matters: it may put right what the next attempt needs.
func (r Retry) corrects() bool {
	for b := range r.failed.blocks {
		for _, instr := range b.Instrs {
			call, ok := instr.(*ssa.Call)
			if ok && r.mends(call) {
				return true
			}
			if !ok || call == r.Call || rewinder.MatchString(nameOf(call)) || asksContext(call) || isOfAnswer(call, r.Call) ||
				isBuilt(call) {
				continue
			}
			for err := range errorsOf(call) {
				if compared(err) && !flowsFrom(r.Call, err) {
					return true
				}
			}
		}
	}
	return false
}

// mends reports whether a call is of a function of this package that is given what has failed
// and an object that the next attempt is given as well, to which it assigns.
func (r Retry) mends(call *ssa.Call) bool {
	fn := call.Common().StaticCallee()
	args := call.Common().Args
	return fn != nil && slices.ContainsFunc(args, func(arg ssa.Value) bool { return flowsFrom(r.Call, arg) }) &&
		slices.ContainsFunc(args, func(arg ssa.Value) bool {
			_, isPointer := arg.Type().Underlying().(*types.Pointer)
			return isPointer && slices.Contains(argumentsOf(r.Call.Common()), arg) && assignsTo(fn, arg.Type(), 3)
		})
}

// assignsTo reports whether a function of this package assigns to a field of what pointers of
// a type lead to. It looks depth calls deep.
func assignsTo(fn *ssa.Function, pointer types.Type, depth int) bool {
	return anyWithin([]*ssa.Function{fn}, depth-1, func(instr ssa.Instruction, depth int) (bool, []*ssa.Function) {
		store, ok := instr.(*ssa.Store)
		return ok && addressed(store.Addr) != store.Addr && types.Identical(addressed(store.Addr).Type(), pointer),
			calleeOf(instr)
	})
}

// isOfAnswer reports whether a call is about what another has returned: it reads the answer.
func isOfAnswer(call, asked *ssa.Call) bool {
	return slices.ContainsFunc(call.Operands(nil), func(op *ssa.Value) bool {
		return *op != nil && isResultOf(*op, asked, 8)
	})
}

// rewinder names what only brings the same back to where it was.
var rewinder = regexp.MustCompile(`(?i)^(reset|rewind|seek|close|discard|drain)`)

// flowsFrom reports whether v is the error of call, or joins it with others.
func flowsFrom(call *ssa.Call, v ssa.Value) bool { return errorsOf(call)[v] }

// limit returns the number that the failing cycle compares a counter with, or
// 0 if that is not known.
func (r Retry) limit() (n int64, counted bool) {
	for branch := range r.limits {
		cmp := branch.Cond.(*ssa.BinOp)
		for _, v := range []ssa.Value{cmp.X, cmp.Y} {
			if known, ok := whole(v); ok {
				n = known
			} else if known, ok := lengthOf(v); ok {
				n = known
			}
		}
		// What counts down begins with the number.
		if first, step, ok := r.sequence(cmp.X); ok && n == 0 && step == -1 && first > 0 {
			n = first
		}
		return n, true
	}
	return 0, false
}

// lengthOf returns the length that v is, if it is that of a list which is written out.
func lengthOf(v ssa.Value) (int64, bool) {
	call, ok := v.(*ssa.Call)
	if !ok {
		return 0, false
	}
	builtin, ok := call.Common().Value.(*ssa.Builtin)
	if !ok || builtin.Name() != "len" {
		return 0, false
	}
	list, ok := call.Common().Args[0].(*ssa.Slice)
	if !ok || list.Low != nil || list.High != nil {
		return 0, false
	}
	p, ok := list.X.Type().Underlying().(*types.Pointer)
	if !ok {
		return 0, false
	}
	array, ok := p.Elem().Underlying().(*types.Array)
	if !ok {
		return 0, false
	}
	return array.Len(), true
}

// limits yields the branches that may leave the failing cycle when a counter of the
// failures has reached something.
func (r Retry) limits(yield func(*ssa.If) bool) {
	cycle := r.failed.cycle()
	for _, b := range r.failed.loop.list {
		branch, ok := terminator(b).(*ssa.If)
		if !ok || !cycle[b] || cycle[b.Succs[0]] && cycle[b.Succs[1]] {
			continue
		}
		cmp, ok := branch.Cond.(*ssa.BinOp)
		if ok && (r.counts(cmp.X) || r.counts(cmp.Y)) && !yield(branch) {
			return
		}
	}
}

// Attempts returns how often the retry tries at most, or 0 if that is not
// known. Operands that count may be other things to try.
func (r Retry) Attempts() int {
	limit, counted := r.limit()
	if !counted || limit <= 0 || limit > 1000 || r.operands == countingOperands || r.operands.areNew() ||
		r.Bound != Unknown {
		return 0
	}
	return int(limit)
}

// counts reports whether v is a variable that each failure steps by a constant,
// or that variable after its step.
func (r Retry) counts(v ssa.Value) bool {
	if step, ok := v.(*ssa.BinOp); ok && (step.Op == token.ADD || step.Op == token.SUB) && isConst(step.Y) {
		v = step.X
	}
	if load, ok := v.(*ssa.UnOp); ok && load.Op == token.MUL {
		return r.countsIn(load.X)
	}
	phi, ok := v.(*ssa.Phi)
	if !ok || phi.Block() != r.failed.loop.header {
		return false
	}
	for i, edge := range phi.Edges {
		if !r.failed.enters(phi.Block().Preds[i]) {
			continue
		}
		if n, ok := r.failed.stepAlong(edge, phi, 8); !ok || n == 0 {
			return false
		}
	}
	return true
}

// LeavesFor reports whether the retry ends for an error of a variable that fn
// names as well, or that is of fn's package: how fn says that it has tried often
// enough.
func (r Retry) LeavesFor(fn *ssa.Function) bool {
	cycle := r.failed.cycle()
	for _, b := range r.failed.loop.list {
		branch, ok := terminator(b).(*ssa.If)
		if !ok || !cycle[b] {
			continue
		}
		one := asksForOne(branch)
		sentinel := sentinelOf(branch.Cond)
		if one == nil || cycle[one] || sentinel == nil {
			continue
		}
		if fn.Blocks == nil && fn.Pkg == sentinel.Pkg || names(fn, sentinel) {
			return true
		}
	}
	return false
}

// sentinelOf returns the variable that a condition compares an error with.
func sentinelOf(cond ssa.Value) *ssa.Global {
	var v ssa.Value
	switch cond := cond.(type) {
	case *ssa.Call:
		if len(cond.Common().Args) == 2 {
			v = cond.Common().Args[1]
		}
	case *ssa.BinOp:
		v = cond.Y
	}
	load, ok := v.(*ssa.UnOp)
	if !ok {
		return nil
	}
	global, _ := load.X.(*ssa.Global)
	return global
}

// names reports whether a function reads a variable.
func names(fn *ssa.Function, variable *ssa.Global) bool {
	return anyInstr(fn, func(instr ssa.Instruction) bool {
		load, ok := instr.(*ssa.UnOp)
		return ok && load.X == ssa.Value(variable)
	})
}
