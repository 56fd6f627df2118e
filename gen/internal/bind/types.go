package bind

import (
	"errors"
	"fmt"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// typeName fills t with the description of a method of a type or, if method is empty, of a
// whole type.
func (b binder) typeName(t *Target, obj *types.TypeName, method string) error {
	typ, params := instantiateSelf(obj.Type())
	t.TypeParams = b.typeParams(params)
	iface, isInterface := typ.Underlying().(*types.Interface)
	_, isNamed := typ.(*types.Named)
	switch {
	case method != "" && isInterface:
		return fmt.Errorf("%s is an interface: bind %s, and the policy of %s under its methods", t.Name, t.Name, method)
	case typ == types.Typ[types.Invalid]:
		return b.broken("declaration", t.Name, obj.Pos())
	case !isInterface && !isNamed:
		return fmt.Errorf("%s is an alias of %s, which is not the name of a type: bind a type that has one", t.Name,
			plain(typ))
	case method != "" && obj.IsAlias() && !b.nameable(typ.(*types.Named).Obj()):
		return fmt.Errorf("%s is an alias of a type that cannot be named here: bind %s as a whole", t.Name, t.Name)
	case method != "" && obj.IsAlias():
		return fmt.Errorf("%s is an alias: bind the method where it is declared, as %s", t.Name,
			b.symbol(typ.(*types.Named), method))
	}
	for _, p := range params {
		if err := b.writable(t.Name, p.Constraint()); err != nil {
			return err
		}
	}
	if method != "" {
		return b.method(t, obj, typ.(*types.Named), method)
	}
	if isInterface {
		return b.iface(t, obj, iface)
	}
	return b.concrete(t, obj, typ)
}

// symbol returns the symbol with which a policy file binds a method.
func (b binder) symbol(named *types.Named, method string) string {
	obj := named.Obj()
	if obj.Pkg() == nil || obj.Pkg().Path() == b.home.Path {
		return obj.Name() + "." + method
	}
	return obj.Pkg().Path() + "." + obj.Name() + "." + method
}

// iface fills t with the description of an interface.
func (b binder) iface(t *Target, obj *types.TypeName, iface *types.Interface) error {
	t.Kind = Interface
	if !iface.IsMethodSet() {
		return fmt.Errorf("%s is a type constraint, and no value has its type: bind an interface with methods only", t.Name)
	}
	if iface.NumMethods() == 0 {
		return fmt.Errorf("%s has no methods: there is nothing to retry", t.Name)
	}
	for m := range iface.Methods() {
		if !m.Exported() && m.Pkg().Path() != b.home.Path {
			return b.sealed(t.Name, m)
		}
	}
	b.receive(obj.Type())
	return b.methods(t, obj, slices.Collect(iface.Methods()))
}

// concrete fills t with the description of a type and its exported methods.
func (b binder) concrete(t *Target, obj *types.TypeName, typ types.Type) error {
	t.Kind = Concrete
	set := types.NewMethodSet(types.NewPointer(typ))
	var methods []*types.Func
	for s := range set.Methods() {
		if m := s.Obj().(*types.Func); m.Exported() {
			methods = append(methods, m)
		}
	}
	if len(methods) == 0 {
		return fmt.Errorf("%s is not an interface and has no exported methods: bind a function, or export one", t.Name)
	}
	b.receive(types.NewPointer(typ))
	return b.methods(t, obj, methods)
}

// A MethodError is the error for a type that cannot be bound because of one of its
// methods.
type MethodError struct {
	Method string
	Err    error
}

// Error returns the text of Err.
func (e *MethodError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *MethodError) Unwrap() error { return e.Err }

// methods adds the methods of a type to t. It fails if one of them cannot be
// wrapped.
func (b binder) methods(t *Target, obj *types.TypeName, methods []*types.Func) error {
	t.Constraint, t.Offers = b.constraint(obj, methods...), b.offers(methods)
	for _, m := range methods {
		if err := b.valid(m); err != nil {
			return &MethodError{m.Name(), err}
		}
		f, err := b.wrappable(m)
		switch {
		case err != nil && t.Kind == Interface:
			return &MethodError{m.Name(), fmt.Errorf("this package cannot implement it: %w", err)}
		case err != nil:
			return &MethodError{m.Name(), fmt.Errorf("%w; or bind single methods, as %s.METHOD", err, t.Name)}
		}
		t.Methods = append(t.Methods, Method{Func: f, Pos: b.from.place(m)})
	}
	slices.SortFunc(t.Methods, func(a, b Method) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// method fills t with the description of a method.
func (b binder) method(t *Target, obj *types.TypeName, typ *types.Named, method string) (err error) {
	t.Kind = MethodOf
	m, err := b.member(typ, t.Name, method)
	if err != nil {
		return err
	}
	if b.from != b.home && !m.Exported() {
		return fmt.Errorf("package %s does not export %s.%s: bind it there, or export it", b.from.Path, t.Name, method)
	}
	recv := m.Signature().Recv()
	t.Recv = Param{Name: recv.Name(), Type: b.text(typ), typ: typ}
	_, pointer := recv.Type().(*types.Pointer)
	if declared, ok := types.Unalias(deref(recv.Type())).(*types.Named); !ok || declared.Origin() != typ.Origin() {
		// The method is promoted from an embedded field, so it has another receiver.
		t.Recv.Name, pointer = "", true
	}
	if pointer {
		t.Recv.Type = t.Recv.Type.Pointer()
	}
	t.Pos, t.Constraint = b.from.place(m), b.constraint(obj, m)
	b.receive(types.NewPointer(typ))
	t.Func, err = b.wrappable(m)
	return err
}

// member finds a method of the type with the given name.
func (b binder) member(typ *types.Named, name, method string) (*types.Func, error) {
	member, _, _ := types.LookupFieldOrMethod(types.NewPointer(typ), true, b.from.types, method)
	if m, ok := member.(*types.Func); ok {
		return m, nil
	}
	if why := b.from.whyExcluded(name + "." + method); why != "" {
		return nil, errors.New(why)
	}
	if err := b.ambiguous(typ, method); err != nil {
		return nil, err
	}
	var names []string
	for m := range typ.Methods() {
		if b.from == b.home || m.Exported() {
			names = append(names, m.Name())
		}
	}
	return nil, fmt.Errorf("%s has no method %s%s", name, method, DidYouMean(method, names))
}

// deref returns the element type of a pointer type, and other types unchanged.
func deref(t types.Type) types.Type {
	if p, ok := t.(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

// instantiateSelf returns a type with its own type parameters as type arguments. It also
// returns these parameters, and gives each a name. The signatures of the type's methods then
// refer to these parameters, although receivers may use other names.
func instantiateSelf(t types.Type) (types.Type, []*types.TypeParam) {
	generic, ok := t.(interface{ TypeParams() *types.TypeParamList })
	if !ok || generic.TypeParams().Len() == 0 {
		return types.Unalias(t), nil
	}
	params := withNames(generic.TypeParams())
	var args []types.Type
	for _, p := range params {
		args = append(args, p)
	}
	inst, err := types.Instantiate(nil, t, args, false)
	if err != nil {
		return types.Unalias(t), params
	}
	return types.Unalias(inst), params
}

// withNames returns type parameters, and gives a name to each blank one.
func withNames(list *types.TypeParamList) (params []*types.TypeParam) {
	taken := map[string]bool{}
	for p := range list.TypeParams() {
		taken[p.Obj().Name()] = true
	}
	for p := range list.TypeParams() {
		if p.Obj().Name() == "_" {
			name := "T"
			for n := 2; taken[name]; n++ {
				name = "T" + strconv.Itoa(n)
			}
			taken[name] = true
			// No constraint can refer to a blank parameter.
			p = types.NewTypeParam(types.NewTypeName(p.Obj().Pos(), p.Obj().Pkg(), name, nil), p.Constraint())
		}
		params = append(params, p)
	}
	return params
}

// typeParams describes type parameters.
func (b binder) typeParams(list []*types.TypeParam) (params []Param) {
	for _, p := range list {
		params = append(params, Param{Name: p.Obj().Name(), Type: b.text(p.Constraint()), typ: p})
	}
	return params
}
