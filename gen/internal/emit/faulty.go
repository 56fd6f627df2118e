package emit

import (
	"go/token"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/retrygen/retrygen/gen/internal/bind"
)

// FaultsTag is the build tag of doubles in builds that inject faults.
const FaultsTag = "retryfaults"

// RetrytestPath is the import path of package retrytest. Only doubles import it.
const RetrytestPath = RuntimePath + "/retrytest"

// FaultyName returns the name of the double of a type.
func FaultyName(name string) string {
	if token.IsExported(name) {
		return "Faulty" + name
	}
	return "faulty" + upperFirst(name)
}

// HasDoubles reports whether the file binds whole types.
func (f *File) HasDoubles() bool { return len(f.whole()) > 0 }

// HasTests reports whether the file has doubles, or policies whose plays a test can run.
func (f *File) HasTests() bool { return f.HasDoubles() || len(printer{file: *f}.played()) > 0 }

// RenderFaults returns the source of the doubles of the bound types, for builds with the tag
// FaultsTag.
func RenderFaults(f File) ([]byte, error) {
	return render(f, FaultsTag, []string{RetrytestPath}, printer.doubles)
}

// RenderTests returns the source of the doubles and the tests of f, for tests in builds without
// the tag FaultsTag.
func RenderTests(f File) ([]byte, error) {
	return render(f, "!"+FaultsTag, []string{RetrytestPath, "testing", "testing/synctest"},
		func(p printer, out *jen.File) {
			p.doubles(out)
			p.plays(out)
		})
}

// doubles emits the doubles of all bound types.
func (p printer) doubles(out *jen.File) {
	for _, w := range p.file.whole() {
		p.double(out, w)
	}
}

// whole returns the wrappers of whole types.
func (f *File) whole() []Wrapper {
	return slices.DeleteFunc(slices.Clone(f.Wrappers), func(w Wrapper) bool { return !w.Target.IsWhole() })
}

// double emits
//
//	// FaultyStore is a Store into whose calls a retrytest.Faults injects failures.
//	type FaultyStore struct { next Store; faults *retrytest.Faults }
//
// with its constructor and one method for each method of the bound type.
func (p printer) double(out *jen.File, w Wrapper) {
	t := w.Target
	name := FaultyName(t.Name)
	iface, self := named(t), jen.Id(name).Add(typeArgs(t.TypeParams))
	if t.Kind == bind.Concrete {
		iface = jen.Id(w.Iface).Add(typeArgs(t.TypeParams))
	}
	fields := scope{}
	for _, m := range t.Methods {
		fields[m.Name] = true
	}
	next, faults := fields.name("next"), fields.name("faults")
	faultsType := jen.Op("*").Qual(RetrytestPath, "Faults")

	p.comment(out, wrap(name+" is "+article(t.Name)+" into whose calls a retrytest.Faults injects failures. "+
		"Create one with "+ConstructorName(name)+"."))
	out.Type().Id(name).Add(p.typeParams(t.TypeParams)).
		Struct(jen.Id(next).Add(iface), jen.Id(faults).Add(faultsType)).Line()
	if len(t.TypeParams) == 0 {
		out.Var().Id("_").Add(iface).Op("=").Parens(jen.Op("*").Id(name)).Call(jen.Nil()).Line()
	}

	s := scope{}
	for _, name := range typeNames(t) {
		s[name] = true
	}
	nextParam, faultsParam := s.name("next"), s.name("faults")
	p.comment(out, wrap(ConstructorName(name)+" returns "+article(t.Name)+" that calls next unless faults injects "+
		"a failure. Only methods whose last result is an error can fail. If next is nil, they return zero values, and "+
		"no other method may be called."))
	out.Func().Id(ConstructorName(name)).Add(p.typeParams(t.TypeParams)).
		Params(jen.Id(nextParam).Add(iface), jen.Id(faultsParam).Add(faultsType)).Op("*").Add(self).
		Block(jen.Return(jen.Op("&").Add(self).Values(
			jen.Id(next).Op(":").Id(nextParam), jen.Id(faults).Op(":").Id(faultsParam)))).Line()

	for _, m := range t.Methods {
		p.doubleMethod(out, w, m.Func, jen.Op("*").Add(self), next, faults)
	}
}

// doubleMethod emits one method of a double. next and faults are the names of its fields.
func (p printer) doubleMethod(out *jen.File, w Wrapper, fn bind.Func, self *jen.Statement, next, faults string) {
	outer := append(p.outer(w, fn, nil), p.aliases[RetrytestPath], "error")
	for _, r := range fn.Results {
		for _, piece := range r.Type {
			if piece.Pkg == "" {
				outer = append(outer, identifier.FindAllString(piece.Text, -1)...)
			} else {
				outer = append(outer, p.aliases[piece.Pkg])
			}
		}
	}
	l := choose(fn, receiverName(w.Target.Name), outer...)
	recv := jen.Id(l.recv)
	call := callWith(recv.Clone().Dot(next).Dot(fn.Name), fn, l)(nil)
	doc := fn.Name + " calls " + fn.Name + " of the wrapped value"
	if fn.HasError {
		doc += ", unless a fault is injected"
	}
	p.comment(out, doc+".")
	decl := out.Func().Params(recv.Clone().Add(self)).Id(fn.Name).Add(p.signature(fn, l))
	switch {
	case fn.HasError:
		decl.Block(p.faulty(fn, l, w.Target.Name+"."+fn.Name, recv.Clone().Dot(next), recv.Clone().Dot(faults), call)...)
	case len(fn.Results) > 0:
		decl.Block(jen.Return(call))
	default:
		decl.Block(call)
	}
	decl.Line()
}

// faulty emits the body of a method that may fail:
//
//	var user *User
//	var err error
//	before, after := s.faults.Begin(ctx, "Store.Get", id)
//	if err = before; err != nil || s.next == nil {
//		return user, err
//	}
//	if user, err = s.next.Get(ctx, id); err == nil {
//		err = after
//	}
//	return user, err
func (p printer) faulty(fn bind.Func, l locals, name string, next, faults, call *jen.Statement) []jen.Code {
	ctx := jen.Qual("context", "Background").Call()
	switch {
	case fn.Ctx >= 0:
		ctx = jen.Id(l.params[fn.Ctx])
	case fn.Request >= 0:
		ctx = jen.Id(l.params[fn.Request]).Dot("Context").Call()
	}
	args := []jen.Code{ctx, jen.Lit(name)}
	for i, param := range l.params {
		if i != fn.Ctx {
			args = append(args, jen.Id(param))
		}
	}
	err, results := jen.Id(l.err), jen.List(ids(l.results)...)
	return append(p.declare(fn, l),
		jen.List(jen.Id(l.before), jen.Id(l.after)).Op(":=").Add(faults).Dot("Begin").Call(args...),
		jen.If(err.Clone().Op("=").Id(l.before), err.Clone().Op("!=").Nil().Op("||").Add(next).Op("==").Nil()).
			Block(jen.Return(results.Clone())),
		jen.If(results.Clone().Op("=").Add(call), err.Clone().Op("==").Nil()).Block(err.Clone().Op("=").Id(l.after)),
		jen.Return(results.Clone()),
	)
}
