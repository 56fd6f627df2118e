package emit

import (
	"strings"
	"unicode"

	"github.com/dave/jennifer/jen"

	"github.com/retrygen/retrygen/gen/internal/bind"
)

// generic emits
//
//	// Read calls op until it succeeds or policy read gives up.
//	func Read[T any](ctx context.Context, op func(context.Context) (T, error)) (T, error) { … }
func (p printer) generic(out *jen.File, policy Policy) {
	context := bind.Type("\x00context\x00.Context")
	fn := bind.Func{
		Params:   []bind.Param{{Name: "ctx", Type: context}, {Name: "op", Type: "func(" + context + ") (T, error)"}},
		Results:  []bind.Param{{Type: "T"}, {Type: "error"}},
		HasError: true,
	}
	p.comment(out, policy.Func+" calls op until it succeeds or policy "+policy.Name+" gives up.")
	l := choose(fn, "", policy.Var)
	op := func(ctx jen.Code) *jen.Statement {
		if ctx == nil {
			ctx = jen.Id(l.params[0])
		}
		return jen.Id(l.params[1]).Call(ctx)
	}
	out.Func().Id(policy.Func).Types(jen.Id("T").Any()).
		Add(p.signature(fn, l)).Block(p.body(fn, l, &policy, op)...).Line()
}

// wrapper emits the wrapper of a function or method, or a decorator.
func (p printer) wrapper(out *jen.File, w Wrapper) {
	switch w.Target.Kind {
	case bind.Function:
		p.function(out, w)
	case bind.MethodOf:
		p.method(out, w)
	case bind.Interface:
		p.decorator(out, w)
	}
}

// function emits
//
//	func RetryFetch(ctx context.Context, id ID) (*User, error) { … Fetch(ctx, id) … }
func (p printer) function(out *jen.File, w Wrapper) {
	t := w.Target
	p.comment(out, funcDoc(w.Name, t.Func, w.Policy))
	l := choose(t.Func, "", append(p.aliasList(), t.Name, w.Policy.Var)...)
	callee := jen.Id(t.Name)
	if t.Pkg != "" {
		callee = jen.Qual(t.Pkg, t.Name)
	}
	callee.Add(typeArgs(t.TypeParams))
	out.Func().Id(w.Name).Add(p.typeParams(t.TypeParams)).
		Add(p.signature(t.Func, l)).Block(p.body(t.Func, l, w.Policy, callWith(callee, t.Func, l))...).Line()
}

// method emits, for a type of this package,
//
//	func (c *Client) RetryFetch(ctx context.Context, id ID) (*User, error) { … c.Fetch(ctx, id) … }
//
// and for another package's
//
//	func RetryClientFetch(c *api.Client, ctx context.Context, id ID) (*User, error) { … }
func (p printer) method(out *jen.File, w Wrapper) {
	t := w.Target
	recv := t.Recv.Name
	if unnamed(recv) {
		recv = receiverName(t.Name)
	}
	l := choose(t.Func, recv, append(p.aliasList(), w.Policy.Var)...)
	p.comment(out, funcDoc(w.Name, t.Func, w.Policy))
	call := callWith(jen.Id(l.recv).Dot(t.Func.Name), t.Func, l)
	receiver := jen.Id(l.recv).Add(p.typ(t.Recv.Type))
	if t.Pkg == "" {
		out.Func().Params(receiver).Id(w.Name).Add(p.signature(t.Func, l)).Block(p.body(t.Func, l, w.Policy, call)...).Line()
		return
	}
	out.Func().Id(w.Name).Add(p.typeParams(t.TypeParams)).
		Add(p.signature(t.Func, l, receiver)).Block(p.body(t.Func, l, w.Policy, call)...).Line()
}

// decorator emits the type, its constructor, Unwrap, and a method for each of
// the interface's.
func (p printer) decorator(out *jen.File, w Wrapper) {
	t := w.Target
	iface := jen.Id(t.Name)
	if t.Pkg != "" {
		iface = jen.Qual(t.Pkg, t.Name)
	}
	iface.Add(typeArgs(t.TypeParams))
	self := jen.Id(w.Name).Add(typeArgs(t.TypeParams))

	// type RetryStore struct { next Store }
	p.comment(out, wrap(w.Name+" is "+article(t.Name)+" that retries as the policies of "+p.file.Source+" say. "+w.New+" makes one."))
	out.Type().Id(w.Name).Add(p.typeParams(t.TypeParams)).Struct(jen.Id("next").Add(iface)).Line()

	// var _ Store = (*RetryStore)(nil)
	if len(t.TypeParams) == 0 {
		out.Var().Id("_").Add(iface).Op("=").Parens(jen.Op("*").Id(w.Name)).Call(jen.Nil()).Line()
	}

	// func NewRetryStore(next Store) *RetryStore { return &RetryStore{next: next} }
	p.comment(out, w.New+" returns "+article(t.Name)+" that calls next.")
	out.Func().Id(w.New).Add(p.typeParams(t.TypeParams)).Params(jen.Id("next").Add(iface)).Op("*").Add(self).
		Block(jen.Return(jen.Op("&").Add(self).Values(jen.Id("next").Op(":").Id("next")))).Line()

	recv := receiverName(t.Name)
	if !hasMethod(t, "Unwrap") {
		p.comment(out, "Unwrap returns the "+t.Name+" that is called.")
		out.Func().Params(jen.Id(recv).Op("*").Add(self)).Id("Unwrap").Params().Add(iface).
			Block(jen.Return(jen.Id(recv).Dot("next"))).Line()
	}
	for i, m := range t.Methods {
		outer := p.aliasList()
		if w.By[i] != nil {
			outer = append(outer, w.By[i].Var)
		}
		l := choose(m.Func, recv, outer...)
		call := callWith(jen.Id(l.recv).Dot("next").Dot(m.Name), m.Func, l)
		p.comment(out, funcDoc(m.Name, m.Func, w.By[i]))
		decl := out.Func().Params(jen.Id(l.recv).Op("*").Add(self)).Id(m.Name).Add(p.signature(m.Func, l))
		switch {
		case w.By[i] != nil:
			decl.Block(p.body(m.Func, l, w.By[i], call)...)
		case len(m.Results) > 0:
			decl.Block(jen.Return(call(nil)))
		default:
			decl.Block(call(nil))
		}
		decl.Line()
	}
}

// body emits the loop of ARCHITECTURE: the first call is peeled off, so that a
// success costs one comparison. Under a limit on time each attempt has a
// context of its own.
func (p printer) body(fn bind.Func, l locals, policy *Policy, call func(ctx jen.Code) *jen.Statement) []jen.Code {
	results := jen.List(ids(l.results)...)
	err := jen.Id(l.results[len(l.results)-1])
	success := jen.Return(jen.List(append(ids(l.results[:len(l.results)-1]), jen.Nil())...))
	assign := ":="
	if l.named {
		assign = "="
	}
	var ctx jen.Code = jen.Qual("context", "Background").Call()
	if fn.Ctx >= 0 {
		ctx = jen.Id(l.params[fn.Ctx])
	}
	begin := jen.Id(l.call).Op(":=").Id(policy.Var).Dot("Begin").Call()
	next := jen.If(err.Clone().Op("=").Id(l.call).Dot("Next").Call(ctx, err.Clone()), err.Clone().Op("!=").Nil()).
		Block(jen.Return(results.Clone()))

	if fn.Ctx >= 0 && (policy.AttemptTimeout > 0 || policy.Timeout > 0) {
		attempt := jen.Id(l.call).Dot("Attempt").Call(ctx)
		return []jen.Code{
			begin,
			jen.Defer().Id(l.call).Dot("End").Call(),
			jen.For().Block(
				results.Clone().Op(assign).Add(call(attempt)),
				jen.If(err.Clone().Op("==").Nil()).Block(success),
				next,
			),
		}
	}
	return []jen.Code{
		results.Clone().Op(assign).Add(call(nil)),
		jen.If(err.Clone().Op("==").Nil()).Block(success),
		jen.For(begin, jen.Empty(), jen.Empty()).Block(
			next,
			jen.If(results.Clone().Op("=").Add(call(nil)), err.Clone().Op("==").Nil()).Block(success.Clone()),
		),
	}
}

// callWith returns a maker of calls of callee, with ctx in the place of the
// context unless it is nil.
func callWith(callee *jen.Statement, fn bind.Func, l locals) func(ctx jen.Code) *jen.Statement {
	return func(ctx jen.Code) *jen.Statement {
		args := ids(l.params)
		if ctx != nil && fn.Ctx >= 0 {
			args[fn.Ctx] = ctx
		}
		if fn.Variadic {
			args[len(args)-1] = jen.Id(l.params[len(args)-1]).Op("...")
		}
		return callee.Clone().Call(args...)
	}
}

// signature emits parameters, after the extra ones, and results.
func (p printer) signature(fn bind.Func, l locals, extra ...jen.Code) *jen.Statement {
	params := extra
	for i, param := range fn.Params {
		one := jen.Id(l.params[i])
		if fn.Variadic && i == len(fn.Params)-1 {
			one.Op("...")
		}
		params = append(params, one.Add(p.typ(param.Type)))
	}
	var results []jen.Code
	for i, result := range fn.Results {
		one := jen.Null()
		if l.named {
			one = jen.Id(l.results[i])
		}
		results = append(results, one.Add(p.typ(result.Type)))
	}
	s := jen.Params(params...)
	switch {
	case len(results) == 1 && !l.named:
		return s.Add(results[0])
	case len(results) > 0:
		return s.Params(results...)
	}
	return s
}

func (p printer) typeParams(params []bind.Param) *jen.Statement {
	if len(params) == 0 {
		return jen.Null()
	}
	var list []jen.Code
	for _, tp := range params {
		list = append(list, jen.Id(tp.Name).Add(p.typ(tp.Type)))
	}
	return jen.Types(list...)
}

func typeArgs(params []bind.Param) *jen.Statement {
	if len(params) == 0 {
		return jen.Null()
	}
	var names []string
	for _, tp := range params {
		names = append(names, tp.Name)
	}
	return jen.Types(ids(names)...)
}

// typ emits a type.
func (p printer) typ(t bind.Type) *jen.Statement {
	s := jen.Null()
	for _, piece := range t.Split() {
		if piece.Pkg == "" {
			s.Op(piece.Text)
		} else {
			s.Qual(piece.Pkg, piece.Text)
		}
	}
	return s
}

// aliasList returns the names of imports: a parameter must not hide one that
// the body needs.
func (p printer) aliasList() []string {
	return []string{p.aliases["context"]}
}

// comment emits text as line comments. It is the only way a comment goes out:
// each line is prefixed with "// ", so that no text of a policy file or a doc
// comment can become a directive or end the comment.
func (p printer) comment(out *jen.File, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) && r != '\t' {
				return ' '
			}
			return r
		}, line)
		out.Comment(strings.TrimRight("// "+line, " \t"))
	}
}

// funcDoc is the doc comment of the wrapper name of fn.
func funcDoc(name string, fn bind.Func, policy *Policy) string {
	doc := fn.Doc
	if doc == "" {
		if policy == nil {
			return name + " calls " + fn.Name + " of the wrapped value, once."
		}
		return name + " calls " + fn.Name + " until it succeeds or policy " + policy.Name + " gives up."
	}
	if rest, ok := strings.CutPrefix(doc, fn.Name+" "); ok {
		doc = name + " " + rest
	}
	switch {
	case policy == nil && !fn.HasError:
		return doc
	case policy == nil:
		return doc + "\n\nPolicy: none."
	}
	return doc + "\n\nPolicy: " + policy.Name + "."
}

// article returns name after "a" or "an".
func article(name string) string {
	if strings.ContainsRune("AEIOUaeiou", []rune(name)[0]) {
		return "an " + name
	}
	return "a " + name
}

func receiverName(typeName string) string {
	return strings.ToLower(string([]rune(typeName)[:1]))
}

func hasMethod(t *bind.Target, name string) bool {
	for _, m := range t.Methods {
		if m.Name == name {
			return true
		}
	}
	return false
}

func ids(names []string) []jen.Code {
	codes := make([]jen.Code, len(names))
	for i, name := range names {
		codes[i] = jen.Id(name)
	}
	return codes
}
