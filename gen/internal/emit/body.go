package emit

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/retrygen/retrygen/gen/internal/bind"
)

// A Use is how one function is served.
type Use struct {
	*Policy
	Key      bool   // an idempotency key goes into the context
	Fallback string // function that is called when all is lost, or empty
	Unit     int    // index of the parameter that names the unit of a group, or -1
	Step     *Step  // the durable step that a call is, or nil
	recv     bool   // the first parameter is the callee's receiver

	FallbackMethod bool         // Fallback is a method of the receiver
	FallbackParams []bind.Param // its type arguments, where it is generic

	Check bind.Check // judges the results; without a name, there is none
}

// body is one wrapper's body in the making.
type body struct {
	fn   bind.Func
	l    locals
	use  *Use
	call func(ctx jen.Code) *jen.Statement // of the callee; nil leaves the context as it is
	// shared is what the breaker and the budget of the policy are fields of,
	// group the receiver that has the budget of the unit.
	shared, group *jen.Statement
	declared      []jen.Code // the results, where the signature does not name them
	types         []jen.Code // of the results
	empty         jen.Code   // the type of a command, without the pointer
}

// derives reports whether each attempt, the first included, has a context of its
// own: to carry a limit on time, or the number of a nested call's attempt.
func (u *Use) derives(fn bind.Func) bool {
	p := u.Policy
	return fn.TakesContext() && (p.AttemptTimeout > 0 || p.Timeout > 0 || p.HardLimit > 0 || p.Nested)
}

// declares reports whether the body declares its results, with their types,
// where the signature does not name them.
func (u *Use) declares(fn bind.Func) bool {
	return u.Breaker != "" || u.derives(fn) && (u.Budget != "" || u.Unit >= 0)
}

// body emits the loop of ARCHITECTURE. What the policy has not leaves no line.
func (b body) code() []jen.Code {
	if b.use.Step != nil {
		return b.durable()
	}
	code := append(b.key(), b.positions()...)
	switch {
	case b.derives() && b.use.declares(b.fn):
		return append(code, b.derivedAndShared()...)
	case b.derives():
		return append(code, b.derived()...)
	case b.use.Breaker != "":
		return append(code, b.guarded()...)
	}
	return append(code, b.peeled()...)
}

func (b body) derives() bool { return b.use.derives(b.fn) }

func (b body) results() *jen.Statement { return jen.List(ids(b.l.results)...) }
func (b body) err() *jen.Statement     { return jen.Id(b.l.err) }

// ctx is the context of the call: a parameter, or that of a request.
func (b body) ctx() *jen.Statement {
	switch {
	case b.fn.Ctx >= 0:
		return jen.Id(b.l.params[b.fn.Ctx])
	case b.fn.Request >= 0:
		return jen.Id(b.l.params[b.fn.Request]).Dot("Context").Call()
	}
	return jen.Qual("context", "Background").Call()
}

// attempt is the call of the callee with the context of a later attempt, which
// is a context.Context and nothing else.
func (b body) attempt() *jen.Statement {
	if !b.fn.TakesContext() {
		return b.call(nil)
	}
	return b.call(jen.Id(b.l.call).Dot("Attempt").Call(b.ctx()))
}

func (b body) succeed() jen.Code { return jen.Id(b.l.call).Dot("Succeed").Call() }

// next emits
//
//	if err = call.Next(ctx, err); err != nil {
//		return user, err
//	}
func (b body) next() jen.Code {
	return jen.If(b.err().Op("=").Id(b.l.call).Dot("Next").Call(b.ctx(), b.err()),
		b.err().Op("!=").Nil()).Block(b.giveUp()...)
}

// key emits
//
//	ctx = retry.EnsureIdempotencyKey(ctx)
//
// or, where a request has the context,
//
//	req = req.WithContext(retry.EnsureIdempotencyKey(req.Context()))
func (b body) key() []jen.Code {
	if !b.use.Key {
		return nil
	}
	ctx := jen.Qual(RuntimePath, "EnsureIdempotencyKey").Call(b.ctx())
	if b.fn.Ctx >= 0 {
		return []jen.Code{b.ctx().Op("=").Add(ctx)}
	}
	req := jen.Id(b.l.params[b.fn.Request])
	return []jen.Code{req.Clone().Op("=").Add(req).Dot("WithContext").Call(ctx)}
}

// begin emits
//
//	call := policyRead.Begin()
//
// or, if calls share something,
//
//	call := policyRead.BeginWith(retry.Shared{Breaker: shared.UpstreamBreaker})
//
// or BeginAdmitted, if the breaker has admitted the first attempt.
func (b body) begin() *jen.Statement {
	s := jen.Id(b.l.call).Op(":=").Id(b.use.Var)
	var fields []jen.Code
	field := func(name string, value jen.Code) {
		fields = append(fields, jen.Id(name).Op(":").Add(value))
	}
	if b.use.Breaker != "" {
		field("Breaker", b.field(BreakerField(b.use.Breaker)))
	}
	switch {
	case b.use.Unit >= 0:
		field("Budget", b.group.Clone().Dot("Unit").Call(jen.Id(b.l.params[b.use.Unit])))
	case b.use.Budget != "":
		field("Budget", b.field(BudgetField(b.use.Budget)))
	case b.use.Breaker == "":
		return s.Dot("Begin").Call()
	}
	shared := jen.Qual(RuntimePath, "Shared").Values(fields...)
	if b.use.Breaker != "" && !b.derives() {
		return s.Dot("BeginAdmitted").Call(shared, jen.Id(b.l.pass))
	}
	return s.Dot("BeginWith").Call(shared)
}

func (b body) field(name string) *jen.Statement { return b.shared.Clone().Dot(name) }

func (b body) deferEnd() jen.Code { return jen.Defer().Id(b.l.call).Dot("End").Call() }

// resultTypes returns the types of the results.
func (p printer) resultTypes(fn bind.Func) (types []jen.Code) {
	for _, r := range fn.Results {
		types = append(types, p.typ(r.Type))
	}
	return types
}

// declare declares the results and the error where the signature does not.
func (p printer) declare(fn bind.Func, l locals) (code []jen.Code) {
	if !l.named {
		for i, r := range fn.Results {
			code = append(code, jen.Var().Id(l.results[i]).Add(p.typ(r.Type)))
		}
	}
	if !fn.HasError {
		code = append(code, jen.Var().Id(l.err).Error())
	}
	return code
}

// peeled: the first call stands before the loop, so that a success costs one
// comparison.
//
//	user, err := s.next.Get(ctx, id)
//	if err == nil {
//		return user, nil
//	}
//	call := policyRead.Begin()
//	for {
//		…
//	}
//
// A call of the loop's own would be copied twice with each retry.
func (b body) peeled() []jen.Code {
	var first, later []jen.Code
	if b.use.Budget != "" && b.use.Unit < 0 {
		first = append(first, b.field(BudgetField(b.use.Budget)).Dot("Deposit").Call())
		later = append(later, b.succeed())
	}
	loop := append(b.rewind(), b.next())
	loop = append(loop, b.try(b.attempt(), b.succeeded(), b.success(later...)...)...)
	return append(b.first(b.call(nil), b.success(first...)...), b.begin(), jen.For().Block(loop...))
}

// derived: a context is derived for each attempt, so that nothing is gained
// by a first call of its own.
func (b body) derived() []jen.Code {
	return []jen.Code{
		b.begin(),
		b.deferEnd(),
		jen.For().Block(slices.Concat(b.first(b.attempt(), b.success()...), b.rewind(), []jen.Code{b.next()})...),
	}
}

// guarded: while the breaker is closed, a success costs two atomic loads.
// Everything else is in a function of its own: its defer, its Call, and what a
// success has to report after a failure would make every success slower.
//
//	shared := DefaultShared
//	pass, ready := shared.UpstreamBreaker.Ready()
//	if ready {
//		if user, err = s.next.Get(ctx, id); err == nil && shared.UpstreamBreaker.Calm() {
//			return user, nil
//		}
//	}
//	return func(user *User, err error) (*User, error) {
//		if ready && err == nil {
//			shared.UpstreamBreaker.Succeed(pass)
//			return user, nil
//		}
//		call := policyRead.BeginAdmitted(retry.Shared{Breaker: shared.UpstreamBreaker}, pass)
//		defer call.End()
//		if ready {
//			err = call.Next(ctx, err)
//		} else {
//			err = call.Admit(ctx)
//		}
//		for ; err == nil; err = call.Next(ctx, err) {
//			…
//		}
//		return user, err
//	}(user, err)
func (b body) guarded() []jen.Code {
	of := b.shared
	b.shared = jen.Id(b.l.shared)
	quiet := b.succeeded().Op("&&").Add(b.field(BreakerField(b.use.Breaker))).Dot("Calm").Call()
	news := []jen.Code{b.field(BreakerField(b.use.Breaker)).Dot("Succeed").Call(jen.Id(b.l.pass))}
	if b.use.Budget != "" && b.use.Unit < 0 {
		quiet.Op("&&").Add(b.field(BudgetField(b.use.Budget))).Dot("Full").Call()
		news = append(news, b.field(BudgetField(b.use.Budget)).Dot("Deposit").Call())
	}
	var params []jen.Code
	for i, t := range b.types {
		params = append(params, jen.Id(b.l.results[i]).Add(t))
	}
	args := ids(b.l.results)
	if !b.fn.HasError {
		params, args = append(params, b.err().Error()), append(args, b.err())
	}
	again := []jen.Code{
		jen.If(jen.Id(b.l.ready).Op("&&").Add(b.err()).Op("==").Nil()).Block(b.success(news...)...),
		b.begin(),
		b.deferEnd(),
		jen.If(jen.Id(b.l.ready)).Block(append(b.rewind(), b.decide("Next", b.err()))...).Else().Block(b.decide("Admit")),
	}
	return append(b.declared,
		jen.Id(b.l.shared).Op(":=").Add(of),
		jen.List(jen.Id(b.l.pass), jen.Id(b.l.ready)).Op(":=").Add(b.field(BreakerField(b.use.Breaker))).Dot("Ready").Call(),
		jen.If(jen.Id(b.l.ready)).Block(
			b.try(b.call(nil), quiet, b.success()...)...,
		),
		jen.Return(
			jen.Func().Params(params...).Params(b.types...).Block(append(again, b.attempts(jen.Empty())...)...).Call(args...)),
	)
}

// derivedAndShared: a context for each attempt, and a breaker or a budget.
//
//	call := policyRead.BeginWith(retry.Shared{Breaker: DefaultShared.UpstreamBreaker})
//	defer call.End()
//	for err = call.Admit(ctx); err == nil; err = call.Next(ctx, err) {
//		…
//	}
//	return user, err
func (b body) derivedAndShared() []jen.Code {
	code := append(b.declared, b.begin(), b.deferEnd())
	return append(code, b.attempts(b.decide("Admit"))...)
}

// decide emits
//
//	err = call.Next(ctx, err)
func (b body) decide(method string, args ...jen.Code) *jen.Statement {
	return b.err().Op("=").Id(b.l.call).Dot(method).Call(append([]jen.Code{b.ctx()}, args...)...)
}

// attempts emits the attempts of a call and what follows the last one:
//
//	for first; err == nil; err = call.Next(ctx, err) {
//		if user, err = s.next.Get(call.Attempt(ctx), id); err == nil {
//			call.Succeed()
//			return user, nil
//		}
//	}
//	return user, err
func (b body) attempts(first jen.Code) []jen.Code {
	loop := append(b.try(b.attempt(), b.succeeded(), b.success(b.succeed())...), b.rewind()...)
	return append([]jen.Code{jen.For(first, b.succeeded(), b.decide("Next", b.err())).Block(loop...)}, b.giveUp()...)
}
