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
	Name       string   // its name in records
	Function   string   // the name of the function with its import path
	Formerly   []string // its names in older records
	ID         []string // the parameters, and the fields of the receiver, that identify a call
	Idempotent rules.Idempotency
	Repeat     bool // another call with the same id in one execution returns the recorded result
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

// BreakerVar returns the name of the variable for a breaker in a store.
func BreakerVar(name string) string { return "breaker" + camel(name) }

// BudgetVar returns the name of the variable for a budget in a store.
func BudgetVar(name string) string { return "budget" + camel(name) }

// uses iterates over the non-nil uses of a wrapper.
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

// onLost returns what a durable step does after an attempt is lost.
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
		p.comment(out, wrap(name+" configures "+what+". Its state is in the store of the runs, so that all processes "+
			"share it."))
		out.Var().Id(name).Op("=").Add(valueOf(reflect.Indirect(reflect.ValueOf(policy)))).Line()
	}
	for _, b := range p.file.StoredBreakers {
		variable(BreakerVar(b.Name), "circuit breaker "+b.Name, b.Policy)
	}
	for _, b := range p.file.StoredBudgets {
		variable(BudgetVar(b.Name), "retry budget "+b.Name, b.Ratio)
	}
}

// stepErrors emits
//
//	// stepErrors lists the errors that errors.Is recognizes in recorded errors.
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
	p.comment(out, wrap(StepErrors+" lists the errors in "+p.file.Source+" that errors.Is recognizes in recorded errors."))
	out.Var().Id(StepErrors).Op("=").Index().Error().Values(refs...).Line()
}

// steps emits, for each durable step of a wrapper,
//
//	// stepCharge pauses its run if an attempt is lost.
//	var stepCharge = genapi.StepPolicy{Name: "Charge", Policy: &policyCharge, …}
func (p printer) steps(out *jen.File, w Wrapper) {
	for use := range w.uses() {
		if use.Step != nil {
			p.comment(out, wrap(use.Step.Var+" "+stepWords(use)+"."))
			out.Var().Id(use.Step.Var).Op("=").Qual(StepAPIPath, "StepPolicy").Custom(multiline, p.step(use)...).Line()
		}
	}
}

// step emits the fields of the variable of a durable step.
func (p printer) step(use *Use) []jen.Code {
	d, onLost, lostMax := use.Durable, use.onLost(), 0
	if onLost == genapi.OnLostRetry {
		lostMax = d.LostMax
	}
	in := given{
		"Policy": jen.Op("&").Id(use.Var),
		"Shared": nil, // the wrapper sets it: see body.shares
	}
	if use.Reload {
		in["Policy"], in["Live"] = nil, jen.Id(use.Var)
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

// An idPart is one part of the id of a call: a parameter, or a field of the receiver.
type idPart struct {
	param int    // the index of the parameter
	field string // the name of the field of the receiver, or ""
}

// idTexts returns the parts of an id as Go expressions.
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

// arguments splits the arguments of a call. It returns the parts of its id, the indices of the
// parameters whose values are compared with the recorded ones, and the names of the other
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

// stepWords describes the settings of a durable step that differ between steps.
func stepWords(use *Use) string {
	var parts []string
	if use.Durable.Record == genapi.RecordFailures {
		parts = append(parts, "records nothing before an attempt fails")
	}
	switch use.onLost() {
	case genapi.OnLostRetry:
		parts = append(parts, "repeats a lost attempt until "+strconv.Itoa(use.Durable.LostMax)+" attempts are lost")
	case genapi.OnLostFail:
		parts = append(parts, "fails if an attempt is lost")
	case genapi.OnLostPause:
		if use.OnExhausted == genapi.ExhaustedPause {
			return join(append(parts, "pauses its run if an attempt is lost or its retries are exhausted"), " and ")
		}
		parts = append(parts, "pauses its run if an attempt is lost")
	}
	switch use.OnExhausted {
	case genapi.ExhaustedEscalate:
		parts = append(parts, "is escalated if its retries are exhausted")
	case genapi.ExhaustedDeadLetter:
		parts = append(parts, "becomes a dead letter if its retries are exhausted")
	case genapi.ExhaustedPause:
		parts = append(parts, "pauses its run if its retries are exhausted")
	}
	return join(parts, " and ")
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
		doc += ". Each " + join(use.idTexts(id, l), " and ") + " has its own step"
	}
	doc += "."
	if len(compared) > 0 {
		what := "the call returns durable.ErrChanged"
		if use.OnChanged == genapi.ChangedReport {
			what = "the change is reported"
		}
		doc += " If " + join(names(compared), " or ") + " differs from the recorded value, " + what + "."
	}
	if len(ignored) > 0 {
		doc += " Changes to " + join(ignored, " or ") + " are not noticed."
	}
	return doc
}
