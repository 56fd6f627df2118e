package retryloop

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// unbounded reports whether it is proven that nothing but a success, or an
// error of another class, ends the failing cycle.
func (l *loop) unbounded(cycle, failed map[*ssa.BasicBlock]bool, branch *ssa.If, errs map[ssa.Value]bool) bool {
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
		c := classification{loop: l, failed: failed, errs: errs, open: map[ssa.Value]bool{}}
		if !c.only(exit.Cond) {
			return false
		}
	}
	return true
}

// classification judges whether a condition asks nothing but which error it
// was: it depends only on the error, and on what is the same in every round
// that fails.
type classification struct {
	loop   *loop
	failed map[*ssa.BasicBlock]bool
	errs   map[ssa.Value]bool
	open   map[ssa.Value]bool // under way
}

func (c classification) only(v ssa.Value) bool {
	if c.errs[v] || c.fixed(v) {
		return true
	}
	// A value that depends on itself changes from round to round: a counter.
	if c.open[v] {
		return false
	}
	c.open[v] = true
	defer delete(c.open, v)
	switch v := v.(type) {
	case *ssa.UnOp:
		if v.Op == token.MUL {
			// A variable of type error at package level is a sentinel; any
			// other memory may be a flag that somebody sets.
			g, ok := v.X.(*ssa.Global)
			return ok && isError(g.Type().(*types.Pointer).Elem())
		}
		return v.Op == token.NOT && c.only(v.X)
	case *ssa.BinOp, *ssa.MakeInterface, *ssa.ChangeInterface, *ssa.ChangeType, *ssa.Convert, *ssa.TypeAssert, *ssa.Extract:
		return !slices.ContainsFunc(v.(ssa.Instruction).Operands(nil), func(op *ssa.Value) bool { return !c.only(*op) })
	case *ssa.Phi:
		return c.isChoice(v)
	case *ssa.Call:
		return c.call(v)
	}
	return false
}

// fixed reports whether a value is the same in every round that fails: it comes
// from before the loop, or only a success assigns to it.
func (c classification) fixed(v ssa.Value) bool {
	instr, ok := v.(ssa.Instruction)
	if !ok || !c.loop.blocks[instr.Block()] {
		return true
	}
	phi, ok := v.(*ssa.Phi)
	if !ok || phi.Block() != c.loop.header {
		return false
	}
	for i, edge := range phi.Edges {
		if pred := phi.Block().Preds[i]; c.failed[pred] && edge != phi {
			return false
		}
	}
	return true
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
// the error and plain values, or a method of the error itself. Anything that a
// pointer leads to may count.
func (c classification) call(call *ssa.Call) bool {
	common := call.Common()
	args := common.Args
	if common.IsInvoke() {
		args = append([]ssa.Value{common.Value}, args...)
	} else if common.StaticCallee() == nil || len(common.StaticCallee().FreeVars) > 0 {
		return false
	}
	aboutError := isOfTime(common.StaticCallee())
	for _, arg := range args {
		if isTarget(call, arg) {
			continue
		}
		_, plain := arg.Type().Underlying().(*types.Basic)
		fromError := !c.fixed(arg)
		if !c.only(arg) || !fromError && !plain && !isConst(arg) && !isOfTime(common.StaticCallee()) {
			return false
		}
		aboutError = aboutError || fromError || c.errs[arg]
	}
	return aboutError
}

// isOfTime reports whether fn computes with the times that it is given.
func isOfTime(fn *ssa.Function) bool {
	if fn == nil || fn.Object() == nil || fn.Object().Pkg() == nil || fn.Object().Pkg().Path() != "time" {
		return false
	}
	switch fn.Name() {
	case "Compare", "Before", "After", "Equal", "Sub", "Add", "IsZero":
		return fn.Signature.Recv() != nil
	}
	return false
}

// isTarget reports whether arg is where errors.As puts what it found.
func isTarget(call *ssa.Call, arg ssa.Value) bool {
	fn := call.Common().StaticCallee()
	return fn != nil && fn.Object() != nil && fn.Object().Pkg() != nil && fn.Object().Pkg().Path() == "errors" &&
		fn.Name() == "As" && len(call.Common().Args) == 2 && arg == call.Common().Args[1]
}
