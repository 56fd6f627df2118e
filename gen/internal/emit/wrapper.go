package emit

import (
	"go/build/constraint"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dave/jennifer/jen"

	"github.com/retrygen/retrygen/gen/internal/bind"
)

// generic emits
//
//	// Read calls op until it succeeds or policy read stops retrying.
//	func Read[T any](ctx context.Context, op func(context.Context) (T, error)) (T, error) { … }
func (p printer) generic(out *jen.File, policy Policy) {
	fn := bind.Func{
		Params: []bind.Param{{Name: "ctx", Type: bind.ContextType},
			{Name: "op", Type: bind.Join(bind.TypeText("func("), bind.ContextType, bind.TypeText(") (T, error)"))}},
		Results:  []bind.Param{{Type: bind.TypeText("T")}, {Type: bind.TypeText("error")}},
		HasError: true,
		Request:  -1,
	}
	p.comment(out, policy.Func+" calls op until it succeeds or policy "+policy.Name+" stops retrying.")
	use := &Use{Policy: &policy, Unit: -1}
	l := choose(fn, "", p.outer(Wrapper{}, fn, use)...)
	op := func(ctx jen.Code) *jen.Statement {
		if ctx == nil {
			ctx = jen.Id(l.params[0])
		}
		return jen.Id(l.params[1]).Call(ctx)
	}
	out.Func().Id(policy.Func).Types(jen.Id("T").Any()).
		Add(p.signature(fn, l)).Block(p.body(fn, l, use, jen.Id(SharedDefault), nil, op).code()...).Line()
}

// outer returns the names declared outside a wrapper that its signature and its body use. No
// parameter may hide them.
func (p printer) outer(w Wrapper, fn bind.Func, use *Use) []string {
	names := []string{p.aliases["context"], "nil"}
	if w.Target != nil {
		names = append(names, typeNames(w.Target)...)
		names = append(names, p.aliases[w.Target.Pkg])
	}
	if use == nil {
		return names
	}
	names = append(names, use.Var)
	if use.Step != nil {
		names = append(names, "error", use.Step.Var, p.aliases[DurablePath], p.aliases[StepAPIPath], p.aliases["errors"])
	}
	if use.Step != nil || use.declares(fn) {
		for _, r := range fn.Results {
			for _, piece := range r.Type {
				if piece.Pkg != "" {
					names = append(names, p.aliases[piece.Pkg])
				} else {
					names = append(names, identifier.FindAllString(piece.Text, -1)...)
				}
			}
		}
	}
	if use.Fallback != "" {
		names = append(names, use.Fallback)
	}
	for _, judge := range []bind.Check{use.Check, use.Release} {
		if judge.Name != "" {
			names = append(names, judge.Name)
		}
	}
	if use.Key || use.shares() || use.Unit >= 0 {
		names = append(names, p.aliases[RuntimePath], p.aliases[CapacityPath], p.aliases[HedgePath], SharedDefault)
	}
	if fn.Held != nil {
		names = append(names, p.aliases[GenapiPath])
	}
	if fn.Held != nil && fn.Held.Nil {
		names = append(names, p.aliases["context"])
	}
	if len(use.rewinds(fn)) > 0 {
		names = append(names, p.aliases[GenapiPath], p.aliases[RequestPath])
	}
	return names
}

var identifier = regexp.MustCompile(`[\pL_][\pL_\p{Nd}]*`)

// typeNames returns the names of the type parameters of t.
func typeNames(t *bind.Target) (names []string) {
	for _, tp := range t.TypeParams {
		names = append(names, tp.Name)
	}
	return names
}

// body returns the body of a wrapper. shared is the struct with its breaker and budget. self is
// the receiver of the callee, unless that is a parameter.
func (p printer) body(fn bind.Func, l locals, use *Use, shared, self *jen.Statement,
	call func(ctx jen.Code) *jen.Statement) body {
	b := body{fn: fn, l: l, use: use, call: call, self: self, shared: shared, group: jen.Id(l.recv),
		declared: p.declare(fn, l), types: p.resultTypes(fn)}
	if fn.TakesError {
		elem, _ := fn.Results[0].Type.Elem()
		b.empty = p.typ(elem)
	}
	return b
}

// wrapper emits the wrapper of a function or method, or a decorator.
func (p printer) wrapper(out *jen.File, w Wrapper) {
	p.steps(out, w)
	switch w.Target.Kind {
	case bind.Function:
		p.function(out, w)
	case bind.MethodOf:
		p.method(out, w)
	case bind.Interface, bind.Concrete:
		p.decorator(out, w)
	}
}

// function emits
//
//	func RetryFetch(ctx context.Context, id ID) (*User, error) { … Fetch(ctx, id) … }
//
// In a group, the wrapper is a method of the group's type.
func (p printer) function(out *jen.File, w Wrapper) {
	t := w.Target
	l := choose(t.Func, w.receiver(), append(p.outer(w, t.Func, w.Use), t.Name)...)
	p.comment(out, funcDoc(w.Name, t.Func, w.Use, l))
	callee := jen.Id(t.Name)
	if t.Pkg != "" {
		callee = jen.Qual(t.Pkg, t.Name)
	}
	callee.Add(typeArgs(t.TypeParams))
	b := p.body(t.Func, l, w.Use, jen.Id(SharedDefault), nil, callWith(callee, t.Func, l))
	out.Func().Add(w.group(l)).Id(w.Name).Add(p.typeParams(t.TypeParams)).
		Add(p.signature(t.Func, l)).Block(b.code()...).Line()
	p.job(out, w, b, callee)
}

// receiver returns the name of the receiver of a wrapper in a group, or "".
func (w *Wrapper) receiver() string {
	if w.Group == nil {
		return ""
	}
	return receiverName(w.Group.Name)
}

// group emits the receiver of a wrapper in a group: (i *Import)
func (w *Wrapper) group(l locals) *jen.Statement {
	if w.Group == nil {
		return jen.Null()
	}
	return jen.Params(jen.Id(l.recv).Op("*").Id(w.Group.Name))
}

// method emits, for a method of a type in this package,
//
//	func (c *Client) RetryFetch(ctx context.Context, id ID) (*User, error) { … c.Fetch(ctx, id) … }
//
// and for a method of a type in another package,
//
//	func RetryClientFetch(c *api.Client, ctx context.Context, id ID) (*User, error) { … }
//
// In a group, it emits the second form as a method of the group's type.
func (p printer) method(out *jen.File, w Wrapper) {
	t := w.Target
	recv := t.Recv.Name
	if unnamed(recv) {
		recv = receiverName(t.Name)
	}
	if t.Pkg == "" && w.Group == nil {
		l := choose(t.Func, recv, p.outer(w, t.Func, w.Use)...)
		p.comment(out, funcDoc(w.Name, t.Func, w.Use, l))
		self := jen.Id(l.recv)
		call := callWith(self.Clone().Dot(t.Func.Name), t.Func, l)
		b := p.body(t.Func, l, w.Use, jen.Id(SharedDefault), self, call)
		out.Func().Params(self.Clone().Add(p.typ(t.Recv.Type))).Id(w.Name).
			Add(p.signature(t.Func, l)).Block(b.code()...).Line()
		p.job(out, w, b, self.Clone().Dot(t.Func.Name))
		return
	}
	// The receiver becomes the first parameter.
	fn := t.Func.WithReceiver(bind.Param{Name: recv, Type: t.Recv.Type})
	use := *w.Use
	use.recv = true
	if use.Unit >= 0 {
		use.Unit++
	}
	l := choose(fn, w.receiver(), p.outer(w, fn, &use)...)
	p.comment(out, funcDoc(w.Name, fn, &use, l))
	own := l
	own.params = l.params[1:]
	call := callWith(jen.Id(l.params[0]).Dot(t.Func.Name), t.Func, own)
	b := p.body(fn, l, &use, jen.Id(SharedDefault), nil, call)
	out.Func().Add(w.group(l)).Id(w.Name).Add(p.typeParams(t.TypeParams)).
		Add(p.signature(fn, l)).Block(b.code()...).Line()
	p.job(out, w, b, jen.Id(l.params[0]).Dot(t.Func.Name))
}

// callWith returns a function that emits a call of callee with the context ctx. If ctx is nil,
// the call passes on the context in the parameters.
func callWith(callee *jen.Statement, fn bind.Func, l locals) func(ctx jen.Code) *jen.Statement {
	return func(ctx jen.Code) *jen.Statement {
		args := ids(l.params)
		switch {
		case ctx == nil:
		case fn.Ctx >= 0:
			args[fn.Ctx] = ctx
		case fn.Request >= 0:
			args[fn.Request] = jen.Add(args[fn.Request]).Dot("WithContext").Call(ctx)
		}
		if fn.Variadic {
			args[len(args)-1] = jen.Id(l.params[len(args)-1]).Op("...")
		}
		return callee.Clone().Call(args...)
	}
}

// signature emits the parameters of fn, preceded by the extra ones, and its results.
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

// typeParams emits the declaration of type parameters.
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

// typeArgs emits type parameters as type arguments.
func typeArgs(params []bind.Param) *jen.Statement {
	if len(params) == 0 {
		return jen.Null()
	}
	return jen.Types(ids(typeNames(&bind.Target{TypeParams: params}))...)
}

// typ emits a type.
func (p printer) typ(t bind.Type) *jen.Statement {
	s := jen.Null()
	for _, piece := range t {
		if piece.Pkg == "" {
			s.Op(piece.Text)
		} else {
			s.Qual(piece.Pkg, piece.Text)
		}
	}
	return s
}

// comment emits text as line comments. All comments are emitted by this method. Each line
// begins with "// ", so that no text of a policy file or a doc comment can become a directive
// or end the comment. A line that begins with "+build" would be a directive even after a space,
// so the line is quoted.
func (p printer) comment(out *jen.File, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) && r != '\t' {
				return ' '
			}
			return r
		}, line)
		line = "// " + line
		if constraint.IsPlusBuild(line) {
			line = "// " + strconv.Quote(strings.TrimSpace(line[2:]))
		}
		out.Comment(strings.TrimRight(line, " \t"))
	}
}

// funcDoc returns the doc comment of a wrapper. name is the name of the wrapper of fn, and l
// holds the names inside it.
func funcDoc(name string, fn bind.Func, policy *Use, l locals) string {
	doc := fn.Doc
	if doc == "" {
		if policy == nil {
			return name + " calls " + fn.Name + " of the wrapped value, once."
		}
		doc = name + " calls " + fn.Name + " until it succeeds or policy " + policy.Name + " stops retrying."
		if policy.Step != nil {
			doc = wrap(doc) + "\n\n" + wrap(stepDoc(fn, policy, l))
		}
		return doc
	}
	if rest, ok := strings.CutPrefix(doc, fn.Name+" "); ok {
		doc = name + " " + rest
	}
	switch {
	case policy == nil && !fn.HasError:
		return doc
	case policy == nil:
		return doc + "\n\nPolicy: none."
	case policy.Step != nil:
		return doc + "\n\n" + wrap("Policy: "+policy.Name+". "+stepDoc(fn, policy, l))
	}
	return doc + "\n\nPolicy: " + policy.Name + "."
}

// article returns name with the article "a" or "an" before it.
func article(name string) string {
	if strings.ContainsRune("AEIOUaeiou", []rune(name)[0]) {
		return "an " + name
	}
	return "a " + name
}

// receiverName returns the first letter of a type's name, in lower case.
func receiverName(typeName string) string {
	if i := strings.IndexFunc(typeName, unicode.IsLetter); i >= 0 {
		r, _ := utf8.DecodeRuneInString(typeName[i:])
		return string(unicode.ToLower(r))
	}
	return "r"
}

// ids emits names as identifiers.
func ids(names []string) []jen.Code {
	codes := make([]jen.Code, len(names))
	for i, name := range names {
		codes[i] = jen.Id(name)
	}
	return codes
}
