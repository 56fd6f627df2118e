package lint

import (
	"go/constant"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
)

// elements returns what is put into a slice of variadic arguments.
func elements(v ssa.Value) (found []ssa.Value) {
	slice, ok := v.(*ssa.Slice)
	if !ok {
		return nil
	}
	for _, ref := range flow.Refs(slice.X) {
		if at, ok := ref.(*ssa.IndexAddr); ok {
			for _, use := range *at.Referrers() {
				if store, ok := use.(*ssa.Store); ok {
					found = append(found, store.Val)
				}
			}
		}
	}
	return found
}

// origin returns what a value was before it was converted or kept in a variable
// that is assigned to once.
func origin(v ssa.Value) ssa.Value { return flow.Source(v, flow.Boxed|flow.Renamed|flow.Kept) }

// setsField reports whether a field of what v points to is assigned a value
// that is as wanted, and no other.
func setsField(v ssa.Value, name string, wanted func(ssa.Value) bool) bool {
	set := false
	for _, ref := range flow.Refs(v) {
		at, ok := ref.(*ssa.FieldAddr)
		if !ok || fieldName(at) != name {
			continue
		}
		for _, use := range *at.Referrers() {
			if store, ok := use.(*ssa.Store); ok {
				if wanted != nil && !wanted(store.Val) {
					return false
				}
				set = true
			}
		}
	}
	return set
}

func isZero(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	if load, isLoad := v.(*ssa.UnOp); isLoad && load.Op == token.MUL {
		return isZeroVariable(load.X)
	}
	return ok && isZeroConstant(c.Value)
}

// isZeroConstant reports whether a constant is the number 0.
func isZeroConstant(v constant.Value) bool {
	return v != nil && (v.Kind() == constant.Int || v.Kind() == constant.Float) && constant.Sign(v) == 0
}

// isZeroVariable reports whether v is a variable of this package only, to which that
// assigns nothing but 0.
func isZeroVariable(v ssa.Value) bool {
	variable, ok := v.(*ssa.Global)
	if !ok || token.IsExported(variable.Name()) {
		return false
	}
	return !slices.ContainsFunc(usesOf(variable), func(use ssa.Instruction) bool {
		switch use := use.(type) {
		case *ssa.UnOp:
			return false
		case *ssa.Store:
			c, ok := use.Val.(*ssa.Const)
			return !ok || !isZeroConstant(c.Value)
		}
		return true
	})
}

// isCallOf reports whether v is a call of a package's function with one of the
// names.
func isCallOf(v ssa.Value, path string, names ...string) bool {
	call, ok := v.(*ssa.Call)
	if !ok {
		return false
	}
	fn := flow.Generic(call.Call.StaticCallee())
	if fn == nil || fn.Object() == nil || fn.Object().Pkg() == nil || fn.Object().Pkg().Path() != path {
		return false
	}
	return slices.Contains(names, fn.Name())
}

func isNamedType(t types.Type, path, name string) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == name && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == path
}
