package emit

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/retrygen/retrygen/gen/internal/bind"
	retry "github.com/retrygen/retrygen/runtime"
)

// RequestPath is the import path of package httpretry. Only files that send
// requests again import it.
const RequestPath = RuntimePath + "/httpretry"

// rewinds returns the inputs of fn that the wrapper rewinds before each retry.
func (u *Use) rewinds(fn bind.Func) (list []bind.Input) {
	if u == nil || !u.Retries() {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(fn.Inputs), func(in bind.Input) bool { return !in.Rewinds() })
}

// Retries reports whether the policy ever makes a second attempt.
func (p *Policy) Retries() bool {
	return p.MaxAttempts != 1 || slices.ContainsFunc(p.PerError, func(o retry.Override) bool { return o.MaxAttempts != 1 })
}

// positions emits, for each input that is rewound,
//
//	start := genapi.PositionOf(body)
//
// or, if a value on the path to it may be nil,
//
//	var start genapi.Position
//	if in != nil && in.Body != nil {
//		start = genapi.PositionOf(in.Body)
//	}
func (b body) positions() (code []jen.Code) {
	for i, in := range b.use.rewinds(b.fn) {
		if in.Kind != bind.Seekable {
			continue
		}
		start, value := jen.Id(b.l.starts[i]), b.input(in, len(in.Path))
		position := jen.Qual(GenapiPath, "PositionOf").Call(value)
		if len(in.Nil) == 0 || in.Plain {
			code = append(code, start.Op(":=").Add(position))
			continue
		}
		guard := jen.Null()
		for j, steps := range in.Nil {
			if j > 0 {
				guard.Op("&&")
			}
			guard.Add(b.input(in, steps)).Op("!=").Nil()
		}
		code = append(code,
			jen.Var().Add(start.Clone()).Qual(GenapiPath, "Position"),
			jen.If(guard).Block(start.Clone().Op("=").Add(position)))
	}
	return code
}

// input emits the value after the given number of steps on the path to the input.
func (b body) input(in bind.Input, steps int) *jen.Statement {
	s := jen.Id(b.l.params[in.Param])
	for _, field := range in.Path[:steps] {
		s.Dot(field)
	}
	return s
}

// rewind emits, for each input, the code that rewinds it after a failed attempt:
//
//	call.Spend(start.Rewind())
//
// or, for a request,
//
//	req = httpretry.Repeat(&call, req)
func (b body) rewind() (code []jen.Code) {
	for i, in := range b.use.rewinds(b.fn) {
		if in.Kind == bind.Seekable {
			code = append(code, jen.Id(b.l.call).Dot("Spend").Call(jen.Id(b.l.starts[i]).Dot("Rewind").Call()))
			continue
		}
		req := jen.Id(b.l.params[in.Param])
		code = append(code, req.Clone().Op("=").Qual(RequestPath, "Repeat").Call(jen.Op("&").Id(b.l.call), req))
	}
	return code
}
