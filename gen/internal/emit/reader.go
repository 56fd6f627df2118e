package emit

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/retrygen/retrygen/gen/internal/bind"
)

// This file emits the code with which a reader reads an error of its type: the access to each
// path, and the switch over codes.

// read emits
//
//	if e, ok := errors.AsType[*acme.Error](err); ok {
//		f.Status = e.Code
//	}
func (r *Reader) read() jen.Code {
	var body []jen.Code
	read := func(p *bind.Path, use func(*jen.Statement) []jen.Code) {
		if p != nil {
			body = append(body, guarded(p, p.Steps, jen.Id("e"), use)...)
		}
	}
	set := func(field string) func(jen.Code) []jen.Code {
		return func(value jen.Code) []jen.Code { return []jen.Code{jen.Id("f").Dot(field).Op("=").Add(value)} }
	}
	read(r.Response, func(v *jen.Statement) []jen.Code {
		return []jen.Code{jen.Id("f").Op("=").Qual(RequestPath, "Facts").Call(v)}
	})
	read(r.Status, func(v *jen.Statement) []jen.Code {
		if r.Status.Plain {
			return set("Status")(v)
		}
		return set("Status")(jen.Int().Call(v))
	})
	read(r.GRPC, func(v *jen.Statement) []jen.Code { return set("GRPC")(jen.Uint32().Call(v)) })
	read(r.RetryAfter, func(v *jen.Statement) []jen.Code {
		if r.RetryAfter.Kind == bind.ValueHeader { // Wait also handles headers that cannot be parsed
			return set("RetryAfter")(jen.Qual(RequestPath, "Wait").Call(v, jen.Id("f").Dot("Status")))
		}
		// A time in the past asks for no wait. Neither does -1, which many clients use for the
		// absence of a wait.
		asked := jen.Id("wait").Op(":=").Add(wait(r.RetryAfter, v))
		return []jen.Code{jen.If(asked, jen.Id("wait").Op(">").Lit(0)).Block(set("RetryAfter")(jen.Id("wait"))...)}
	})
	if r.Outcome != "" {
		body = append(body, assign(r.Outcome))
	}
	read(r.Lookup, r.lookup)
	function, name := jen.Qual("errors", "AsType"), "e"
	if r.Type.Either {
		function = jen.Qual(GenapiPath, "AsValue")
	}
	if len(r.paths()) == 0 {
		name = "_"
	}
	typ := r.Type
	typ.Pointer = typ.Pointer && !typ.Either
	return jen.If(jen.List(jen.Id(name), jen.Id("ok")).Op(":=").Add(function).Types(reference(typ)).Call(jen.Err()),
		jen.Id("ok")).Block(body...)
}

// wait emits the conversion of a value to a duration. A duration of 0 or less means that there
// is no wait.
func wait(p *bind.Path, v *jen.Statement) jen.Code {
	switch p.Kind {
	case bind.ValueTime:
		return jen.Qual("time", "Until").Call(v)
	case bind.ValueInteger:
		return jen.Qual("time", "Duration").Call(v).Op("*").Qual("time", "Second")
	}
	return v
}

// guarded emits the code that use returns for the value of a path that begins at base. It wraps
// the code in the nil checks and the loops that the steps of the path need.
func guarded(p *bind.Path, steps []bind.Step, base *jen.Statement, use func(*jen.Statement) []jen.Code) []jen.Code {
	var tests []jen.Code
	inside := func(body []jen.Code) []jen.Code {
		if len(tests) == 0 {
			return body
		}
		all := jen.Add(tests[0])
		for _, t := range tests[1:] {
			all.Op("&&").Add(t)
		}
		return []jen.Code{jen.If(all).Block(body...)}
	}
	called := false
	value := base
	for i, s := range steps {
		value = value.Clone().Dot(s.Name)
		if s.Call {
			value, called = value.Call(), true
		}
		rest := steps[i+1:]
		switch {
		case s.Each:
			body := guarded(p, rest, jen.Id("item"), use)
			if s.Nil {
				body = []jen.Code{jen.If(jen.Id("item").Op("!=").Nil()).Block(body...)}
			}
			return inside([]jen.Code{jen.For(jen.List(jen.Id("_"), jen.Id("item")).Op(":=").Range().Add(value)).Block(body...)})
		case s.Nil && called:
			body := guarded(p, rest, jen.Id("v"), use)
			return inside([]jen.Code{jen.If(jen.Id("v").Op(":=").Add(value), jen.Id("v").Op("!=").Nil()).Block(body...)})
		case s.Nil:
			tests = append(tests, value.Clone().Op("!=").Nil())
		}
	}
	if p.Deref {
		value = jen.Op("*").Add(value)
	}
	return inside(use(value))
}

// A codeCase is a case of the switch over codes: the codes of one outcome.
type codeCase struct {
	outcome string
	tests   []string
}

// lookup emits the switch over the codes: first exact codes, then ranges, then prefixes, the
// longest first, and * last. If the path loops over a slice, the first element whose code is
// found ends the loop.
func (r *Reader) lookup(v *jen.Statement) []jen.Code {
	whole, tests, rest := r.split()
	end := slices.ContainsFunc(r.Lookup.Steps, func(s bind.Step) bool { return s.Each })
	body := func(outcome string) []jen.Code {
		if end {
			return []jen.Code{assign(outcome), jen.Return(jen.Id("f"))}
		}
		return []jen.Code{assign(outcome)}
	}
	var cases []jen.Code
	if len(tests) == 0 {
		for _, c := range whole {
			var values []jen.Code
			for _, code := range c.tests {
				values = append(values, r.code(code))
			}
			cases = append(cases, jen.Case(inLines(values)).Block(body(c.outcome)...))
		}
		if rest != "" && len(cases) == 0 {
			return body(rest)
		}
		if rest != "" {
			cases = append(cases, jen.Default().Block(body(rest)...))
		}
		return []jen.Code{jen.Switch(v).Block(cases...)}
	}
	for _, c := range whole {
		var values []jen.Code
		for _, code := range c.tests {
			values = append(values, jen.Id("code").Op("==").Add(r.code(code)))
		}
		cases = append(cases, jen.Case(inLines(values)).Block(body(c.outcome)...))
	}
	for _, c := range tests {
		var values []jen.Code
		for _, code := range c.tests {
			values = append(values, r.test(code))
		}
		cases = append(cases, jen.Case(inLines(values)).Block(body(c.outcome)...))
	}
	if rest != "" {
		cases = append(cases, jen.Default().Block(body(rest)...))
	}
	if r.Lookup.Kind == bind.ValueText && !r.Lookup.Plain {
		v = jen.String().Call(v)
	}
	return []jen.Code{jen.Switch(jen.Id("code").Op(":=").Add(v), jen.Empty()).Block(cases...)}
}

// split returns the exact codes, the ranges or prefixes, and the outcome of all other codes, or
// "".
func (r *Reader) split() (whole, tests []codeCase, rest string) {
	type start struct{ outcome, code string }
	var starts []start
	for _, c := range r.Codes {
		one := codeCase{outcome: c.Outcome}
		for _, code := range c.Values {
			switch _, _, isRange := CodeRange(code); {
			case isAny(code):
				rest = c.Outcome
			case r.Lookup.Kind == bind.ValueInteger && isRange, r.Lookup.Kind == bind.ValueText && strings.HasSuffix(code, "*"):
				starts = append(starts, start{c.Outcome, code})
			default:
				one.tests = append(one.tests, code)
			}
		}
		if len(one.tests) > 0 {
			whole = append(whole, one)
		}
	}
	slices.SortStableFunc(starts, func(a, b start) int {
		if r.Lookup.Kind == bind.ValueInteger {
			return 0
		}
		return cmp.Compare(len(b.code), len(a.code))
	})
	for _, s := range starts {
		if last := len(tests) - 1; last >= 0 && tests[last].outcome == s.outcome {
			tests[last].tests = append(tests[last].tests, s.code)
		} else {
			tests = append(tests, codeCase{s.outcome, []string{s.code}})
		}
	}
	return whole, tests, rest
}

// code emits a code as a constant.
func (r *Reader) code(code string) jen.Code {
	if r.Lookup.Kind == bind.ValueText {
		return jen.Lit(code)
	}
	return jen.Op(code)
}

// test emits the test whether code is in a range or has a prefix.
func (r *Reader) test(code string) jen.Code {
	if r.Lookup.Kind == bind.ValueText {
		return jen.Qual("strings", "HasPrefix").Call(jen.Id("code"), jen.Lit(strings.TrimSuffix(code, "*")))
	}
	low, high, _ := CodeRange(code)
	return jen.Op(strconv.FormatInt(low, 10)).Op("<=").Id("code").Op("&&").Id("code").Op("<=").
		Op(strconv.FormatInt(high, 10))
}

// CodeRange parses a range of integers, such as 500-599. ok is false for other codes.
func CodeRange(code string) (low, high int64, ok bool) {
	from, to, found := strings.Cut(code, "-")
	low, err := strconv.ParseInt(strings.TrimSpace(from), 10, 64)
	high, err2 := strconv.ParseInt(strings.TrimSpace(to), 10, 64)
	return low, high, found && err == nil && err2 == nil && low <= high
}
