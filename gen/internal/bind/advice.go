package bind

import (
	"errors"
	"fmt"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// ambiguous returns an error that names the embedded fields, if several of them have a method
// and the type therefore has none. Otherwise it returns nil.
func (b binder) ambiguous(typ *types.Named, method string) error {
	member, index, _ := types.LookupFieldOrMethod(typ, true, b.from.types, method)
	s, ok := typ.Underlying().(*types.Struct)
	if member != nil || index == nil || !ok {
		return nil
	}
	name := typ.Obj().Name()
	var holders, methods []string
	for f := range s.Fields() {
		m, _, _ := types.LookupFieldOrMethod(f.Type(), true, b.from.types, method)
		if !f.Embedded() || m == nil {
			continue
		}
		holders = append(holders, f.Name())
		if _, ok := m.(*types.Func); ok {
			methods = append(methods, f.Name()+"."+method)
		}
	}
	if len(holders) < 2 { // they are embedded deeper
		return fmt.Errorf("it is ambiguous, since several types that %s embeds have it: declare %s.%s", name, name, method)
	}
	return fmt.Errorf("it is ambiguous, since %s embeds %s, which have it: bind %s, or declare %s.%s",
		name, strings.Join(holders, " and "), strings.Join(methods, " or "), name, method)
}

// starts returns why a function that the Go runtime calls cannot be bound, or nil.
func (b binder) starts(obj *types.Func) error {
	if obj.Name() != "main" || b.from.Name != "main" {
		return nil
	}
	return errors.New("the program starts there, and nothing calls its wrapper: bind a function that main calls")
}

// sealed returns the error for an interface that only its own package can implement.
func (b binder) sealed(name string, m *types.Func) error {
	fix := "declare an interface of the methods that you use, and bind that"
	if b.home.edits(m.Pkg().Path()) {
		fix = "bind it there"
	}
	return fmt.Errorf("%s has the method %s, which only package %s can implement: %s", name, m.Name(), m.Pkg().Path(), fix)
}

// edits reports whether the user works on the package at path, because it belongs to a main
// module.
func (p *Package) edits(path string) (found bool) {
	if p.loaded == nil {
		return false
	}
	packages.Visit([]*packages.Package{p.loaded}, func(pkg *packages.Package) bool {
		found = found || pkg.PkgPath == path && pkg.Module != nil && pkg.Module.Main
		return !found
	}, nil)
	return found
}

// offers looks for a type that methods return and that has methods which return an error. It
// returns the symbol of the one with the shortest name, or "".
func (b binder) offers(methods []*types.Func) (symbol string) {
	var best *types.Named
	for _, m := range methods {
		for v := range m.Signature().Results().Variables() {
			named, ok := types.Unalias(deref(v.Type())).(*types.Named)
			if !ok || named.Obj().Pkg() == nil || !b.nameable(named.Obj()) || !hasFailing(named) {
				continue
			}
			if best == nil || len(named.Obj().Name()) < len(best.Obj().Name()) {
				best = named
			}
		}
	}
	if best == nil {
		return ""
	}
	return strings.TrimSuffix(b.symbol(best, ""), ".")
}

// hasFailing reports whether an exported method of a type returns an error.
func hasFailing(named *types.Named) bool {
	methods := slices.Collect(types.NewMethodSet(addressed(named)).Methods())
	return slices.ContainsFunc(methods, func(s *types.Selection) bool {
		f, ok := s.Obj().(*types.Func)
		return ok && f.Exported() && fails(f.Signature())
	})
}
