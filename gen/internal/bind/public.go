package bind

import (
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// public returns t with aliases in place of types that the home package cannot name, such as
// types of an internal package. The aliases are declared in the bound package, the home package
// or a package that it imports. A type without such an alias is unchanged, and writable reports
// it.
func (b binder) public(t types.Type) types.Type {
	switch t := t.(type) {
	case *types.Alias:
		if !b.nameable(t.Obj()) {
			return b.public(types.Unalias(t))
		}
	case *types.Named:
		return b.publicNamed(t)
	case *types.Pointer:
		if elem := b.public(t.Elem()); elem != t.Elem() {
			return types.NewPointer(elem)
		}
	case *types.Slice:
		if elem := b.public(t.Elem()); elem != t.Elem() {
			return types.NewSlice(elem)
		}
	case *types.Array:
		if elem := b.public(t.Elem()); elem != t.Elem() {
			return types.NewArray(elem, t.Len())
		}
	case *types.Chan:
		if elem := b.public(t.Elem()); elem != t.Elem() {
			return types.NewChan(t.Dir(), elem)
		}
	case *types.Map:
		if key, elem := b.public(t.Key()), b.public(t.Elem()); key != t.Key() || elem != t.Elem() {
			return types.NewMap(key, elem)
		}
	case *types.Signature:
		return b.publicSignature(t)
	}
	return t
}

// publicNamed does the same as public for a named type.
func (b binder) publicNamed(t *types.Named) types.Type {
	if b.nameable(t.Obj()) {
		return b.publicArgs(t)
	}
	imports := slices.Clone(b.home.types.Imports())
	slices.SortFunc(imports, func(a, b *types.Package) int { return strings.Compare(a.Path(), b.Path()) })
	for _, pkg := range append([]*types.Package{b.from.types, b.home.types}, imports...) {
		scope := pkg.Scope()
		for _, name := range scope.Names() {
			alias, ok := scope.Lookup(name).(*types.TypeName)
			if ok && alias.IsAlias() && b.nameable(alias) && types.Identical(alias.Type(), t) {
				return alias.Type()
			}
		}
	}
	return t
}

// publicArgs replaces the type arguments of t.
func (b binder) publicArgs(t *types.Named) types.Type {
	changed := false
	var args []types.Type
	for arg := range t.TypeArgs().Types() {
		args = append(args, b.public(arg))
		changed = changed || args[len(args)-1] != arg
	}
	if !changed {
		return t
	}
	inst, err := types.Instantiate(nil, t.Origin(), args, false)
	if err != nil {
		return t
	}
	return inst
}

// publicSignature replaces the types of parameters and results.
func (b binder) publicSignature(t *types.Signature) *types.Signature {
	params, results := b.publicTuple(t.Params()), b.publicTuple(t.Results())
	if params == t.Params() && results == t.Results() || t.TypeParams().Len() > 0 {
		return t
	}
	return types.NewSignatureType(t.Recv(), nil, nil, params, results, t.Variadic())
}

// publicTuple replaces the types of parameters or results.
func (b binder) publicTuple(t *types.Tuple) *types.Tuple {
	changed := false
	var vars []*types.Var
	for v := range t.Variables() {
		typ := b.public(v.Type())
		changed = changed || typ != v.Type()
		vars = append(vars, types.NewParam(v.Pos(), v.Pkg(), v.Name(), typ))
	}
	if !changed {
		return t
	}
	return types.NewTuple(vars...)
}

// nameable reports whether the home package can write the name of a type.
func (b binder) nameable(obj *types.TypeName) bool {
	pkg := obj.Pkg()
	if pkg == nil || pkg.Path() == b.home.Path {
		return true
	}
	return token.IsExported(obj.Name()) && pkg.Name() != "main" && importable(b.home.Path, pkg.Path())
}
