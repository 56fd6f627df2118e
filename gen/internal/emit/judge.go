package emit

import (
	"github.com/dave/jennifer/jen"
)

// failure returns the expression for an error of an attempt that is not a result of the callee:
// the error of a command, or of a check. If cond is not nil, expr is evaluated only if cond is
// true. If the callee returns the error, failure returns nil.
func (b body) failure() (expr, cond *jen.Statement) {
	results := ids(b.l.results)
	check := b.use.Check
	switch {
	case check.Name != "":
		if b.fn.HasError && !check.Error {
			cond = b.succeeded()
		}
		if b.fn.HasError && !check.Error {
			results = results[:len(results)-1]
		}
		return jen.Id(check.Name).Add(typeArgs(check.Params)).Call(results...), cond
	case b.fn.Command:
		if b.fn.Nilable {
			cond = jen.Add(results[0]).Op("!=").Nil()
		}
		return jen.Add(results[0]).Dot("Err").Call(), cond
	}
	return nil, nil
}

// first emits an attempt that declares its results, and the statements in then, which run after
// a success:
//
//	user, err := s.next.Get(ctx, id)
//	if err == nil {
//		return user, nil
//	}
//
// The error of a command, or the error of a check, follows the call:
//
//	cmd := s.next.Get(ctx, key)		user, err := s.next.Get(ctx, id)
//	var err error				if err == nil {
//	if cmd != nil {					err = checkGet(user)
//		err = cmd.Err()			}
//	}
func (b body) first(call *jen.Statement, then ...jen.Code) []jen.Code {
	assign, assignErr := ":=", "="
	if b.l.named {
		assign = "="
	}
	if !b.fn.HasError {
		assignErr = ":="
	}
	code := []jen.Code{b.results().Op(assign).Add(call)}
	switch failure, cond := b.failure(); {
	case failure == nil:
	case cond == nil:
		code = append(code, b.err().Op(assignErr).Add(failure))
	default:
		if !b.fn.HasError {
			code = append(code, jen.Var().Add(b.err()).Error())
		}
		code = append(code, b.failIf(cond, failure))
	}
	return append(code, jen.If(b.err().Op("==").Nil()).Block(then...))
}

// try emits an attempt whose results are already declared, and the statements in then, which
// run if the condition success is true. err must be nil before the attempt:
//
//	if user, err = s.next.Get(…); err == nil {
//		return user, nil
//	}
func (b body) try(call, success *jen.Statement, then ...jen.Code) []jen.Code {
	attempt := b.results().Op("=").Add(call)
	switch failure, cond := b.failure(); {
	case failure == nil:
		return []jen.Code{jen.If(attempt, success).Block(then...)}
	case cond == nil:
		return []jen.Code{attempt, jen.If(b.err().Op("=").Add(failure), success).Block(then...)}
	default:
		return []jen.Code{attempt, b.failIf(cond, failure), jen.If(success).Block(then...)}
	}
}

// failIf emits
//
//	if err == nil {
//		err = checkGet(user)
//	}
func (b body) failIf(cond, failure *jen.Statement) jen.Code {
	return jen.If(cond).Block(b.err().Op("=").Add(failure))
}

// succeeded emits err == nil.
func (b body) succeeded() *jen.Statement { return b.err().Op("==").Nil() }

// returnFailure emits the return statement after the last attempt. It returns the results of
// that attempt, or those of the fallback. If no attempt was made and the result type can hold
// an error, it creates a result with the error:
//
//	if cmd == nil {
//		cmd = &redis.StringCmd{}
//		cmd.SetErr(err)
//	}
//	return cmd
func (b body) returnFailure() (code []jen.Code) {
	if b.use.Fallback == "" {
		if b.fn.TakesError && b.use.Refuses() != "" {
			cmd := b.results()
			code = append(code, jen.If(cmd.Clone().Op("==").Nil()).Block(
				cmd.Clone().Op("=").Op("&").Add(b.empty).Values(),
				cmd.Clone().Dot("SetErr").Call(b.err()),
			))
		}
		return append(code, jen.Return(b.results()))
	}
	recv, args := b.l.recv, b.l.params
	if b.use.recv {
		recv, args = args[0], args[1:]
	}
	f := jen.Id(b.use.Fallback).Add(typeArgs(b.use.FallbackParams))
	if b.use.FallbackMethod {
		f = jen.Id(recv).Dot(b.use.Fallback)
	}
	return append(code, jen.Return(f.Call(append(ids(args), b.err())...)))
}

// success emits the return statement after a success. The statements in before report the
// success to the breaker and the budget.
func (b body) success(before ...jen.Code) []jen.Code {
	values := ids(b.l.results)
	if b.fn.HasError {
		values[len(values)-1] = jen.Nil()
	}
	return append(before, jen.Return(jen.List(values...)))
}
