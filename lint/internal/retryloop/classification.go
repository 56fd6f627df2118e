package retryloop

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// classification judges whether a condition asks nothing but which error it
// was: it depends only on the error, and on what is the same in every round
// that fails.
type classification struct {
	failed, succeeded way
	tried             *ssa.Call
	errs              map[ssa.Value]bool
	judged            map[ssa.Value]bool // what only says; false while that is under way
	set               *bool              // whether a way out asks for a field that a success sets
	ownTime           bool               // only the time limit of each attempt ends its context
}

func (c classification) only(v ssa.Value) bool {
	if isInterrupt(v) {
		return false // the system asks for another try
	}
	if phi, ok := v.(*ssa.Phi); ok && c.errs[v] && c.replaces(phi) {
		return false
	}
	if c.errs[v] || c.fixed(v) || isAnswer(v, c.tried) {
		return true
	}
	// A value that depends on itself changes from round to round: a counter.
	only, judged := c.judged[v]
	if !judged {
		c.judged[v] = false
		only = c.onlyBehind(v)
		c.judged[v] = only
	}
	return only
}

// onlyBehind is only of a value that is made of others.
func (c classification) onlyBehind(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.UnOp:
		if v.Op == token.MUL {
			return c.memory(v.X)
		}
		return v.Op != token.ARROW && c.only(v.X)
	case *ssa.Extract:
		made, ok := v.Tuple.(*ssa.Call)
		return ok && c.failed.computes(made) || c.only(v.Tuple)
	case *ssa.BinOp:
		if isOfPackageVariable(v.X) && isNil(v.Y) {
			return false // no error to compare with, but whether there is one
		}
		return c.only(v.X) && c.only(v.Y)
	case *ssa.MakeInterface, *ssa.ChangeInterface, *ssa.ChangeType, *ssa.Convert, *ssa.TypeAssert, *ssa.Field:
		return !slices.ContainsFunc(v.(ssa.Instruction).Operands(nil), func(op *ssa.Value) bool { return !c.only(*op) })
	case *ssa.Phi:
		return c.isChoice(v)
	case *ssa.Call:
		return c.call(v)
	}
	return false
}

// memory reports whether what stands at addr can only be a sentinel or a part
// of the error. Any other memory may be a flag that somebody sets.
func (c classification) memory(addr ssa.Value) bool {
	switch addr := addr.(type) {
	case *ssa.Global:
		// The end of a stream is reached by reading on.
		isEOF := isVariable(addr, "io", "EOF")
		ended := isVariable(addr, "context", "Canceled", "DeadlineExceeded") && !c.ownTime
		return isError(addr.Type().(*types.Pointer).Elem()) && !isEOF && !ended
	case *ssa.Alloc:
		return isTarget(addr)
	case *ssa.IndexAddr:
		return !c.fixed(addr.X) && c.only(addr.X) && c.only(addr.Index) // what an error says
	case *ssa.FieldAddr:
		_, nested := addr.X.(*ssa.FieldAddr)
		own := c.fixed(addr.X) || nested && c.fixed(root(addr)) // of an object that stays the same
		if own && (c.setBySuccess(addr) || c.isLeftAlone(addr)) {
			return true
		}
		if !c.failed.loop.assignsTo(addr) &&
			(own && isSettled(addr) || c.fixed(root(addr)) && isSetting(addr) && !c.failed.loop.handsOn(addr)) {
			return true
		}
		return !own && c.only(addr.X)
	}
	return false
}

// replaces reports whether a failure may put another error in the place of that
// of the call, or none: by what, is not known.
func (c classification) replaces(phi *ssa.Phi) bool {
	for i, edge := range phi.Edges {
		load, ok := edge.(*ssa.UnOp)
		if c.failed.blocks[phi.Block().Preds[i]] && (isConst(edge) || ok && isPackageVariable(load.X)) {
			return true
		}
	}
	return false
}

// isAnswer reports whether v is an object that the call returned with its error:
// what it holds says how the call failed.
func isAnswer(v ssa.Value, call *ssa.Call) bool { return isAnswerWithin(v, call, 8) }

func isAnswerWithin(v ssa.Value, call *ssa.Call, depth int) bool {
	if alloc, ok := v.(*ssa.Alloc); ok {
		in := contents(alloc)
		return len(in) > 0 && depth > 0 && !slices.ContainsFunc(in, func(in ssa.Value) bool {
			return !isAnswerWithin(in, call, depth-1)
		})
	}
	x, ok := v.(*ssa.Extract)
	if v != ssa.Value(call) && (!ok || x.Tuple != ssa.Value(call)) {
		return false
	}
	return isObject(v.Type())
}

// fixed reports whether a value is the same in every round that fails: it comes
// from before the loop, or only a success assigns to it.
func (c classification) fixed(v ssa.Value) bool {
	instr, ok := v.(ssa.Instruction)
	if !ok || !c.failed.loop.blocks[instr.Block()] {
		return true
	}
	phi, ok := v.(*ssa.Phi)
	if !ok || phi.Block() != c.failed.loop.header {
		return false
	}
	for i, edge := range phi.Edges {
		if !c.failed.enters(phi.Block().Preds[i]) {
			continue
		}
		if n, ok := c.failed.stepAlong(edge, phi, 8); !ok || n != 0 {
			return false
		}
	}
	return true
}

// isChoice reports whether a phi chooses among classifications, as && and ||
// make it.
func (c classification) isChoice(phi *ssa.Phi) bool {
	if phi.Block() == c.failed.loop.header && c.isTurned(phi) {
		return false
	}
	// Constants only: a flag that tells one round from the next.
	return slices.ContainsFunc(phi.Edges, func(edge ssa.Value) bool { return !isConst(edge) }) &&
		!slices.ContainsFunc(phi.Edges, func(edge ssa.Value) bool { return !c.only(edge) })
}

// isTurned reports whether a failure sets a variable of the loop to a constant, which it was
// not from the first.
func (c classification) isTurned(phi *ssa.Phi) bool {
	for i, edge := range phi.Edges {
		if c.failed.enters(phi.Block().Preds[i]) && isConst(edge) {
			return slices.ContainsFunc(phi.Edges, func(other ssa.Value) bool { return !isConst(other) })
		}
	}
	return false
}

// call reports whether a call looks at nothing but the error: a function of
// the error and plain values, or a method of the error itself. Anything that a
// pointer leads to may count.
func (c classification) call(call *ssa.Call) bool {
	common := call.Common()
	args, fn := common.Args, common.StaticCallee()
	if builtin, ok := common.Value.(*ssa.Builtin); ok && builtin.Name() == "len" {
		switch args[0].Type().Underlying().(type) {
		case *types.Map, *types.Chan:
			return false // others fill the same one
		}
		return c.only(args[0])
	}
	if common.IsInvoke() {
		args = append([]ssa.Value{common.Value}, args...)
	} else if fn == nil || len(fn.FreeVars) > 0 || remembers(fn, 3) || asksWithin(fn) {
		return false
	}
	aboutError := isOfTime(fn)
	for _, arg := range args {
		if alloc := targetOf(arg); alloc != nil && isTarget(alloc) {
			continue
		}
		_, plain := arg.Type().Underlying().(*types.Basic)
		plain = plain || isPattern(arg.Type())
		fromError := !c.fixed(arg) && !c.isFromBefore(arg)
		if !c.only(arg) || !fromError && !plain && !isConst(arg) && !isOfTime(fn) {
			return false
		}
		aboutError = aboutError || fromError || c.errs[arg]
	}
	return aboutError
}

// isPattern reports whether t is a compiled regular expression, which stays as it is.
func isPattern(t types.Type) bool {
	named := namedOf(t)
	return named != nil && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "regexp"
}

// isFromBefore reports whether a value is read from what is the same in every round: no
// sentinel, and not what an error was put into.
func (c classification) isFromBefore(v ssa.Value) bool {
	kept := root(v)
	if alloc, ok := kept.(*ssa.Alloc); ok && isTarget(alloc) || isPackageVariable(kept) {
		return false
	}
	return c.fixed(kept) && !c.errs[kept]
}

// remembers reports whether a function of this package may answer differently
// the next time: it reads a clock, a channel, or a variable that may change, assigns to
// what it is given, or asks for interrupted system calls. It looks depth calls deep, and believes in
// what it cannot see.
func remembers(fn *ssa.Function, depth int) bool {
	return isClock(fn) ||
		anyWithin([]*ssa.Function{fn}, depth-1, func(instr ssa.Instruction, depth int) (bool, []*ssa.Function) {
			if slices.ContainsFunc(instr.Operands(nil), func(op *ssa.Value) bool { return isInterrupt(*op) }) {
				return true, nil
			}
			switch instr := instr.(type) {
			case *ssa.UnOp:
				g, ok := instr.X.(*ssa.Global)
				return ok && instr.Op == token.MUL && mayChange(g) || instr.Op == token.ARROW, nil
			case *ssa.Select, *ssa.MapUpdate:
				return true, nil
			case *ssa.Store:
				_, local := root(instr.Addr).(*ssa.Alloc)
				return !local, nil
			case ssa.CallInstruction:
				// flag.Load(), mu.Lock()
				return slices.ContainsFunc(instr.Common().Args, isPackageVariable) || isClock(instr.Common().StaticCallee()),
					calleeOf(instr)
			}
			return false, nil
		})
}

// mayChange reports whether a variable is of a type that programs keep flags,
// counts and times in. Loggers, patterns and sentinels are of others.
func mayChange(g *ssa.Global) bool {
	t := g.Type().(*types.Pointer).Elem()
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Info()&types.IsString == 0
	case *types.Map, *types.Chan, *types.Struct:
		return true
	}
	return false
}

// isTarget reports whether nothing but errors.As writes to a variable.
func isTarget(alloc *ssa.Alloc) bool {
	for _, ref := range *alloc.Referrers() {
		switch ref := ref.(type) {
		case *ssa.UnOp, *ssa.DebugRef:
		case *ssa.MakeInterface:
			for _, use := range *ref.Referrers() {
				if call, ok := use.(*ssa.Call); !ok || !isNamed(call.Common().StaticCallee(), "errors", "As") {
					return false
				}
			}
		default:
			return false
		}
	}
	return true
}

// targetOf returns the variable whose address an argument is.
func targetOf(arg ssa.Value) *ssa.Alloc {
	iface, ok := arg.(*ssa.MakeInterface)
	if !ok {
		return nil
	}
	alloc, _ := iface.X.(*ssa.Alloc)
	return alloc
}
