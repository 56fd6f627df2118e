package effect

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// maxSteps limits how far the origin of an object is followed back.
const maxSteps = 16

// rootOf returns the root of the object that v is, to which it points, or of which it is a
// part.
func rootOf(v ssa.Value) Root {
	for range maxSteps {
		switch x := v.(type) {
		case *ssa.Parameter:
			return Root{Param: slices.Index(x.Parent().Params, x) + 1}
		case *ssa.FreeVar:
			if a := flow.Declared(x); a != nil {
				return Root{Value: a} // a variable of an enclosing function, where its content is known
			}
			return Root{}
		case *ssa.Alloc:
			only := flow.OnlyStored(x)
			if only == nil || !IsReference(only.Type()) {
				return Root{Value: x}
			}
			v = only // a variable to which an object is assigned once
		case *ssa.Global, *ssa.Call:
			return Root{Value: x}
		default:
			if v = flow.Back(v, flow.AnyStep); v == nil {
				return Root{}
			}
		}
	}
	return Root{}
}

// IsReference reports whether values of a type refer to memory that other code may share.
func IsReference(typ types.Type) bool {
	switch t := typ.Underlying().(type) {
	case *types.Pointer, *types.Map, *types.Slice, *types.Chan, *types.Signature:
		return true
	case *types.Interface:
		return !flow.IsError(typ)
	case *types.Struct:
		if vocab.IsTime(typ) {
			return false
		}
		for f := range t.Fields() {
			if IsReference(f.Type()) {
				return true
			}
		}
	case *types.Array:
		return IsReference(t.Elem())
	}
	return false
}

// regionsAt returns the regions of the variable at an address. A struct has several regions.
func regionsAt(addr ssa.Value) []Region {
	if p, ok := addr.Type().Underlying().(*types.Pointer); ok { // not a type parameter
		if s, ok := p.Elem().Underlying().(*types.Struct); ok && isOwn(s, addr.Parent()) {
			var all []Region
			for i := range s.NumFields() {
				all = append(all, Region{Field, fieldName(p.Elem(), i), rootOf(addr)})
			}
			return all
		}
	}
	if r, ok := regionAt(addr); ok {
		return []Region{r}
	}
	return nil
}

// isOwn reports whether a function can access the fields of a struct, because both are in the
// same package.
func isOwn(s *types.Struct, fn *ssa.Function) bool {
	return s.NumFields() > 0 && fn != nil && fn.Pkg != nil && s.Field(0).Pkg() == fn.Pkg.Pkg
}

// regionAt returns the region of the variable at an address. ok is false for a variable that no
// other code shares.
func regionAt(addr ssa.Value) (r Region, ok bool) {
	switch x := addr.(type) {
	case *ssa.Global:
		return Region{Global, x.Pkg.Pkg.Path() + "." + x.Name(), Root{}}, true
	case *ssa.Alloc, *ssa.FreeVar:
		if a := flow.Declared(x); a != nil {
			return Region{Cell, "", Root{Value: a}}, !isLocal(a)
		}
		return Region{Pointee, x.Type().String(), rootOf(x)}, true
	case *ssa.FieldAddr:
		return Region{Field, fieldName(x.X.Type(), x.Field), rootOf(x.X)}, true
	case *ssa.IndexAddr:
		return Region{Element, x.Type().String(), rootOf(x.X)}, true
	}
	return Region{Pointee, addr.Type().String(), rootOf(addr)}, true
}

// isLocal reports whether a variable is used only by loads and stores in its own function.
func isLocal(a *ssa.Alloc) bool { return flow.UseOf(a)&(flow.Enclosed|flow.Shared) == 0 }
