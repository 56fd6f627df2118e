package retryloop

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// unbounded reports whether it is proven that nothing but a success, or an
// error of another class, ends the failing cycle.
func (l *loop) unbounded(cycle map[*ssa.BasicBlock]bool, branch *ssa.If, errs map[ssa.Value]bool) bool {
	for b := range cycle {
		if ends(b) {
			return false
		}
		exit, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If)
		if !ok || exit == branch || cycle[b.Succs[0]] && cycle[b.Succs[1]] {
			if _, jumps := b.Instrs[len(b.Instrs)-1].(*ssa.Jump); !ok && !jumps {
				return false
			}
			continue
		}
		c := classification{errs: errs, open: map[ssa.Value]bool{}}
		if !c.only(exit.Cond) {
			return false
		}
	}
	return true
}

// classification judges whether a condition asks nothing but which error it
// was: it depends only on the error and on what never changes.
type classification struct {
	errs map[ssa.Value]bool
	open map[ssa.Value]bool // under way
}

func (c classification) only(v ssa.Value) bool {
	if c.errs[v] {
		return true
	}
	// A value that depends on itself changes from round to round: a counter.
	if c.open[v] {
		return false
	}
	c.open[v] = true
	defer delete(c.open, v)
	switch v := v.(type) {
	case *ssa.Const, *ssa.Function, *ssa.Builtin:
		return true
	case *ssa.UnOp:
		if v.Op == token.MUL {
			// A variable of type error at package level is a sentinel; any
			// other memory may be a flag that somebody sets.
			g, ok := v.X.(*ssa.Global)
			return ok && isError(g.Type().(*types.Pointer).Elem())
		}
		return v.Op == token.NOT && c.only(v.X)
	case *ssa.BinOp:
		return c.only(v.X) && c.only(v.Y)
	case *ssa.MakeInterface:
		return c.only(v.X)
	case *ssa.ChangeInterface:
		return c.only(v.X)
	case *ssa.ChangeType:
		return c.only(v.X)
	case *ssa.Convert:
		return c.only(v.X)
	case *ssa.TypeAssert:
		return c.only(v.X)
	case *ssa.Extract:
		return c.only(v.Tuple)
	case *ssa.Phi:
		return c.isChoice(v)
	case *ssa.Call:
		return c.call(v)
	}
	return false
}

// isChoice reports whether a phi chooses among classifications, as && and ||
// make it.
func (c classification) isChoice(phi *ssa.Phi) bool {
	for _, edge := range phi.Edges {
		if !c.only(edge) {
			return false
		}
	}
	// Constants only: a flag that tells one round from the next.
	for _, edge := range phi.Edges {
		if !isConst(edge) {
			return true
		}
	}
	return false
}

// call reports whether a call looks at nothing but the error: a function of
// the error and constants, or a method of the error itself.
func (c classification) call(call *ssa.Call) bool {
	common := call.Common()
	if common.IsInvoke() {
		if !c.only(common.Value) {
			return false
		}
	} else if common.StaticCallee() == nil || len(common.StaticCallee().FreeVars) > 0 {
		return false
	}
	aboutError := common.IsInvoke()
	for _, arg := range common.Args {
		if isTarget(call, arg) {
			continue
		}
		if !c.only(arg) {
			return false
		}
		if !isConst(arg) {
			aboutError = true
		}
	}
	return aboutError
}

// isTarget reports whether arg is where errors.As puts what it found.
func isTarget(call *ssa.Call, arg ssa.Value) bool {
	fn := call.Common().StaticCallee()
	return fn != nil && fn.Object() != nil && fn.Object().Pkg() != nil && fn.Object().Pkg().Path() == "errors" &&
		fn.Name() == "As" && len(call.Common().Args) == 2 && arg == call.Common().Args[1]
}
