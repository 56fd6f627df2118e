package emit

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/retrygen/retrygen/gen/internal/bind"
)

// A decorator emits the wrapper of a whole type.
type decorator struct {
	printer
	Wrapper
	iface, self  *jen.Statement // Store and RetryStore, with type arguments
	next, shared string         // names of the fields
}

// decorator emits the type, its constructor, Unwrap, and one method for each
// method of the bound type.
func (p printer) decorator(out *jen.File, w Wrapper) {
	t := w.Target
	d := decorator{printer: p, Wrapper: w, iface: named(t), self: jen.Id(w.Name).Add(typeArgs(t.TypeParams))}
	// A field and a method cannot have the same name.
	s := scope{}
	for _, m := range t.Methods {
		s[m.Name] = true
	}
	d.next, d.shared = s.name("next"), s.name("shared")
	if t.Kind == bind.Concrete {
		d.iface = jen.Id(w.Iface).Add(typeArgs(t.TypeParams))
		d.methodsOf(out)
	}
	d.structType(out)
	d.constructor(out)
	recv := receiverName(t.Name)
	// go vet requires that the method Unwrap of an error returns an error.
	if !hasMethod(t, "Unwrap") && !hasMethod(t, "Error") {
		l := choose(bind.Func{Ctx: -1, Request: -1}, recv, typeNames(t)...)
		p.comment(out, "Unwrap returns the wrapped "+t.Name+".")
		out.Func().Params(jen.Id(l.recv).Op("*").Add(d.self)).Id("Unwrap").Params().Add(d.iface).
			Block(jen.Return(jen.Id(l.recv).Dot(d.next))).Line()
	}
	for i, m := range t.Methods {
		d.method(out, m.Func, d.By[i])
	}
}

// named emits the name of a bound type, with its type parameters as arguments.
func named(t *bind.Target) *jen.Statement {
	s := jen.Id(t.Name)
	if t.Pkg != "" {
		s = jen.Qual(t.Pkg, t.Name)
	}
	return s.Add(typeArgs(t.TypeParams))
}

// methodsOf emits
//
//	// ClientMethods lists the methods that …
//	type ClientMethods interface { … }
//
//	var _ ClientMethods = (*Client)(nil)
func (d decorator) methodsOf(out *jen.File) {
	t := d.Target
	var methods []jen.Code
	for _, m := range t.Methods {
		methods = append(methods,
			jen.Id(m.Name).Add(d.signature(m.Func, choose(m.Func, "", d.outer(d.Wrapper, m.Func, nil)...))))
	}
	d.comment(out,
		wrap(d.Iface+" lists the methods that *"+t.Name+" and "+d.Name+
			" have in common. A parameter of this type accepts either."))
	out.Type().Id(d.Iface).Add(d.typeParams(t.TypeParams)).Interface(methods...).Line()
	if len(t.TypeParams) == 0 {
		out.Var().Id("_").Add(d.iface).Op("=").Parens(jen.Op("*").Add(named(t))).Call(jen.Nil()).Line()
	}
}

// structType emits
//
//	type RetryStore struct { next Store }
//
//	var _ Store = (*RetryStore)(nil)
func (d decorator) structType(out *jen.File) {
	fields := []jen.Code{jen.Id(d.next).Add(d.iface)}
	if d.shares() {
		fields = append(fields, jen.Id(d.shared).Op("*").Id(SharedType))
	}
	d.comment(out,
		wrap(d.Name+" is "+article(d.Target.Name)+" that retries calls according to "+d.file.Source+". Create one "+
			"with "+d.New+"."))
	out.Type().Id(d.Name).Add(d.typeParams(d.Target.TypeParams)).Struct(fields...).Line()
	if len(d.Target.TypeParams) == 0 {
		out.Var().Id("_").Add(d.iface).Op("=").Parens(jen.Op("*").Id(d.Name)).Call(jen.Nil()).Line()
	}
}

// constructor emits
//
//	func NewRetryStore(next Store) *RetryStore { return &RetryStore{next: next} }
func (d decorator) constructor(out *jen.File) {
	s := scope{}
	for _, name := range typeNames(d.Target) {
		s[name] = true
	}
	next, shared := s.name("next"), s.name("shared")
	params := []jen.Code{jen.Id(next).Add(d.iface)}
	values := []jen.Code{jen.Id(d.next).Op(":").Id(next)}
	var defaults []jen.Code
	doc := d.New + " returns " + article(d.Target.Name) + " that calls next."
	if d.shares() {
		params = append(params, jen.Id(shared).Op("*").Id(SharedType))
		values = append(values, jen.Id(d.shared).Op(":").Id(shared))
		doc += " If shared is nil, it uses " + SharedDefault + "."
		defaults = append(defaults, jen.If(jen.Id(shared).Op("==").Nil()).Block(jen.Id(shared).Op("=").Id(SharedDefault)))
	}
	d.comment(out, wrap(doc))
	out.Func().Id(d.New).Add(d.typeParams(d.Target.TypeParams)).Params(params...).Op("*").Add(d.self).
		Block(append(defaults, jen.Return(jen.Op("&").Add(d.self).Values(values...)))...).Line()
}

// method emits one method. If use is nil, the method calls next once, without retries.
func (d decorator) method(out *jen.File, fn bind.Func, use *Use) {
	l := choose(fn, receiverName(d.Target.Name), d.outer(d.Wrapper, fn, use)...)
	self := jen.Id(l.recv).Dot(d.next)
	call := callWith(self.Clone().Dot(fn.Name), fn, l)
	d.comment(out, funcDoc(fn.Name, fn, use, l))
	decl := out.Func().Params(jen.Id(l.recv).Op("*").Add(d.self)).Id(fn.Name).Add(d.signature(fn, l))
	switch {
	case use != nil:
		decl.Block(d.body(fn, l, use, jen.Id(l.recv).Dot(d.shared), self, call).code()...)
	case len(fn.Results) > 0:
		decl.Block(jen.Return(call(nil)))
	default:
		decl.Block(call(nil))
	}
	decl.Line()
}

// shares reports whether any method shares state with other calls.
func (w *Wrapper) shares() bool {
	return slices.ContainsFunc(w.By, func(u *Use) bool { return u != nil && u.shares() })
}

// hasMethod reports whether t has a method called name.
func hasMethod(t *bind.Target, name string) bool {
	return slices.ContainsFunc(t.Methods, func(m bind.Method) bool { return m.Name == name })
}
