package emit

import (
	"strconv"

	"github.com/dave/jennifer/jen"
)

// job emits, for a wrapper whose durable step can also run as a job,
//
//	// HandleCopy registers Copy as the handler of runs with the name "copy". …
//	func HandleCopy(engine *durable.Engine, options ...durable.HandleOption) {
//		durable.Job(engine, "copy", &stepCopy,
//			func(shard string) genapi.StepID { return genapi.StringID(shard) },
//			Copy, options...)
//	}
//
// The function has the same receiver as the wrapper. If the wrapper takes the receiver of the
// callee as a parameter, so does this function. b is the body of the wrapper, and callee is the
// function that the wrapper calls.
func (p printer) job(out *jen.File, w Wrapper, b body, callee *jen.Statement) {
	if w.Job == "" {
		return
	}
	l := b.l
	decl := jen.Func()
	var params []jen.Code
	switch {
	case b.use.recv:
		params = append(params, jen.Id(l.params[0]).Add(p.typ(b.fn.Params[0].Type)))
	case b.self != nil:
		decl.Params(b.self.Clone().Add(p.typ(w.Target.Recv.Type)))
	}
	params = append(params, jen.Id(l.engine).Op("*").Qual(DurablePath, "Engine"),
		jen.Id(l.options).Op("...").Qual(DurablePath, "HandleOption"))
	step, code := b.shares()
	input := p.typ(b.fn.Params[b.fn.Ctx+1].Type)
	call := jen.Qual(DurablePath, "Job").Call(jen.Id(l.engine), jen.Lit(b.use.Step.Name), step,
		jen.Line().Add(b.jobID(input)), jen.Line().Add(b.jobAttempt(input, callee)), jen.Id(l.options).Op("..."))
	p.comment(out, wrap(jobDoc(w, b)))
	out.Add(decl.Id(w.Job).Params(params...).Block(append(code, call)...)).Line()
}

// jobID emits the function that returns the id of the step. input is the type of the parameter
// that follows the context.
func (b body) jobID(input *jen.Statement) *jen.Statement {
	param := input
	id, _, _ := b.use.arguments(b.fn, b.l.params)
	for _, part := range id {
		if part.field == "" {
			param = jen.Id(b.l.params[b.fn.Ctx+1]).Add(input)
		}
	}
	return jen.Func().Params(param).Qual(StepAPIPath, "StepID").
		Custom(sameLine, jen.Return(b.stepID(id)))
}

// sameLine formats a block on one line.
var sameLine = jen.Options{Open: "{ ", Close: " }"}

// jobAttempt emits the function that makes one attempt of a job. It is the callee itself, if an
// attempt returns the same results.
func (b body) jobAttempt(input, callee *jen.Statement) *jen.Statement {
	values := b.values()
	if failure, _ := b.failure(); failure == nil && len(values) == 1 {
		return callee
	}
	record := jen.Struct()
	if len(values) == 1 {
		record = jen.Add(b.types[0])
	}
	ctx := jen.Id(b.l.ctx).Qual("context", "Context")
	return jen.Func().Params(ctx, jen.Id(b.l.params[b.fn.Ctx+1]).Add(input)).Params(record, jen.Error()).
		Block(b.durableAttempt(record)...)
}

// jobDoc describes the function that registers a job.
func jobDoc(w Wrapper, b body) string {
	return w.Job + " registers " + b.fn.Name + " as the handler of runs with the name " + strconv.Quote(b.use.Step.Name) +
		". Each run that durable.Start creates with this name makes one call, which is the durable step of " + w.Name +
		". See durable.Job."
}
