package retryloop

import (
	"go/constant"
	"go/token"
	"go/types"

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

// contextAsked returns the context whose end a condition asks for, or nil.
func contextAsked(cond ssa.Value) ssa.Value {
	if not, ok := cond.(*ssa.UnOp); ok && not.Op == token.NOT {
		cond = not.X
	}
	cmp, ok := cond.(*ssa.BinOp)
	if !ok {
		return nil
	}
	switch x := cmp.X.(type) {
	case *ssa.Call:
		// ctx.Err() != nil
		if isNil(cmp.Y) {
			return methodOfContext(x, "Err")
		}
	case *ssa.Extract:
		// case <-ctx.Done():
		sel, ok := x.Tuple.(*ssa.Select)
		i, isIndex := cmp.Y.(*ssa.Const)
		if !ok || !isIndex || x.Index != 0 {
			return nil
		}
		if n, exact := constant.Int64Val(i.Value); exact && n >= 0 && int(n) < len(sel.States) {
			return methodOfContext(sel.States[n].Chan, "Done")
		}
	}
	return nil
}

// methodOfContext returns the context that v asks by the named method, or nil.
func methodOfContext(v ssa.Value, name string) ssa.Value {
	call, ok := v.(*ssa.Call)
	if !ok {
		return nil
	}
	if call.Common().IsInvoke() && call.Common().Method.Name() == name && IsContext(call.Common().Value.Type()) {
		return call.Common().Value
	}
	if name == "Err" && isNamed(call.Common().StaticCallee(), "context", "Cause") {
		return call.Common().Args[0]
	}
	return nil
}
