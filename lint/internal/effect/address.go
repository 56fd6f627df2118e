package effect

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// maxSteps limits how far an object is followed back to where it was found.
const maxSteps = 16

// rootOf returns where the function finds the object that v is, points to or is part of.
func rootOf(v ssa.Value) Root {
	root, _ := rootIn(v, nil)
	return root
}

// rootIn is rootOf within some phis. It reports false for a value that comes from one of them.
func rootIn(v ssa.Value, phis []*ssa.Phi) (_ Root, ok bool) {
	for range maxSteps {
		switch x := v.(type) {
		case *ssa.Parameter:
			return parameter(x), true
		case *ssa.FreeVar:
			if a := flow.Declared(x); a != nil {
				return Root{Value: a}, true // of the function around, which knows what it is
			}
			return Root{}, true
		case *ssa.Alloc:
			only := flow.OnlyStored(x)
			if only == nil || !IsReference(only.Type()) {
				return Root{Value: x}, true
			}
			v = only // a variable that was given an object once
		case *ssa.Global, *ssa.Call:
			return Root{Value: x}, true
		case *ssa.Phi:
			return rootOfPhi(x, phis)
		default:
			if v = flow.Back(v, flow.AnyStep); v == nil {
				return Root{}, true
			}
		}
	}
	return Root{}, true
}

// rootOfPhi returns the one root of all values that are not nil.
func rootOfPhi(phi *ssa.Phi, within []*ssa.Phi) (root Root, ok bool) {
	if len(within) > maxSteps || slices.Contains(within, phi) {
		return Root{}, len(within) > maxSteps
	}
	for _, e := range phi.Edges {
		if flow.IsNil(e) {
			continue
		}
		r, known := rootIn(e, append(within, phi))
		if !known {
			continue
		}
		if r == (Root{}) || ok && r != root {
			return Root{}, true
		}
		root, ok = r, true
	}
	return root, ok
}

func parameter(v *ssa.Parameter) Root { return Root{Param: slices.Index(v.Parent().Params, v) + 1} }

// IsReference reports whether values of a type lead to memory that others may share.
func IsReference(typ types.Type) bool {
	switch t := typ.Underlying().(type) {
	case *types.Pointer, *types.Map, *types.Slice, *types.Chan, *types.Signature:
		return true
	case *types.Interface:
		return !flow.IsError(t)
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

// regionsAt returns the regions of the variable at an address: several for a whole struct.
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

// isOwn reports whether a function sees the fields of a structure: it is of its package.
func isOwn(s *types.Struct, fn *ssa.Function) bool {
	return s.NumFields() > 0 && fn != nil && fn.Pkg != nil && s.Field(0).Pkg() == fn.Pkg.Pkg
}

// regionAt returns the region of the variable at an address; ok is false for a variable that
// nobody shares.
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

// isLocal reports whether only loads and stores of its own function use a variable.
func isLocal(a *ssa.Alloc) bool {
	return !flow.Escapes(a) && !slices.ContainsFunc(*a.Referrers(), func(r ssa.Instruction) bool {
		_, captured := r.(*ssa.MakeClosure)
		return captured
	})
}
