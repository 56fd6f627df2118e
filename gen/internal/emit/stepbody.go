package emit

import (
	"strconv"

	"github.com/dave/jennifer/jen"

	"github.com/retrygen/retrygen/gen/internal/bind"
)

// This file emits the bodies of wrappers whose calls are durable steps.

// durable emits the body of a durable step:
//
//	return genapi.Call(ctx, &stepCharge, genapi.StringID(orderID), genapi.Arguments("amount", amount),
//		func(ctx context.Context) (Receipt, error) {
//			return Charge(ctx, orderID, amount)
//		})
//
// or, unless the results are one value and an error,
//
//	_, err := genapi.Call(…)
//	return err
//
// If the step records nothing before an attempt fails, the body makes the first attempt before
// this call: see firstAttempt.
func (b body) durable() []jen.Code {
	var code []jen.Code
	values := b.values()
	if len(values) > 1 {
		code = append(code, b.resultsType())
	}
	step, shares := b.shares()
	code = append(append(code, shares...), b.positions()...)
	code = append(code, b.firstAttempt()...)
	call := b.durableCall(step)
	if len(values) == 1 && b.use.Fallback == "" {
		return append(code, jen.Return(call))
	}
	kept, returned := jen.Id("_"), []jen.Code{}
	switch {
	case len(values) == 1:
		kept, returned = jen.Id(values[0]), ids(values)
	case len(values) > 1:
		kept = jen.Id(b.l.all)
		for i := range values {
			returned = append(returned, jen.Id(b.l.all).Dot(field(i)))
		}
	}
	assign := ":="
	if b.l.named && len(values) < 2 {
		assign = "="
	}
	code = append(code, jen.List(kept, b.err()).Op(assign).Add(call))
	if b.use.Fallback != "" {
		failed := jen.List(jen.Id("_"), jen.Id(b.l.failed)).Op(":=").
			Qual("errors", "AsType").Types(jen.Op("*").Qual(DurablePath, "StepError")).Call(b.err())
		code = append(code, jen.If(failed, jen.Id(b.l.failed)).Block(b.returnFailure()...))
	}
	return append(code, jen.Return(append(returned, b.err())...))
}

// values returns the names of the results without the error.
func (b body) values() []string { return b.l.results[:len(b.l.results)-1] }

// field returns the name of a field in the record of several results.
func field(i int) string { return "V" + strconv.Itoa(i+1) }

// resultsType emits the type of the record of several results:
//
//	type results struct {
//		V1 *User
//		V2 bool
//	}
func (b body) resultsType() jen.Code {
	var fields []jen.Code
	for i := range b.values() {
		fields = append(fields, jen.Id(field(i)).Add(b.types[i]))
	}
	return jen.Type().Id(b.l.record).Struct(fields...)
}

// shares returns the pointer to the step. If the step shares state with other calls of the
// process, shares also returns the code that sets this state in a copy:
//
//	step := stepCharge
//	step.Shared = retry.Shared{Breaker: DefaultShared.UpBreaker}
func (b body) shares() (step *jen.Statement, code []jen.Code) {
	fields := b.sharedFields()
	if len(fields) == 0 {
		return jen.Op("&").Id(b.use.Step.Var), nil
	}
	return jen.Op("&").Id(b.l.step), []jen.Code{
		jen.Id(b.l.step).Op(":=").Id(b.use.Step.Var),
		jen.Id(b.l.step).Dot("Shared").Op("=").Qual(RuntimePath, "Shared").Values(fields...),
	}
}

// durableCall emits the call of genapi.Call.
func (b body) durableCall(step *jen.Statement) *jen.Statement {
	id, compared, _ := b.use.arguments(b.fn, b.l.params)
	var args []jen.Code
	for _, i := range compared {
		name := b.fn.Params[i].Name
		if name == "" || name == "_" {
			name = b.l.params[i]
		}
		args = append(args, jen.Lit(name), jen.Id(b.l.params[i]))
	}
	record := jen.Struct()
	switch len(b.values()) {
	case 0:
	case 1:
		record = jen.Add(b.types[0])
	default:
		record = jen.Id(b.l.record)
	}
	attempt := jen.Line().Func().Params(jen.Id(b.l.ctx).Qual("context", "Context")).
		Params(record, jen.Error()).Block(b.durableAttempt(record)...)
	digest := jen.Qual(StepAPIPath, "Arguments").Call(args...)
	if b.use.firstAlone(b.fn) {
		return jen.Qual(StepAPIPath, "CallAfter").Call(b.ctx(), step, b.stepID(id), digest, jen.Id(b.l.first), attempt)
	}
	return jen.Qual(StepAPIPath, "Call").Call(b.ctx(), step, b.stepID(id), digest, attempt)
}

// stepID emits the id of a call.
func (b body) stepID(id []idPart) *jen.Statement {
	fn := "ID"
	if len(id) == 1 && id[0].field == "" {
		fn = b.fn.Params[id[0].param].IDOf()
	}
	return jen.Qual(StepAPIPath, fn).Call(ids(b.use.idTexts(id, b.l))...)
}

// durableAttempt emits one attempt of a durable step:
//
//	return Charge(ctx, orderID, amount)
//
// or, if there are several results or checks,
//
//	user, found, err := Find(ctx, name)
//	return results{user, found}, err
func (b body) durableAttempt(record *jen.Statement) []jen.Code {
	call := b.call(jen.Id(b.l.ctx))
	values, rewind := b.values(), b.rewindStep()
	failure, _ := b.failure()
	result := []jen.Code{jen.Struct().Values()}
	switch {
	case len(values) == 1:
		result = ids(values)
	case len(values) > 1:
		result = []jen.Code{record.Clone().Values(ids(values)...)}
	}
	if len(rewind) == 0 && failure == nil {
		switch len(values) {
		case 0:
			return []jen.Code{jen.Return(result[0], call)}
		case 1:
			return []jen.Code{jen.Return(call)}
		}
	}
	return append(b.checkedAttempt(jen.Id(b.l.ctx)), jen.Return(append(result, b.err())...))
}

// checkedAttempt emits a call of the callee, the check of its results, and the code that
// rewinds its inputs after a failure:
//
//	user, found, err := Find(ctx, name)
func (b body) checkedAttempt(ctx jen.Code) []jen.Code {
	code := []jen.Code{jen.List(append(ids(b.values()), b.err())...).Op(":=").Add(b.call(ctx))}
	failure, cond := b.failure()
	switch {
	case failure == nil:
	case cond == nil:
		code = append(code, b.err().Op("=").Add(failure))
	default:
		code = append(code, b.failIf(cond, failure))
	}
	if rewind := b.rewindStep(); len(rewind) > 0 {
		code = append(code, jen.If(b.err().Op("!=").Nil()).Block(rewind...))
	}
	return code
}

// rewindStep emits, for each input, the code that rewinds it after a failed attempt of a
// durable step:
//
//	err = genapi.Spent(err, start.Rewind())
//
// or, for a request,
//
//	req, err = httpretry.Renew(req, err)
func (b body) rewindStep() (code []jen.Code) {
	for i, in := range b.use.rewinds(b.fn) {
		if in.Kind == bind.Seekable {
			spent := jen.Qual(GenapiPath, "Spent").Call(b.err(), jen.Id(b.l.starts[i]).Dot("Rewind").Call())
			code = append(code, b.err().Op("=").Add(spent))
			continue
		}
		req := jen.Id(b.l.params[in.Param])
		code = append(code, jen.List(req, b.err()).Op("=").Qual(RequestPath, "Renew").Call(req, b.err()))
	}
	return code
}
