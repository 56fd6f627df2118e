package retryloop

import (
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// Names of what is set, closed or returned as an error when somebody stops, and
// of what is set until then.
var (
	stopped = regexp.MustCompile(
		`(?i)stop|clos|done|shut|quit|exit|cancel|terminat|halt|dead|kill|abort|destroy|dispos|draining`)
	ongoing = regexp.MustCompile(`(?i)^(is)?_?(alive|running|started|active|open(ed)?)$`)
)

// givesUp reports whether a call is seen to return no error because somebody has
// stopped, which ends its retries. It looks depth calls deep into this package,
// and into functions that are given to others.
func givesUp(common *ssa.CallCommon, depth int) bool {
	return anyWithin(givenTo(common), depth-1, func(instr ssa.Instruction, depth int) (bool, []*ssa.Function) {
		switch instr := instr.(type) {
		case *ssa.If:
			set := whenStopped(instr.Block())
			return set != nil && (returnsNil(set) || leavesUnset(set)), nil
		case *ssa.Call:
			return false, givenTo(instr.Common())
		}
		return false, nil
	})
}

// givenTo returns the function that is called, and those that it is given.
func givenTo(common *ssa.CallCommon) []*ssa.Function {
	fns := []*ssa.Function{common.StaticCallee()}
	for _, arg := range common.Args {
		switch arg := arg.(type) {
		case *ssa.MakeClosure:
			fns = append(fns, arg.Fn.(*ssa.Function))
		case *ssa.Function:
			fns = append(fns, arg)
		}
	}
	return fns
}

// leavesUnset reports whether block b returns an error variable that it does not
// set: one that a deferred call sets when the function has panicked.
func leavesUnset(b *ssa.BasicBlock) bool {
	ret, ok := terminator(b).(*ssa.Return)
	if !ok || len(ret.Results) == 0 {
		return false
	}
	load, ok := ret.Results[len(ret.Results)-1].(*ssa.UnOp)
	return ok && isError(load.Type()) && !slices.ContainsFunc(b.Instrs, func(instr ssa.Instruction) bool {
		store, ok := instr.(*ssa.Store)
		return ok && store.Addr == load.X
	})
}

// returnsNil reports whether block b, or one that only it leads to, returns a nil
// error.
func returnsNil(b *ssa.BasicBlock) bool {
	for _, in := range b.Parent().Blocks {
		ret, ok := terminator(in).(*ssa.Return)
		if ok && isNil(returnedError(ret)) && (in == b || len(b.Preds) == 1 && b.Dominates(in)) {
			return true
		}
	}
	return false
}

// whenStopped returns what follows block b when somebody has stopped, if that is
// what it asks.
func whenStopped(b *ssa.BasicBlock) *ssa.BasicBlock {
	branch, ok := terminator(b).(*ssa.If)
	if !ok {
		return nil
	}
	if contextAsked(branch.Cond) != nil {
		return b.Succs[0]
	}
	set, unset := b.Succs[0], b.Succs[1]
	cond := branch.Cond
	for {
		switch v := cond.(type) {
		case *ssa.UnOp:
			if v.Op == token.NOT {
				set, unset, cond = unset, set, v.X
				continue
			}
		case *ssa.BinOp:
			switch {
			case v.Op != token.EQL && v.Op != token.NEQ || isNil(v.Y):
				return nil
			case isError(v.X.Type()):
				if v.Op == token.NEQ {
					set, unset = unset, set
				}
				cond = v.Y // the sentinel
				continue
			case !isConst(v.Y):
				return nil
			case (v.Op == token.NEQ) != isUnset(v.Y):
				set, unset = unset, set
			}
			if x, ok := v.X.(*ssa.Extract); ok {
				return receivesStop(x, v.Y, b)
			}
			cond = v.X
			continue
		}
		break
	}
	if isOfMessage(cond) {
		return nil
	}
	switch name := nameOfValue(cond); {
	case stopped.MatchString(name):
		return set
	case ongoing.MatchString(name):
		return unset
	}
	return nil
}

// isOfMessage reports whether v is read from what a call has just returned beside an
// error: a message or an answer, of which one may be the last.
func isOfMessage(v ssa.Value) bool {
	if load, ok := v.(*ssa.UnOp); !ok || load.Op != token.MUL {
		return false
	}
	x, ok := root(v).(*ssa.Extract)
	if !ok {
		return false
	}
	call, ok := x.Tuple.(*ssa.Call)
	return ok && len(errorsOf(call)) > 0
}

// receivesStop returns the true branch of b if it is the case of a select that
// receives from a channel that is closed to stop.
func receivesStop(x *ssa.Extract, index ssa.Value, b *ssa.BasicBlock) *ssa.BasicBlock {
	sel, ok := x.Tuple.(*ssa.Select)
	n, isIndex := whole(index)
	if ok && isIndex && x.Index == 0 && n >= 0 && int(n) < len(sel.States) &&
		stopped.MatchString(nameOfValue(sel.States[n].Chan)) {
		return b.Succs[0]
	}
	return nil
}

// isUnset reports whether v is false or 0.
func isUnset(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.Value != nil &&
		(c.Value.Kind() == constant.Bool && !constant.BoolVal(c.Value) ||
			c.Value.Kind() == constant.Int && constant.Sign(c.Value) == 0)
}

// nameOfValue returns the name of the variable, field or method that a value is
// read from.
func nameOfValue(v ssa.Value) string {
	switch v := v.(type) {
	case *ssa.UnOp:
		return nameOfValue(v.X)
	case *ssa.TypeAssert:
		return nameOfValue(v.X)
	case *ssa.FieldAddr:
		return structOf(v).Field(v.Field).Name()
	case *ssa.Field:
		return v.X.Type().Underlying().(*types.Struct).Field(v.Field).Name()
	case *ssa.Global, *ssa.FreeVar, *ssa.Parameter:
		return v.Name()
	case *ssa.Alloc:
		return v.Comment
	case *ssa.Call:
		if isNamed(v.Common().StaticCallee(), "errors", "Is") {
			return nameOfValue(v.Common().Args[1])
		}
		// atomic.LoadUint32(&c.stop), c.stop.Load()
		if isOfAtomic(v) && len(v.Common().Args) > 0 {
			return nameOfValue(v.Common().Args[0])
		}
		if v.Common().StaticCallee() == nil && !v.Common().IsInvoke() {
			return nameOfValue(v.Common().Value) // a function that somebody has given
		}
		return nameOf(v)
	}
	return ""
}

// isSupervised reports whether fn runs in a goroutine of its own whose end the
// function around it awaits in a select, beside something else that often ends the
// program: no timer after which that function only gives up, and the goroutine goes on.
func isSupervised(fn *ssa.Function) bool {
	outer := fn.Parent()
	if outer == nil {
		return false
	}
	awaited := toldBy(fn, outer)
	isAwaited := func(s *ssa.SelectState) bool {
		return s.Dir == types.RecvOnly && slices.Contains(awaited, root(s.Chan))
	}
	mayEnd := func(s *ssa.SelectState) bool {
		return !isAwaited(s) && (!isOfTicks(s.Chan) || outer.Pkg != nil && outer.Pkg.Pkg.Name() == "main" || exits(outer))
	}
	return len(awaited) > 0 && anyInstr(outer, func(instr ssa.Instruction) bool {
		sel, ok := instr.(*ssa.Select)
		return ok && sel.Blocking && slices.ContainsFunc(sel.States, isAwaited) && slices.ContainsFunc(sel.States, mayEnd)
	})
}

// toldBy returns the channels, or the variables that hold them, by which a goroutine of fn
// tells the function that starts it that it has ended.
func toldBy(fn, starter *ssa.Function) (channels []ssa.Value) {
	for _, b := range starter.Blocks {
		for _, instr := range b.Instrs {
			start, ok := instr.(*ssa.Go)
			if !ok || start.Common().StaticCallee() != fn {
				continue
			}
			for i, arg := range start.Common().Args {
				if tells(fn.Params[i]) {
					channels = append(channels, arg)
				}
			}
			if c, ok := start.Common().Value.(*ssa.MakeClosure); ok {
				for i, bound := range c.Bindings {
					if tells(fn.FreeVars[i]) {
						channels = append(channels, bound)
					}
				}
			}
		}
	}
	return channels
}

// tells reports whether a channel, or a variable that holds one, is sent to or
// closed.
func tells(v ssa.Value) bool {
	return v.Referrers() != nil && slices.ContainsFunc(*v.Referrers(), func(ref ssa.Instruction) bool {
		switch ref := ref.(type) {
		case *ssa.Send:
			return ref.Chan == v
		case *ssa.UnOp:
			return ref.Op == token.MUL && tells(ref)
		case ssa.CallInstruction:
			builtin, ok := ref.Common().Value.(*ssa.Builtin)
			return ok && builtin.Name() == "close"
		}
		return false
	})
}
