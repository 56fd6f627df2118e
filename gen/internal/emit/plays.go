package emit

import (
	"reflect"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/retrygen/retrygen/gen/internal/bind"
	"github.com/retrygen/retrygen/runtime/retrytest"
)

// TestsFunc is the name of the generated test.
const TestsFunc = "TestRetryPolicies"

// A played is a function whose policy is tested.
type played struct {
	name   string // such as Store.Get
	policy *Policy
	call   []jen.Code // the body of a function with the parameters ctx and f
	direct bool       // the body calls the policy instead of the wrapper
}

// plays emits, for each policy that is tested,
//
//	// playsRead lists …
//	var playsRead = []retrytest.Play{ … }
//
// and the test that runs them.
func (p printer) plays(out *jen.File) {
	list := p.played()
	if len(list) == 0 {
		return
	}
	var cases []jen.Code
	emitted := map[string]bool{}
	for _, one := range list {
		plays := PlaysName(one.policy.Name)
		if !emitted[plays] {
			emitted[plays] = true
			p.playsOf(out, one.policy)
		}
		cases = append(cases, jen.Values(jen.Lit(one.name), jen.Id(plays), p.playFunc(one.call)))
	}
	p.comment(out, wrap(TestsFunc+" makes the attempts of each call fail in every way that its policy distinguishes. "+
		"It compares their number and the time of the call with what retrygen explain prints."))
	if slices.ContainsFunc(list, func(one played) bool { return one.direct }) {
		p.comment(out, "\n"+wrap("Where no double can replace the function of a wrapper, the test calls retry.Do with the "+
			"policy of the wrapper instead."))
	}
	t := jen.Id("t").Op("*").Qual("testing", "T")
	run := jen.Qual("testing/synctest", "Test").Call(jen.Id("t"), jen.Func().Params(t.Clone()).
		Block(jen.Id("play").Dot("Check").Call(jen.Id("t"), jen.Id("test").Dot("call"))))
	out.Func().Id(TestsFunc).Params(t.Clone()).Block(
		jen.Id("tests").Op(":=").Index().Struct(
			jen.Id("name").String(),
			jen.Id("plays").Index().Qual(RetrytestPath, "Play"),
			jen.Id("call").Add(p.playSignature()),
		).Custom(multiline, cases...),
		jen.For(jen.List(jen.Id("_"), jen.Id("test")).Op(":=").Range().Id("tests")).Block(
			jen.For(jen.List(jen.Id("_"), jen.Id("play")).Op(":=").Range().Id("test").Dot("plays")).Block(
				jen.Id("t").Dot("Run").Call(jen.Id("test").Dot("name").Op("+").Lit("/").Op("+").Id("play").Dot("Script"),
					jen.Func().Params(t.Clone()).Block(run)),
			),
		),
	).Line()
}

// PlaysName returns the name of the variable that holds the plays of a policy.
func PlaysName(policy string) string { return "plays" + camel(policy) }

// playsOf emits the plays of a policy.
func (p printer) playsOf(out *jen.File, policy *Policy) {
	var list []jen.Code
	for _, play := range p.file.playsOf(policy) {
		list = append(list, jen.Values(fieldsOf(reflect.ValueOf(play), given{})...))
	}
	p.comment(out, wrap(PlaysName(policy.Name)+" lists sequences of failures. Each has the number of attempts and the "+
		"longest time that policy "+policy.Name+" allows for a call that meets them."))
	out.Var().Id(PlaysName(policy.Name)).Op("=").Index().Qual(RetrytestPath, "Play").Custom(multiline, list...).Line()
}

// playsOf returns the plays of a policy whose outcome is certain. The error classes of the
// policy file may match injected errors. A class that tests for an interface may match any of
// them, and a class with an error of package context may match an attempt that hangs.
func (f *File) playsOf(policy *Policy) []retrytest.Play {
	var anything, ended bool
	for _, c := range f.Errors {
		anything = anything || slices.ContainsFunc(c.AsRefs, func(r bind.Ref) bool { return !r.Pointer && !r.Either })
		ended = ended || slices.ContainsFunc(c.IsRefs, func(r bind.Ref) bool { return r.Pkg == "context" })
	}
	return slices.DeleteFunc(policy.Plays(), func(play retrytest.Play) bool {
		hangs, permanent := strings.HasPrefix(play.Script, "hang"), strings.HasPrefix(play.Script, "permanent")
		return anything && !permanent || ended && hangs
	})
}

func (p printer) playSignature() *jen.Statement {
	return jen.Func().Params(jen.Qual("context", "Context"), jen.Op("*").Qual(RetrytestPath, "Faults"))
}

func (p printer) playFunc(body []jen.Code) *jen.Statement {
	return jen.Func().Params(jen.Id("ctx").Qual("context", "Context"),
		jen.Id("f").Op("*").Qual(RetrytestPath, "Faults")).Block(body...)
}

// played returns the functions that are tested, in the order of the wrappers. The generic
// functions of policies follow.
func (p printer) played() (list []played) {
	add := func(name string, policy *Policy, wrapper []jen.Code) {
		one := played{name, policy, wrapper, wrapper == nil}
		if one.direct {
			one.call = p.playPolicy(policy, name)
		}
		if len(p.file.playsOf(policy)) > 0 {
			list = append(list, one)
		}
	}
	for _, w := range p.file.Wrappers {
		if !w.Target.IsWhole() {
			add(symbol(w.Target), w.Use.Policy, nil)
			continue
		}
		for i, m := range w.Target.Methods {
			use := w.By[i]
			if use == nil {
				continue
			}
			var call []jen.Code
			if playable(w, m.Func, use) && !(use.shares() && p.file.sharesOutside()) {
				call = p.playWrapper(w, m.Func)
			}
			add(w.Target.Name+"."+m.Name, use.Policy, call)
		}
	}
	for i := range p.file.Policies {
		one := &p.file.Policies[i]
		if one.Func != "" {
			add(one.Func, one, nil)
		}
	}
	return list
}

// symbol returns the name of a function or method, such as Fetch or Client.Order.
func symbol(t *bind.Target) string {
	if t.Kind == bind.MethodOf {
		return t.Name + "." + t.Func.Name
	}
	return t.Name
}

// playable reports whether a test can call a method of a decorator that wraps a double. The
// call has zero values as arguments, and it must not call any function of the user.
func playable(w Wrapper, fn bind.Func, use *Use) bool {
	return len(w.Target.TypeParams) == 0 && fn.HasError && fn.Held == nil && fn.CtxType == "" &&
		(fn.Ctx >= 0 || fn.Request < 0) && len(use.rewinds(fn)) == 0 && use.Fallback == "" && use.Unit < 0
}

// sharesOutside reports whether NewShared returns a value that is held by a variable of the
// program. A test must not open a breaker that is held this way.
func (f *File) sharesOutside() bool {
	return slices.ContainsFunc(f.Breakers, func(b Breaker) bool { return b.From != nil }) ||
		slices.ContainsFunc(f.Budgets, func(b Budget) bool { return b.From != nil }) ||
		slices.ContainsFunc(f.Parts, func(part Part) bool { return part.From != nil })
}

// playPolicy emits
//
//	_, _ = retry.Do(ctx, &policyRead, f.Op("Fetch"))
func (p printer) playPolicy(policy *Policy, name string) []jen.Code {
	return []jen.Code{jen.List(jen.Id("_"), jen.Id("_")).Op("=").Qual(RuntimePath, "Do").
		Call(jen.Id("ctx"), policy.pointer(), jen.Id("f").Dot("Op").Call(jen.Lit(name)))}
}

// playWrapper emits
//
//	_, _ = NewRetryStore(NewFaultyStore(nil, f), NewShared()).Get(ctx, "")
func (p printer) playWrapper(w Wrapper, fn bind.Func) []jen.Code {
	double := jen.Id(ConstructorName(FaultyName(w.Target.Name))).Call(jen.Nil(), jen.Id("f"))
	args := []jen.Code{double}
	if w.shares() {
		args = append(args, jen.Id(SharedNew).Call())
	}
	var values []jen.Code
	for i, param := range fn.Params {
		switch {
		case i == fn.Ctx:
			values = append(values, jen.Id("ctx"))
		case fn.Variadic && i == len(fn.Params)-1:
		default:
			values = append(values, p.zero(param.Type))
		}
	}
	var blanks []jen.Code
	for range fn.Results {
		blanks = append(blanks, jen.Id("_"))
	}
	return []jen.Code{jen.List(blanks...).Op("=").Id(w.New).Call(args...).Dot(fn.Name).Call(values...)}
}

// zero emits the zero value of a type.
func (p printer) zero(t bind.Type) *jen.Statement {
	if len(t) > 0 && t[0].Pkg == "" {
		switch text := t[0].Text; {
		case len(t) == 1 && text == "string":
			return jen.Lit("")
		case len(t) == 1 && (text == "int" || text == "int64" || text == "int32" || text == "uint64"):
			return jen.Lit(0)
		case len(t) == 1 && text == "bool":
			return jen.False()
		case strings.HasPrefix(text, "*"), strings.HasPrefix(text, "[]"), strings.HasPrefix(text, "map["):
			return jen.Nil()
		}
	}
	return jen.Op("*").New(p.typ(t))
}
