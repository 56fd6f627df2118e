package emit

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/retrygen/retrygen/gen/internal/bind"
)

// A Use describes how a policy applies to one function.
type Use struct {
	*Policy
	Key      bool   // pass an idempotency key in the context
	Fallback string // function to call after the last attempt has failed, or empty
	Unit     int    // index of the parameter that names the unit of a group, or -1
	Step     *Step  // the durable step of the function, or nil
	recv     bool   // the first parameter is the callee's receiver

	FallbackMethod bool         // Fallback is a method of the receiver
	FallbackParams []bind.Param // type arguments of Fallback, if it is generic

	Check bind.Check // function that checks the results; its name is empty if there is none

	HedgeField string     // the hedge of the function in Shared, or "" if it is not hedged
	Release    bind.Check // function that releases unused results; its name is empty if there is none
}

// gated reports whether attempts pass a gate.
func (p *Policy) gated() bool { return p.Concurrency != "" || p.Rate != "" || p.Throttle != "" }

// Refuses returns the name of a setting that may refuse an attempt before the callee is called,
// or "".
func (p *Policy) Refuses() string {
	switch {
	case p.Breaker != "":
		return "breaker"
	case p.Throttle != "":
		return "throttle"
	case p.Rate != "":
		return "rate"
	case p.Concurrency != "":
		return "concurrency limit"
	}
	return ""
}

// shares reports whether calls share any state in the process.
func (u *Use) shares() bool { return u.Refuses() != "" || u.Budget != "" || u.HedgeField != "" }

// A body emits the body of one wrapper.
type body struct {
	fn   bind.Func
	l    locals
	use  *Use
	call func(ctx jen.Code) *jen.Statement // emits a call of the callee; a nil ctx keeps the context
	self *jen.Statement                    // the callee's receiver, if it is not a parameter
	// shared is the struct with the breaker and the budget of the policy. group is the receiver
	// whose unit has the budget.
	shared, group *jen.Statement
	declared      []jen.Code // declarations of results that the signature does not name
	types         []jen.Code // the types of the results
	empty         jen.Code   // the type of a command, without the pointer
}

// derives reports whether each attempt, including the first, needs a derived context. It does
// if there is a time limit, or if the policy is nested, because the context then carries the
// attempt number.
func (u *Use) derives(fn bind.Func) bool {
	p := u.Policy
	return fn.TakesContext() && (p.AttemptTimeout > 0 || p.Timeout > 0 || p.HardLimit > 0 || p.Nested)
}

// declares reports whether the body declares results that the signature does not
// name.
func (u *Use) declares(fn bind.Func) bool {
	return u.Refuses() != "" || u.HedgeField != "" || u.derives(fn) && (u.Budget != "" || u.Unit >= 0)
}

// code emits the body, in the shortest form that the policy allows: peeled, derived, guarded,
// limited, looped, hedged or durable.
func (b body) code() []jen.Code {
	if b.use.Step != nil {
		return b.durable()
	}
	code := append(b.key(), b.positions()...)
	switch {
	case b.use.HedgeField != "":
		return append(code, b.hedged()...)
	case b.derives() && !b.use.declares(b.fn):
		return append(code, b.derived()...)
	case !b.derives() && b.use.OnlyLimited:
		return append(code, b.limited()...)
	case b.derives() || b.use.gated():
		return append(code, b.looped()...)
	case b.use.Breaker != "":
		return append(code, b.guarded()...)
	}
	return append(code, b.peeled()...)
}

func (b body) derives() bool { return b.use.derives(b.fn) }

// results emits the names of the results, and err emits the name of the error.
func (b body) results() *jen.Statement { return jen.List(ids(b.l.results)...) }
func (b body) err() *jen.Statement     { return jen.Id(b.l.err) }

// ctx emits the context of the call: a parameter, the context of a request or a builder, or
// context.Background().
func (b body) ctx() *jen.Statement {
	switch held := b.fn.Held; {
	case b.fn.Ctx >= 0:
		return jen.Id(b.l.params[b.fn.Ctx])
	case b.fn.Request >= 0:
		return jen.Id(b.l.params[b.fn.Request]).Dot("Context").Call()
	case held != nil && held.Member != "":
		var ctx *jen.Statement
		switch {
		case held.Nil:
			ctx = jen.Id(b.l.ctx) // declared by the code of found
		case held.Param >= 0:
			ctx = jen.Id(b.l.params[held.Param]).Op(held.Member)
		default:
			ctx = b.self.Clone().Op(held.Member)
		}
		return jen.Qual(GenapiPath, "HeldContext").Call(ctx)
	}
	return jen.Qual("context", "Background").Call()
}

// attempt emits a call of the callee with the context of an attempt.
func (b body) attempt() *jen.Statement {
	if !b.fn.TakesContext() {
		return b.call(nil)
	}
	return b.call(jen.Id(b.l.call).Dot("Attempt").Call(b.ctx()))
}

// succeed emits call.Succeed().
func (b body) succeed() jen.Code { return jen.Id(b.l.call).Dot("Succeed").Call() }

// next emits
//
//	if err = call.Next(ctx, err); err != nil {
//		return user, err
//	}
func (b body) next() jen.Code {
	return jen.If(b.err().Op("=").Id(b.l.call).Dot("Next").Call(b.ctx(), b.err()),
		b.err().Op("!=").Nil()).Block(b.returnFailure()...)
}

// key emits
//
//	ctx = retry.EnsureIdempotencyKey(ctx)
//
// or, if the context is in a request,
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

// found emits, for a builder that may be nil,
//
//	var ctx context.Context
//	if options != nil {
//		ctx = options.Context
//	}
func (b body) found() (code []jen.Code) {
	held := b.fn.Held
	if held == nil || !held.Nil || held.Member == "" {
		return nil
	}
	ctx, builder := jen.Id(b.l.ctx), jen.Id(b.l.params[held.Param])
	return []jen.Code{
		jen.Var().Add(ctx).Qual("context", "Context"),
		jen.If(builder.Clone().Op("!=").Nil()).Block(ctx.Clone().Op("=").Add(builder).Op(held.Member)),
	}
}

// begin emits
//
//	call := policyRead.Begin()
//
// or, if calls share any state,
//
//	call := policyRead.BeginWith(retry.Shared{Breaker: shared.UpstreamBreaker})
func (b body) begin() *jen.Statement {
	s := jen.Id(b.l.call).Op(":=").Add(b.use.inForce())
	fields := b.sharedFields()
	if len(fields) == 0 {
		return s.Dot("Begin").Call()
	}
	return s.Dot("BeginWith").Call(jen.Qual(RuntimePath, "Shared").Values(fields...))
}

// sharedFields emits the fields of a retry.Shared with the state that the call shares.
func (b body) sharedFields() (fields []jen.Code) {
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
	}
	if !b.use.gated() {
		return fields
	}
	var gate []jen.Code
	part := func(name, key string, fieldOf func(string) string) {
		if key != "" {
			gate = append(gate, jen.Id(name).Op(":").Add(b.field(fieldOf(key))))
		}
	}
	part("Throttle", b.use.Throttle, ThrottleField)
	part("Rate", b.use.Rate, RateField)
	part("Limiter", b.use.Concurrency, LimiterField)
	field("Gate", jen.Qual(CapacityPath, "Gate").Values(gate...))
	return fields
}

// field emits a field of the shared struct.
func (b body) field(name string) *jen.Statement { return b.shared.Clone().Dot(name) }

// deferEnd emits defer call.End().
func (b body) deferEnd() jen.Code { return jen.Defer().Id(b.l.call).Dot("End").Call() }

// resultTypes returns the types of the results.
func (p printer) resultTypes(fn bind.Func) (types []jen.Code) {
	for _, r := range fn.Results {
		types = append(types, p.typ(r.Type))
	}
	return types
}

// declare emits declarations of the results, unless the signature names them, and
// of err, unless it is a result.
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

// peeled emits the first attempt before the loop, so that a success costs one comparison:
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
// The variable call is declared outside the loop, because each iteration would copy a variable
// of the loop twice.
func (b body) peeled() []jen.Code {
	var first, later []jen.Code
	if b.use.Budget != "" && b.use.Unit < 0 {
		first = append(first, b.field(BudgetField(b.use.Budget)).Dot("Deposit").Call())
		later = append(later, b.succeed())
	}
	loop := append(b.rewind(), b.next())
	loop = append(loop, b.try(b.attempt(), b.succeeded(), b.success(later...)...)...)
	code := append(b.first(b.call(nil), b.success(first...)...), b.found()...)
	return append(code, b.begin(), jen.For().Block(loop...))
}

// derived emits a loop that derives a context for each attempt. A separate first
// attempt would save nothing.
func (b body) derived() []jen.Code {
	return []jen.Code{
		b.begin(),
		b.deferEnd(),
		jen.For().Block(slices.Concat(b.first(b.attempt(), b.success()...), b.rewind(), []jen.Code{b.next()})...),
	}
}

// guarded emits a first attempt that costs two atomic loads while the breaker is closed. All
// other code is in a function literal, because its defer, its Call and its reports to the
// breaker would slow down every success:
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
	shared := b.shared
	b.shared = jen.Id(b.l.shared)
	quiet := b.succeeded().Op("&&").Add(b.field(BreakerField(b.use.Breaker))).Dot("Calm").Call()
	reports := []jen.Code{b.field(BreakerField(b.use.Breaker)).Dot("Succeed").Call(jen.Id(b.l.pass))}
	if b.use.Budget != "" && b.use.Unit < 0 {
		quiet.Op("&&").Add(b.field(BudgetField(b.use.Budget))).Dot("Full").Call()
		reports = append(reports, b.field(BudgetField(b.use.Budget)).Dot("Deposit").Call())
	}
	call := jen.Id(b.l.call).Op(":=").Add(b.use.inForce()).Dot("BeginAdmitted").
		Call(jen.Qual(RuntimePath, "Shared").Values(b.sharedFields()...), jen.Id(b.l.pass))
	slow := []jen.Code{
		jen.If(jen.Id(b.l.ready).Op("&&").Add(b.err()).Op("==").Nil()).Block(b.success(reports...)...),
	}
	return append(b.declared,
		jen.Id(b.l.shared).Op(":=").Add(shared),
		jen.List(jen.Id(b.l.pass), jen.Id(b.l.ready)).Op(":=").Add(b.field(BreakerField(b.use.Breaker))).Dot("Ready").Call(),
		jen.If(jen.Id(b.l.ready)).Block(
			b.try(b.call(nil), quiet, b.success()...)...,
		),
		b.elsewhere(append(slow, b.found()...), call),
	)
}

// elsewhere emits a function literal with all code except the first attempt, and a call of this
// literal. The literal begins with the statements in before and begin.
func (b body) elsewhere(before []jen.Code, begin jen.Code) jen.Code {
	var params []jen.Code
	for i, t := range b.types {
		params = append(params, jen.Id(b.l.results[i]).Add(t))
	}
	args := ids(b.l.results)
	if !b.fn.HasError {
		params, args = append(params, b.err().Error()), append(args, b.err())
	}
	slow := append(before, begin, b.deferEnd(),
		jen.If(jen.Id(b.l.ready)).Block(append(b.rewind(), b.decide("Next", b.err()))...).Else().Block(b.decide("Admit")))
	return jen.Return(
		jen.Func().Params(params...).Params(b.types...).Block(append(slow, b.attempts(jen.Empty())...)...).Call(args...))
}

// limited emits a first attempt that costs two atomic operations while a limiter has permits.
// The permit is returned immediately after the call, even if the callee panics:
//
//	shared := DefaultShared
//	ready := shared.DbLimiter.TryAcquire()
//	if ready {
//		user, err = func() (*User, error) {
//			defer shared.DbLimiter.Release()
//			return s.next.Get(ctx, id)
//		}()
//		if err == nil {
//			return user, nil
//		}
//	}
//	return func(user *User, err error) (*User, error) {
//		call := policyRead.BeginWith(retry.Shared{Gate: capacity.Gate{Limiter: shared.DbLimiter}})
//		…
//	}(user, err)
func (b body) limited() []jen.Code {
	shared := b.shared
	b.shared = jen.Id(b.l.shared)
	limiter := b.field(LimiterField(b.use.Concurrency))
	var reports []jen.Code
	if b.use.Budget != "" && b.use.Unit < 0 {
		reports = append(reports, b.field(BudgetField(b.use.Budget)).Dot("Deposit").Call())
	}
	called := b.call(nil)
	if len(b.types) > 0 {
		called = jen.Return(called)
	}
	release := jen.Defer().Add(limiter.Clone()).Dot("Release").Call()
	held := jen.Func().Params().Params(b.types...).Block(release, called).Call()
	return append(b.declared,
		jen.Id(b.l.shared).Op(":=").Add(shared),
		jen.Id(b.l.ready).Op(":=").Add(limiter).Dot("TryAcquire").Call(),
		jen.If(jen.Id(b.l.ready)).Block(b.try(held, b.succeeded(), b.success(reports...)...)...),
		b.elsewhere(b.found(), b.begin()),
	)
}

// looped emits a loop whose first attempt may be refused, too, or that derives a context for
// each attempt and also has a budget:
//
//	call := policyRead.BeginWith(retry.Shared{Breaker: DefaultShared.UpstreamBreaker})
//	defer call.End()
//	for err = call.Admit(ctx); err == nil; err = call.Next(ctx, err) {
//		…
//	}
//	return user, err
func (b body) looped() []jen.Code {
	code := append(b.declared, b.begin(), b.deferEnd())
	return append(code, b.attempts(b.decide("Admit"))...)
}

// decide emits a call of a method of the Call, such as
//
//	err = call.Next(ctx, err)
func (b body) decide(method string, args ...jen.Code) *jen.Statement {
	return b.err().Op("=").Id(b.l.call).Dot(method).Call(append([]jen.Code{b.ctx()}, args...)...)
}

// attempts emits the loop of the attempts of a call, and the return statement after the loop:
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
	loopStmt := jen.For(first, b.succeeded(), b.decide("Next", b.err())).Block(loop...)
	return append([]jen.Code{loopStmt}, b.returnFailure()...)
}
