package emit

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/retrygen/retrygen/gen/internal/bind"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
)

// firstAlone reports whether the body makes the first attempt before it creates the closure and
// the digest of the arguments for genapi.Call. A call whose first attempt succeeds then costs
// much less. The id and the arguments are read again after the attempt, so the attempt must not
// be able to change them.
func (u *Use) firstAlone(fn bind.Func) bool {
	if u.Durable.Record != genapi.RecordFailures || u.Reload || u.shares() || u.StoredBreaker != "" || u.Step.Repeat {
		return false
	}
	id, compared, _ := u.arguments(fn, make([]string, len(fn.Params)))
	for _, part := range id {
		if part.field != "" || !fn.Params[part.param].Copied() {
			return false
		}
	}
	return !slices.ContainsFunc(compared, func(i int) bool { return !fn.Params[i].Copied() })
}

// firstAttempt emits the first attempt of a step that records nothing before an attempt fails:
//
//	first := genapi.First(ctx, &stepCharge, genapi.StringID(orderID))
//	if first != nil {
//		defer first.End()
//		receipt, err := Charge(first.Context(), orderID, amount)
//		if first.Succeeded(err) {
//			return receipt, nil
//		}
//	}
func (b body) firstAttempt() []jen.Code {
	if !b.use.firstAlone(b.fn) {
		return nil
	}
	id, _, _ := b.use.arguments(b.fn, b.l.params)
	first := jen.Id(b.l.first)
	block := append([]jen.Code{jen.Defer().Add(first.Clone().Dot("End").Call())},
		b.checkedAttempt(first.Clone().Dot("Context").Call())...)
	block = append(block, jen.If(first.Clone().Dot("Succeeded").Call(b.err())).Block(
		jen.Return(append(ids(b.values()), jen.Nil())...)))
	return []jen.Code{
		first.Clone().Op(":=").Qual(StepAPIPath, "First").Call(b.ctx(), jen.Op("&").Id(b.use.Step.Var), b.stepID(id)),
		jen.If(first.Clone().Op("!=").Nil()).Block(block...),
	}
}
