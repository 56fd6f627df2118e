package retryloop

import (
	"go/token"
	"go/types"
	"regexp"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// IsContext reports whether t is context.Context itself.
func IsContext(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == "Context" && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "context"
}

// GivenContext returns the context that a call is given, if there is one.
func GivenContext(call ssa.CallInstruction) ssa.Value {
	for _, arg := range call.Common().Args {
		if IsContext(arg.Type()) {
			return arg
		}
	}
	return nil
}

// IsBackground reports whether v is a context that never ends.
func IsBackground(v ssa.Value) bool {
	call, ok := v.(*ssa.Call)
	if !ok {
		return false
	}
	fn := call.Common().StaticCallee()
	switch {
	case isNamed(fn, "context", "Background", "TODO"):
		return true
	case isNamed(fn, "context", "WithValue", "WithoutCancel"):
		return fn.Name() == "WithoutCancel" || IsBackground(call.Common().Args[0])
	}
	return false
}

// liveContext returns a context that somebody may end while block b of fn runs:
// a parameter, also of an enclosing function, or one derived before that isLive.
func liveContext(fn *ssa.Function, b *ssa.BasicBlock, isLive func(ssa.Value) bool) ssa.Value {
	for outer := fn; outer != nil && !isCleanup(fn); outer = outer.Parent() {
		for _, p := range outer.Params {
			if IsContext(p.Type()) && p.Name() != "_" && p.Name() != "" {
				return p
			}
		}
	}
	for _, v := range fn.FreeVars {
		if bound := bindingOf(v); bound != nil && isLive(bound) {
			return bound
		}
	}
	for _, block := range fn.Blocks {
		if !block.Dominates(b) || block == b {
			continue
		}
		for _, instr := range block.Instrs {
			if v, ok := instr.(ssa.Value); ok && isLive(v) && isUsedFrom(v, b) {
				return v
			}
		}
	}
	return nil
}

// isUsedFrom reports whether a context that the function has derived is used in block b, or
// behind it: one that is not was for something else. A variable may be.
func isUsedFrom(ctx ssa.Value, b *ssa.BasicBlock) bool {
	if _, derived := ctx.(*ssa.Extract); !derived {
		return true
	}
	after := behind(b)
	return slices.ContainsFunc(*ctx.Referrers(), func(ref ssa.Instruction) bool {
		switch ref.(type) {
		case *ssa.DebugRef:
			return false
		case *ssa.Store, *ssa.MakeClosure:
			return true
		}
		return after[ref.Block()]
	})
}

// isCleanup reports whether a function literal is only deferred: it has to do what it does
// when the context has ended as well.
func isCleanup(fn *ssa.Function) bool {
	if fn.Parent() == nil {
		return false
	}
	deferred := false
	for _, b := range fn.Parent().Blocks {
		for _, instr := range b.Instrs {
			switch instr := instr.(type) {
			case *ssa.MakeClosure:
				if instr.Fn == ssa.Value(fn) {
					if !runsAtEnd(instr) {
						return false
					}
					deferred = true
				}
			case *ssa.Defer:
				deferred = deferred || instr.Call.Value == ssa.Value(fn)
			}
		}
	}
	return deferred
}

// Until returns the context, a parameter, with which the retry ends, whatever else ends it, or
// nil: it is asked for, or given to something else than what is tried, which says when to
// leave.
func (r Retry) Until() (until *ssa.Parameter) {
	cycle := r.failed.cycle()
	for _, b := range r.failed.loop.list {
		branch, ok := terminator(b).(*ssa.If)
		if !ok || !cycle[b] || cycle[b.Succs[0]] == cycle[b.Succs[1]] {
			continue
		}
		ctx := contextAsked(branch.Cond)
		if asked, ok := answeringCall(branch.Cond); ok && asked != r.Call {
			ctx = GivenContext(asked)
		}
		if ctx == nil {
			continue
		}
		if p, ok := withoutLimit(ctx).(*ssa.Parameter); ok {
			until = p
		}
	}
	return until
}

// answeringCall returns the call whose error or answer a condition asks for.
func answeringCall(cond ssa.Value) (*ssa.Call, bool) {
	if not, ok := cond.(*ssa.UnOp); ok && not.Op == token.NOT {
		cond = not.X
	}
	if cmp, ok := cond.(*ssa.BinOp); ok && isNil(cmp.Y) {
		cond = cmp.X
	}
	return errorCall(cond)
}

// HandsOn returns the parameter that a function value is, or that a literal does nothing but
// call, or nil.
func HandsOn(op ssa.Value) *ssa.Parameter {
	literal, ok := op.(*ssa.MakeClosure)
	if !ok {
		p, _ := op.(*ssa.Parameter)
		return p
	}
	fn := literal.Fn.(*ssa.Function)
	if len(fn.Blocks) != 1 {
		return nil
	}
	var called *ssa.Parameter
	for _, instr := range fn.Blocks[0].Instrs {
		call, ok := instr.(*ssa.Call)
		if !ok {
			continue
		}
		if called != nil {
			return nil
		}
		if called, ok = captured(call.Common().Value).(*ssa.Parameter); !ok {
			return nil
		}
	}
	return called
}

// Calls reports whether a function value is a parameter, or a literal that calls it.
func Calls(op ssa.Value, p *ssa.Parameter) bool {
	literal, ok := op.(*ssa.MakeClosure)
	if !ok {
		return op == ssa.Value(p)
	}
	return anyInstr(literal.Fn.(*ssa.Function), func(instr ssa.Instruction) bool {
		call, ok := instr.(*ssa.Call)
		return ok && captured(call.Common().Value) == ssa.Value(p)
	})
}

// Gives reports whether a function gives a context, which it captures, or one that is made of
// it, to what it calls.
func Gives(fn *ssa.Function, ctx ssa.Value) bool {
	return givesCaptured(fn, func(given ssa.Value) bool { return given == ctx || madeOf(given) == ctx })
}

// RequestGiven returns the request, a parameter of a function around, whose context a function
// gives to what it calls, or nil.
func RequestGiven(fn *ssa.Function) (request ssa.Value) {
	anyInstr(fn, func(instr ssa.Instruction) bool {
		call, ok := instr.(*ssa.Call)
		if !ok || IsContext(call.Type()) {
			return false
		}
		asked, ok := GivenContext(call).(*ssa.Call)
		if !ok || !isLive(asked) || len(asked.Common().Args) != 1 {
			return false
		}
		of := asked.Common().Args[0]
		if load, ok := of.(*ssa.UnOp); ok {
			of = load.X
		}
		captured, ok := of.(*ssa.FreeVar)
		if !ok {
			return false
		}
		given, ok := bindingOf(captured).(*ssa.Parameter)
		if ok && isRequest(given.Type()) {
			request = given
		}
		return request != nil
	})
	return request
}

// GivesItsOwn reports whether a function gives what it calls a context that nobody ends but
// by a time limit, and that it captures, or takes the end from one: it is to go on.
func GivesItsOwn(fn *ssa.Function) bool {
	return anyInstr(fn, isDetaching) || givesCaptured(fn, func(given ssa.Value) bool {
		parent := withoutLimit(given)
		return parent != given && NeverEnds(parent)
	})
}

// isDetaching reports whether an instruction takes its end from a context.
func isDetaching(instr ssa.Instruction) bool {
	call, ok := instr.(*ssa.Call)
	return ok && isNamed(call.Common().StaticCallee(), "context", "WithoutCancel")
}

// givesCaptured reports whether a function gives a context, which it captures and which is
// as said, to what it calls.
func givesCaptured(fn *ssa.Function, is func(ssa.Value) bool) bool {
	return anyInstr(fn, func(instr ssa.Instruction) bool {
		call, ok := instr.(*ssa.Call)
		if !ok || IsContext(call.Type()) {
			return false
		}
		given := GivenContext(call)
		if load, ok := given.(*ssa.UnOp); ok {
			given = load.X
		}
		captured, ok := given.(*ssa.FreeVar)
		if !ok {
			return false
		}
		bound := bindingOf(captured)
		return bound != nil && is(bound)
	})
}

// isLive reports whether v is a context that is derived with a time limit, that
// ends with a signal, a group or a request.
func isLive(v ssa.Value) bool {
	if !IsContext(v.Type()) {
		return false
	}
	x, ok := v.(*ssa.Extract)
	if !ok {
		call, ok := v.(*ssa.Call)
		if !ok || nameOf(call) != "Context" {
			return false
		}
		// That of a request, of a stream, of a command.
		of := root(receiverOf(call))
		if captured, ok := of.(*ssa.FreeVar); ok {
			of = bindingOf(captured)
		}
		_, given := of.(*ssa.Parameter)
		return given && !isContextOfTest(v) || isNamed(call.Common().StaticCallee(), "net/http", "Context")
	}
	call, ok := x.Tuple.(*ssa.Call)
	if !ok {
		return false
	}
	fn := call.Common().StaticCallee()
	return isNamed(fn, "context", "WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause") &&
		!isOwnTime(call) ||
		isNamed(fn, "os/signal", "NotifyContext") || isNamed(fn, "golang.org/x/sync/errgroup", "WithContext")
}

// isContextOfTest reports whether v is the context of a test, which ends behind it.
func isContextOfTest(v ssa.Value) bool {
	call, ok := v.(*ssa.Call)
	return ok && receiverOf(call) != nil && IsTest(receiverOf(call).Type())
}

// IsTest reports whether t is, or points to, a type of package testing.
func IsTest(t types.Type) bool {
	named := namedOf(t)
	return named != nil && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "testing"
}

// isOwnTime reports whether nobody but the time limit that a function sets itself ends the
// context that a call makes.
func isOwnTime(made *ssa.Call) bool {
	return NeverEnds(made.Common().Args[0]) && isOnlyDeferred(made)
}

// isCancelled reports whether v is a context that is derived with a cancel function,
// which somebody else has, or from a variable of the package, which all share.
func isCancelled(v ssa.Value) bool { return isCancelledBefore(v, nil) }

// isCancelledBefore is isCancelled of what is done before block b runs, if that is not nil.
func isCancelledBefore(v ssa.Value, b *ssa.BasicBlock) bool {
	x, ok := v.(*ssa.Extract)
	if !ok || !IsContext(v.Type()) {
		return false
	}
	made, ok := x.Tuple.(*ssa.Call)
	if !ok || !isNamed(made.Common().StaticCallee(), "context", "WithCancel", "WithCancelCause") {
		return false
	}
	return isPackageVariable(root(made.Common().Args[0])) ||
		slices.ContainsFunc(*made.Referrers(), func(ref ssa.Instruction) bool {
			cancel, ok := ref.(*ssa.Extract)
			return ok && cancel.Index == 1 && isHandedOn(cancel, b, 4)
		})
}

// isHandedOn reports whether a function value is given to others, or called by a closure
// that is not deferred, before block b runs, if that is not nil.
func isHandedOn(fn ssa.Value, b *ssa.BasicBlock, depth int) bool {
	return depth > 0 && slices.ContainsFunc(*fn.Referrers(), func(ref ssa.Instruction) bool {
		if b != nil && !reaches(ref.Block(), func(in *ssa.BasicBlock) bool { return in == b }) {
			return false
		}
		switch ref := ref.(type) {
		case *ssa.MakeClosure:
			return !runsAtEnd(ref)
		case *ssa.Call:
			return slices.Contains(ref.Common().Args, fn)
		case *ssa.Go:
			return true
		case *ssa.Store:
			variable, ok := ref.Addr.(*ssa.Alloc)
			return ref.Val == fn && (!ok || isHandedOn(variable, b, depth-1))
		case *ssa.UnOp:
			return isHandedOn(ref, b, depth-1)
		}
		return false
	})
}

// isKept reports whether a context is read from a field that is set to nothing
// but what somebody may end: a context that a function is given, or one that is
// derived with a cancel function.
func isKept(ctx ssa.Value) bool {
	load, ok := ctx.(*ssa.UnOp)
	if !ok {
		return false
	}
	field, ok := load.X.(*ssa.FieldAddr)
	return ok && isSetOnlyTo(field, mayBeEnded)
}

// mayBeEnded reports whether v is a context that a function is given, or that is
// made together with what ends it.
func mayBeEnded(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.Parameter:
		return true
	case *ssa.Extract:
		made, ok := v.Tuple.(*ssa.Call)
		return ok &&
			isNamed(made.Common().StaticCallee(), "context", "WithCancel", "WithCancelCause", "WithTimeout", "WithDeadline") &&
			!isOnlyDeferred(made)
	case *ssa.Call:
		return isNamed(v.Common().StaticCallee(), "context", "WithValue") && mayBeEnded(v.Common().Args[0])
	case *ssa.UnOp:
		// A variable that closures share.
		if alloc, ok := v.X.(*ssa.Alloc); ok {
			held := lastStored(alloc, v)
			return held != nil && mayBeEnded(held)
		}
	}
	return false
}

// withoutLimit returns what a context is derived from, if it is derived with a time limit.
func withoutLimit(ctx ssa.Value) ssa.Value {
	x, ok := ctx.(*ssa.Extract)
	if !ok {
		return ctx
	}
	made, ok := x.Tuple.(*ssa.Call)
	if !ok ||
		!isNamed(made.Common().StaticCallee(), "context", "WithTimeout", "WithTimeoutCause", "WithDeadline",
			"WithDeadlineCause") {
		return ctx
	}
	return made.Common().Args[0]
}

// madeOf returns the first of the contexts that one is made of, each by a call that is
// given the one before.
func madeOf(ctx ssa.Value) ssa.Value {
	for {
		if load, ok := ctx.(*ssa.UnOp); ok && storedBefore(load) != nil {
			ctx = storedBefore(load)
			continue
		}
		made, ok := ctx.(*ssa.Call)
		if x, isExtract := ctx.(*ssa.Extract); isExtract {
			made, ok = x.Tuple.(*ssa.Call)
		}
		if !ok || GivenContext(made) == nil || IsBackground(made) || detaches.MatchString(nameOf(made)) {
			return ctx
		}
		ctx = GivenContext(made)
	}
}

// IsGoroutine reports whether a function is a literal that a go statement runs.
func IsGoroutine(fn *ssa.Function) bool {
	return fn.Parent() != nil && anyInstr(fn.Parent(), func(instr ssa.Instruction) bool {
		start, ok := instr.(*ssa.Go)
		return ok && start.Common().StaticCallee() == fn
	})
}

// detaches names what makes a context that does not end with the one that it is made of.
var detaches = regexp.MustCompile(`(?i)detach|without|background|copy|clone|fork|async|independent|uncancel`)

// storedBefore returns what the block of a load has stored last in the variable, or nil.
func storedBefore(load *ssa.UnOp) (stored ssa.Value) {
	for _, instr := range before(load) {
		if store, ok := instr.(*ssa.Store); ok && load.Op == token.MUL && store.Addr == load.X {
			stored = store.Val
		}
	}
	return stored
}
