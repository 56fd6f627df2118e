package bind

import (
	"fmt"
	"go/ast"
	"go/types"
	"path"
	"strings"
)

// A Ref is a variable or type that generated code refers to.
type Ref struct {
	Pkg, PkgName string // import path and name of its package; "" for the package itself
	Name         string
	Pointer      bool   // *Name
	Address      bool   // &Name
	Either       bool   // for a type: both Name and *Name are errors
	Constraint   string // build constraint of the builds that declare it, or empty for all
}

// A Check is a function that checks the results of a call.
type Check struct {
	Name       string
	Error      bool    // the function also takes the error, and is also called after failures
	Params     []Param // type arguments, if it is generic
	Constraint string  // build constraint of the builds that declare it, or empty for all
}

// SplitRef splits the name of a variable or type into its import path (empty for the package
// itself), its name, and whether it is a pointer type. Unlike in the symbol of a binding, the
// last dot always ends the import path.
func SplitRef(symbol string) (path, name string, pointer bool) {
	symbol, pointer = strings.CutPrefix(symbol, "*")
	dot := strings.LastIndexByte(symbol, '.')
	if dot <= strings.LastIndexByte(symbol, '/') {
		return "", symbol, pointer
	}
	return symbol[:dot], symbol[dot+1:], pointer
}

// errorType is the interface error.
var errorType = types.Universe.Lookup("error").Type().Underlying().(*types.Interface)

// ErrorVar finds a variable that is an error, for errors.Is.
func (p *Package) ErrorVar(symbol string) (Ref, error) {
	ref, obj, err := p.ref(symbol)
	if err != nil {
		return ref, err
	}
	switch obj := obj.(type) {
	case *types.Var, *types.Const:
		if !types.Implements(obj.Type(), errorType) {
			return ref, fmt.Errorf("%s is not an error", ref.Name)
		}
	case *types.TypeName:
		return ref, fmt.Errorf("%s is a type: move it to as", ref.Name)
	default:
		return ref, fmt.Errorf("%s is not a variable", ref.Name)
	}
	return ref, nil
}

// ErrorType finds a type that is an error, for errors.As. If its method Error has a value
// receiver, errors may be values or pointers, whichever form the symbol has.
func (p *Package) ErrorType(symbol string) (Ref, error) {
	ref, obj, err := p.ref(symbol)
	if err != nil {
		return ref, err
	}
	name, ok := obj.(*types.TypeName)
	if !ok {
		return ref, fmt.Errorf("%s is not a type: move it to is", ref.Name)
	}
	if named, ok := types.Unalias(name.Type()).(*types.Named); ok && named.TypeParams().Len() > 0 {
		return ref, fmt.Errorf("%s has type parameters", ref.Name)
	}
	pointer := types.NewPointer(name.Type())
	switch isError, pointerIs := types.Implements(name.Type(), errorType), types.Implements(pointer, errorType); {
	case !pointerIs && !isError:
		return ref, fmt.Errorf("%s has no method Error() string", ref.Name)
	case !ref.Pointer && !isError:
		return ref, fmt.Errorf("%s is not an error, but *%s is: write *%s", ref.Name, ref.Name, ref.Name)
	case ref.Pointer && types.IsInterface(name.Type()):
		return ref, fmt.Errorf("%s is an interface: write it without the *", ref.Name)
	default:
		ref.Either = isError && !types.IsInterface(name.Type())
	}
	return ref, nil
}

// SharedVar finds a variable with a breaker or budget that calls share. It must be a pointer to
// the type typ of the package at pkgPath. If zero is true, the zero value of the type can be
// used, and the variable may also be a value of that type.
func (p *Package) SharedVar(symbol, pkgPath, typ, constructor string, zero bool) (Ref, error) {
	ref, obj, err := p.ref(symbol)
	if err != nil {
		return ref, err
	}
	v, ok := obj.(*types.Var)
	if !ok {
		return ref, fmt.Errorf("%s is not a variable", ref.Name)
	}
	pointer, isPointer := types.Unalias(v.Type()).(*types.Pointer)
	switch {
	case zero && isNamed(types.Unalias(v.Type()), pkgPath, typ):
		ref.Address = true
	case !isPointer || !isNamed(types.Unalias(pointer.Elem()), pkgPath, typ):
		return ref, fmt.Errorf("it is of type %s: declare it as *%s.%s", plain(v.Type()), path.Base(pkgPath), typ)
	case !p.program.initialized(v):
		return ref,
			fmt.Errorf("it is declared without a value, and nil when DefaultShared is made: write var %s = %s.%s(…)",
				ref.Name, path.Base(pkgPath), constructor)
	}
	return ref, nil
}

// initialized reports whether the declaration of a package-level variable has an initial value.
func (p *Program) initialized(v *types.Var) (found bool) {
	from := p.byPath[v.Pkg().Path()]
	if from == nil || from.loaded == nil {
		return false
	}
	for _, file := range from.loaded.Syntax {
		if !(file.FileStart <= v.Pos() && v.Pos() <= file.FileEnd) {
			continue
		}
		for _, decl := range file.Decls {
			decl, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range decl.Specs {
				spec, ok := spec.(*ast.ValueSpec)
				found = found || ok && len(spec.Values) > 0 && spec.Pos() <= v.Pos() && v.Pos() < spec.End()
			}
		}
	}
	return found
}

// ref finds a variable or type, and describes it.
func (p *Package) ref(symbol string) (Ref, types.Object, error) {
	path, name, pointer := SplitRef(symbol)
	ref, from := Ref{Name: name, Pointer: pointer}, p
	if strings.Contains(name, "/") {
		return ref, nil, fmt.Errorf("it is the path of a package: write the name in it as well, as %s.NAME", name)
	}
	if path != "" && path != p.Path {
		var err error
		if from, err = p.reach(path); err != nil {
			return ref, nil, err
		}
		if from.Name == "main" || !importable(p.Path, from.Path) {
			return ref, nil, fmt.Errorf("package %s cannot be imported here", path)
		}
		ref.Pkg, ref.PkgName = from.Path, from.Name
	}
	obj := from.lookup(name)
	switch {
	case obj == nil:
		return ref, nil, lackError(fmt.Sprintf("package %s has no %s%s", from.Name, name, DidYouMean(name, from.names(p))))
	case from != p && !obj.Exported():
		return ref, nil, fmt.Errorf("%s is not exported by package %s", name, from.Path)
	}
	ref.Constraint = from.constraint(name, obj.Pos())
	return ref, obj, nil
}

// Has returns an error if the package at path cannot be imported.
func (p *Package) Has(path string) error {
	if p.program.byPath[path] == nil || p.program.broken[path] != nil {
		return p.program.absent(path)
	}
	return nil
}

// Fallback checks that the function with the given name can replace fn: it must have the same
// parameters followed by an error, and the same results. params are the type parameters of fn.
// A generic function must have the same number of type parameters, and is called with params.
// If recv is the name of a type of the package, the fallback may also be a method of that type.
// constraint is the build constraint of the builds that declare the fallback, or empty for all
// builds.
func (p *Package) Fallback(name string, fn Func, params []Param,
	recv string) (isMethod, isGeneric bool, constraint string, err error) {
	obj := p.lookup(name)
	if typ := p.lookup(recv); recv != "" && typ != nil {
		self, _ := instantiateSelf(typ.Type())
		if m, _, _ := types.LookupFieldOrMethod(types.NewPointer(self), true, p.types, name); m != nil {
			obj, isMethod = m, true
		}
	}
	if obj == nil {
		return false, false, "", fmt.Errorf("the package has no function %s%s", name, DidYouMean(name, p.names(p)))
	}
	f, ok := obj.(*types.Func)
	if !ok {
		return false, false, "", fmt.Errorf("%s is not a function", name)
	}
	b := binder{home: p, from: p}
	has := b.signature(f)
	if isGeneric = f.Signature().TypeParams().Len() > 0; isGeneric {
		if has, err = b.instance(f, params); err != nil {
			return false, false, "", err
		}
	}
	want := fn.Params
	if fn.Variadic {
		last := want[len(want)-1]
		list := Param{last.Name, Join(TypeText("[]"), last.Type), types.NewSlice(last.typ)}
		want = append(append([]Param{}, want[:len(want)-1]...), list)
	}
	want = append(append([]Param{}, want...), Param{"err", TypeText("error"), types.Universe.Lookup("error").Type()})
	if has.Variadic || !sameTypes(has.Params, want) || !sameTypes(has.Results, fn.Results) {
		return false, false, "",
			fmt.Errorf("%s must be %s, but is %s", name, show(Func{Params: want, Results: fn.Results}), show(has))
	}
	if isMethod {
		return true, false, b.constraint(p.lookup(recv), f), nil
	}
	return false, isGeneric, b.constraint(f), nil
}

// Check checks that the function with the given name can check the results of fn. It must take
// all of them, or all except the error, and return an error. params are the type parameters of
// fn, as for Fallback.
func (p *Package) Check(name string, fn Func, params []Param) (check Check, err error) {
	check, has, err := p.judge(name, params)
	if err != nil {
		return check, err
	}
	want := []Param{{Type: TypeText("error"), typ: types.Universe.Lookup("error").Type()}}
	check.Error = fn.HasError && assignable(fn.Results, has.Params)
	if values := fn.values(); has.Variadic || !sameTypes(has.Results, want) ||
		!check.Error && !assignable(values, has.Params) {
		return check, fmt.Errorf("%s must be %s, but is %s", name, show(Func{Params: values, Results: want}), show(has))
	}
	return check, nil
}

// Release checks that the function with the given name can release the results of fn. It must
// take all of them except the error, and return nothing. params are the type parameters of fn.
func (p *Package) Release(name string, fn Func, params []Param) (release Check, err error) {
	release, has, err := p.judge(name, params)
	if err != nil {
		return release, err
	}
	if values := fn.values(); has.Variadic || len(has.Results) > 0 || !assignable(values, has.Params) {
		return release, fmt.Errorf("%s must be %s, but is %s", name, show(Func{Params: values}), show(has))
	}
	return release, nil
}

// values returns the results without the error.
func (f *Func) values() []Param {
	if f.HasError {
		return f.Results[:len(f.Results)-1]
	}
	return f.Results
}

// judge finds a function with the given name that takes the results of a bound function.
func (p *Package) judge(name string, params []Param) (check Check, has Func, err error) {
	obj := p.lookup(name)
	if obj == nil {
		return check, has, fmt.Errorf("the package has no function %s%s", name, DidYouMean(name, p.names(p)))
	}
	f, ok := obj.(*types.Func)
	if !ok {
		return check, has, fmt.Errorf("%s is not a function", name)
	}
	b := binder{home: p, from: p}
	has = b.signature(f)
	if f.Signature().TypeParams().Len() > 0 {
		check.Params = params
		if has, err = b.instance(f, params); err != nil {
			return check, has, err
		}
	}
	check.Name, check.Constraint = name, b.constraint(f)
	return check, has, nil
}

// instance describes the generic function f with params as type arguments.
func (b binder) instance(f *types.Func, params []Param) (Func, error) {
	sig := f.Signature()
	if has := sig.TypeParams().Len(); has != len(params) {
		return Func{},
			fmt.Errorf("%s must have as many type parameters as the bound symbol, %d, but has %d", f.Name(), len(params), has)
	}
	var args []types.Type
	for _, p := range params {
		args = append(args, p.typ)
	}
	t, err := types.Instantiate(nil, sig, args, true)
	if err != nil {
		return Func{}, fmt.Errorf("%s has other constraints: %v", f.Name(), err)
	}
	return b.signature(types.NewFunc(f.Pos(), f.Pkg(), f.Name(), t.(*types.Signature))), nil
}

// sameTypes reports whether the types of a and b are identical. An alias is
// identical to its type.
func sameTypes(a, b []Param) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !a[i].Type.Equal(b[i].Type) && !types.Identical(a[i].typ, b[i].typ) {
			return false
		}
	}
	return true
}

// assignable reports whether values can be passed as the arguments of params.
func assignable(values, params []Param) bool {
	if len(values) != len(params) {
		return false
	}
	for i, v := range values {
		same := v.Type.Equal(params[i].Type)
		if !same && (v.typ == nil || params[i].typ == nil || !types.AssignableTo(v.typ, params[i].typ)) {
			return false
		}
	}
	return true
}

// show formats a signature for messages, in the notation of Go.
func show(fn Func) string {
	params, results := typeTexts(fn.Params), typeTexts(fn.Results)
	if fn.Variadic {
		params[len(params)-1] = "..." + params[len(params)-1]
	}
	text := "func(" + strings.Join(params, ", ") + ")"
	switch len(results) {
	case 0:
		return text
	case 1:
		return text + " " + results[0]
	}
	return text + " (" + strings.Join(results, ", ") + ")"
}

// typeTexts formats the types of params for messages.
func typeTexts(params []Param) (types []string) {
	for _, p := range params {
		types = append(types, p.Type.String())
	}
	return types
}
