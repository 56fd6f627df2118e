package emit

import (
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/retrygen/retrygen/gen/internal/bind"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
)

// StepErrors is the name of the variable with the errors that a recorded error may
// match.
const StepErrors = "stepErrors"

// A Step is the durable step of a function.
type Step struct {
	Var        string   // name of its variable: stepPaymentsCharge
	Name       string   // in records
	Function   string   // with its import path
	Formerly   []string // in older records
	ID         []string // the parameters, and fields of the receiver, that identify a call
	Idempotent rules.Idempotency
	Repeat     bool // another call in one execution returns the result again
}

// StepVar returns the name of the variable of a step. names are the name of the
// type, if any, and the name of the function.
func StepVar(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteString(upperFirst(name))
	}
	return "step" + b.String()
}

// BreakerVar returns the name of the variable of a breaker in a store.
func BreakerVar(name string) string { return "breaker" + camel(name) }

// BudgetVar returns the name of the variable of a budget in a store.
func BudgetVar(name string) string { return "budget" + camel(name) }

// uses iterates over the uses of a wrapper that are not nil.
func (w *Wrapper) uses() iter.Seq[*Use] {
	return func(yield func(*Use) bool) {
		for _, use := range append([]*Use{w.Use}, w.By...) {
			if use != nil && !yield(use) {
				return
			}
		}
	}
}

// hasStep reports whether the file has a durable step for which is returns true.
func (f *File) hasStep(is func(*Use) bool) bool {
	for _, w := range f.Wrappers {
		for use := range w.uses() {
			if use.Step != nil && is(use) {
				return true
			}
		}
	}
	return false
}

// HasSteps reports whether the file has durable steps.
func (f *File) HasSteps() bool { return f.hasStep(func(*Use) bool { return true }) }

// onLost returns what follows a lost attempt of a durable step.
func (u *Use) onLost() genapi.OnLost { return u.Durable.Lost(u.Step.Idempotent) }

// NamesErrors reports whether the file lists errors that recorded errors may match.
func (f *File) NamesErrors() bool {
	return slices.ContainsFunc(f.Errors, func(c ErrorClass) bool { return len(c.IsRefs) > 0 })
}

// stored emits the breakers and budgets that durable steps share in a store:
//
//	var breakerUp = breaker.Policy{Name: "up", …}
func (p printer) stored(out *jen.File) {
	variable := func(name, what string, policy any) {
		p.comment(out, wrap(name+" is a "+what+" in the store of the runs, which all of their processes share."))
		out.Var().Id(name).Op("=").Add(valueOf(reflect.Indirect(reflect.ValueOf(policy)))).Line()
	}
	for _, b := range p.file.StoredBreakers {
		variable(BreakerVar(b.Name), "circuit breaker", b.Policy)
	}
	for _, b := range p.file.StoredBudgets {
		variable(BudgetVar(b.Name), "retry budget", b.Ratio)
	}
}

// stepErrors emits
//
//	// stepErrors are the errors that errors.Is finds in recorded errors.
//	var stepErrors = []error{ErrDeclined}
func (p printer) stepErrors(out *jen.File) {
	if !p.file.HasSteps() || !p.file.NamesErrors() {
		return
	}
	var refs []jen.Code
	for _, c := range p.file.Errors {
		for _, r := range c.IsRefs {
			refs = append(refs, reference(r))
		}
	}
	p.comment(out, wrap(StepErrors+" are the errors of "+p.file.Source+" that errors.Is finds in recorded errors."))
	out.Var().Id(StepErrors).Op("=").Index().Error().Values(refs...).Line()
}

// steps emits, for each durable step of a wrapper,
//
//	// stepCharge: if an attempt is lost, its run is paused.
//	var stepCharge = genapi.StepPolicy{Name: "Charge", Policy: &policyCharge, …}
func (p printer) steps(out *jen.File, w Wrapper) {
	for use := range w.uses() {
		if use.Step != nil {
			p.comment(out, wrap(use.Step.Var+": "+stepWords(use)+"."))
			out.Var().Id(use.Step.Var).Op("=").Qual(StepAPIPath, "StepPolicy").Custom(multiline, p.step(use)...).Line()
		}
	}
}

// step emits the fields of a step.
func (p printer) step(use *Use) []jen.Code {
	d, onLost, lostMax := use.Durable, use.onLost(), 0
	if onLost == genapi.OnLostRetry {
		lostMax = d.LostMax
	}
	in := given{
		"Policy": jen.Op("&").Id(use.Var),
		"Shared": nil, // set in the wrapper: see body.shares
	}
	if use.StoredBreaker != "" {
		in["Breaker"] = jen.Op("&").Id(BreakerVar(use.StoredBreaker))
	}
	if use.StoredBudget != "" {
		in["Budget"] = jen.Op("&").Id(BudgetVar(use.StoredBudget))
	}
	if p.file.NamesErrors() {
		in["Errors"] = jen.Id(StepErrors)
	}
	return fieldsOf(reflect.ValueOf(genapi.StepPolicy{
		Name:         use.Step.Name,
		Formerly:     use.Step.Formerly,
		Function:     use.Step.Function,
		Record:       d.Record,
		Idempotent:   use.Step.Idempotent.Repeatable(),
		OnLost:       onLost,
		LostMax:      lostMax,
		ParkAfter:    d.ParkAfter,
		ResumeSpread: d.ResumeSpread,
		OnExhausted:  use.OnExhausted,
		OnChanged:    use.OnChanged,
		Repeat:       use.Step.Repeat,
	}), in)
}

// An idPart is a part of the id of a call: a parameter, or a field of the receiver.
type idPart struct {
	param int    // its index
	field string // of the receiver, or ""
}

// idTexts returns the parts of an id in Go.
func (u *Use) idTexts(id []idPart, l locals) (list []string) {
	receiver := l.recv
	if u.recv {
		receiver = l.params[0]
	}
	for _, part := range id {
		if part.field != "" {
			list = append(list, receiver+"."+part.field)
		} else {
			list = append(list, l.params[part.param])
		}
	}
	return list
}

// arguments returns the parts of the id of a call, the indices of the parameters
// whose values are compared with the recorded ones, and the names of the other
// parameters.
func (u *Use) arguments(fn bind.Func, names []string) (id []idPart, compared []int, ignored []string) {
	first := 0
	if u.recv {
		first = 1
	}
	for _, name := range u.Step.ID {
		if field, ok := strings.CutPrefix(name, policy.ReceiverPrefix); ok {
			id = append(id, idPart{field: field})
			continue
		}
		i := slices.IndexFunc(fn.Params[first:], func(p bind.Param) bool { return p.Name == name })
		id = append(id, idPart{param: first + i})
	}
	for i, param := range fn.Params {
		switch {
		case i < first || i == fn.Ctx || slices.Contains(id, idPart{param: i}):
		case param.Digestible():
			compared = append(compared, i)
		default:
			ignored = append(ignored, names[i])
		}
	}
	return id, compared, ignored
}

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
// If nothing is recorded before an attempt fails, the first one comes before: see
// firstAttempt.
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

// field returns the name of a result in the record of several.
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

// shares returns the pointer to the step, and the code that sets the breaker and
// the budget of the process that it shares with other calls:
//
//	step := stepCharge
//	step.Shared = retry.Shared{Breaker: DefaultShared.UpBreaker}
func (b body) shares() (step *jen.Statement, code []jen.Code) {
	var fields []jen.Code
	if b.use.Breaker != "" {
		fields = append(fields, jen.Id("Breaker").Op(":").Add(b.field(BreakerField(b.use.Breaker))))
	}
	if b.use.Budget != "" {
		fields = append(fields, jen.Id("Budget").Op(":").Add(b.field(BudgetField(b.use.Budget))))
	}
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

// checkedAttempt emits a call of the callee, the check of its results, and what rewinds
// its inputs:
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

// rewindStep emits, for each input that is rewound, after a failed attempt of a
// durable step,
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

// stepWords describes the settings of a durable step that differ between steps.
func stepWords(use *Use) string {
	var parts []string
	if use.Durable.Record == genapi.RecordFailures {
		parts = append(parts, "nothing is recorded before an attempt fails")
	}
	switch use.onLost() {
	case genapi.OnLostRetry:
		parts = append(parts, "a lost attempt is repeated, until "+strconv.Itoa(use.Durable.LostMax)+" are lost")
	case genapi.OnLostFail:
		parts = append(parts, "it fails if an attempt is lost")
	case genapi.OnLostPause:
		parts = append(parts, "if an attempt is lost, its run is paused")
	}
	switch use.OnExhausted {
	case genapi.ExhaustedEscalate:
		parts = append(parts, "exhausted, it is escalated")
	case genapi.ExhaustedDeadLetter:
		parts = append(parts, "exhausted, it is kept as a dead letter")
	case genapi.ExhaustedPause:
		parts = append(parts, "exhausted, it pauses its run")
	}
	return strings.Join(parts, "; ")
}

// stepDoc describes a durable step in the comment of its wrapper.
func stepDoc(fn bind.Func, use *Use, l locals) string {
	id, compared, ignored := use.arguments(fn, l.params)
	names := func(indices []int) (list []string) {
		for _, i := range indices {
			list = append(list, l.params[i])
		}
		return list
	}
	run := "its context"
	if fn.Ctx >= 0 {
		run = l.params[fn.Ctx]
	}
	doc := "It is the durable step " + use.Step.Name + " of the run in " + run
	if len(id) > 0 {
		doc += ", one for each " + join(use.idTexts(id, l), " and ")
	}
	doc += "."
	if len(compared) > 0 {
		what := "the call returns durable.ErrChanged"
		if use.OnChanged == genapi.ChangedReport {
			what = "that is reported"
		}
		doc += " If it was recorded with another " + join(names(compared), " or ") + ", " + what + "."
	}
	if len(ignored) > 0 {
		doc += " Other values of " + join(ignored, " or ") + " are not noticed."
	}
	return doc
}
