package emit

import (
	"reflect"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/retrygen/retrygen/gen/internal/bind"
	"github.com/retrygen/retrygen/policy"
	retry "github.com/retrygen/retrygen/runtime"
)

// The names of generated declarations.
const (
	SharedType    = "Shared"        // the type with the breakers and budgets of the process
	SharedNew     = "NewShared"     // its constructor
	SharedDefault = "DefaultShared" // its default value
	PoliciesFunc  = "Policies"      // the function that lists the policies
	ClassesVar    = "errorClasses"  // the variable with the error classes
	CodesFunc     = "hasCode"       // the function that returns a test for gRPC codes
)

// An ErrorClass is an error class of the policy file with its Go symbols.
type ErrorClass struct {
	policy.ErrorClass
	IsRefs, AsRefs []bind.Ref
}

// A Group is a group of the policy file that bindings use.
type Group struct {
	policy.Group
	Name string // the name of its type: Import
	New  string // the name of its constructor: NewImport
}

// A Breaker is a breaker of the policy file that policies use.
type Breaker struct {
	policy.Breaker
	From *bind.Ref // the variable that holds it, or nil
}

// A Budget is a budget of the policy file that policies use.
type Budget struct {
	policy.Budget
	From *bind.Ref // the variable that holds it, or nil
}

// GroupName returns the name of the type of a group.
func GroupName(group string) string { return camel(group) }

// BreakerField returns the name of the field of a breaker in Shared.
func BreakerField(name string) string { return camel(name) + "Breaker" }

// BudgetField returns the name of the field of a budget in Shared.
func BudgetField(name string) string { return camel(name) + "Budget" }

// classes emits
//
//	// errorClasses lists the error classes of retry.yaml, in the same order.
//	var errorClasses = []retry.ErrorClass{…}
func (p printer) classes(out *jen.File) {
	if len(p.file.Errors) == 0 {
		return
	}
	var list []jen.Code
	for _, c := range p.file.Errors {
		list = append(list, jen.Custom(multiline, p.class(c)...))
	}
	p.comment(out, ClassesVar+" lists the error classes of "+p.file.Source+", in the same order.")
	out.Var().Id(ClassesVar).Op("=").Index().Qual(RuntimePath, "ErrorClass").Custom(multiline, list...).Line()
}

// namesCodes reports whether any class lists gRPC codes.
func (f *File) namesCodes() bool {
	return slices.ContainsFunc(f.Errors, func(c ErrorClass) bool { return len(c.GRPC) > 0 })
}

// class returns the fields of one class.
func (p printer) class(c ErrorClass) (fields []jen.Code) {
	field := func(name string, value jen.Code) {
		fields = append(fields, jen.Id(name).Op(":").Add(value))
	}
	field("Class", jen.Lit(c.Name))
	if len(c.IsRefs) > 0 {
		var refs []jen.Code
		for _, r := range c.IsRefs {
			refs = append(refs, reference(r))
		}
		field("Is", jen.Index().Error().Values(refs...))
	}
	var tests []jen.Code
	for _, r := range c.AsRefs {
		tests = append(tests, jen.Qual(RuntimePath, "As").Types(reference(r)))
		if r.Either {
			r.Pointer = !r.Pointer
			tests = append(tests, jen.Qual(RuntimePath, "As").Types(reference(r)))
		}
	}
	if len(c.GRPC) > 0 {
		var codes []jen.Code
		for _, code := range c.GRPC {
			codes = append(codes, jen.Qual(grpcCodes, codeName(code.Name)))
		}
		tests = append(tests, jen.Id(CodesFunc).Call(codes...))
	}
	if len(tests) > 0 {
		field("As", jen.Index().Func().Params(jen.Error()).Bool().Values(tests...))
	}
	if len(c.HTTP) > 0 {
		var ranges []jen.Code
		for _, r := range c.HTTP {
			ranges = append(ranges, jen.Values(jen.Lit(r[0]), jen.Lit(r[1])))
		}
		field("HTTP", jen.Index().Index(jen.Lit(2)).Int().Values(ranges...))
	}
	if c.Pattern != nil {
		field("Pattern", jen.Qual("regexp", "MustCompile").Call(jen.Lit(c.Pattern.String())))
	}
	if c.Action != retry.ActionDefault {
		field("Action", jen.Qual(RuntimePath, actionNames[c.Action]))
	}
	return fields
}

var actionNames = [...]string{"ActionDefault", "ActionRetry", "ActionFail", "ActionEscalate"}

// reference emits a reference to a variable or type.
func reference(r bind.Ref) *jen.Statement {
	s := jen.Null()
	switch {
	case r.Pointer:
		s.Op("*")
	case r.Address:
		s.Op("&")
	}
	if r.Pkg == "" {
		return s.Id(r.Name)
	}
	return s.Qual(r.Pkg, r.Name)
}

// GRPCStatus is the import path of the package that returns the status of a gRPC
// error. Generated code imports it in packages that depend on it.
const GRPCStatus = "google.golang.org/grpc/status"

const grpcCodes = "google.golang.org/grpc/codes"

// GRPCPackages lists the packages that a file imports if a class lists gRPC codes.
var GRPCPackages = []string{grpcCodes, GRPCStatus}

// codeName returns the Go name of a gRPC code: NotFound for NOT_FOUND.
func codeName(code string) string {
	if code == "CANCELLED" {
		return "Canceled"
	}
	return camel(strings.ToLower(code))
}

// codes emits, if classes list gRPC codes,
//
//	// hasCode returns a function that reports whether an error has one of the …
//	func hasCode(list ...codes.Code) func(error) bool { … }
func (p printer) codes(out *jen.File) {
	if !p.file.namesCodes() {
		return
	}
	p.comment(out, wrap(CodesFunc+" returns a function that reports whether an error has one of the gRPC status "+
		"codes in list."))
	out.Func().Id(CodesFunc).Params(jen.Id("list").Op("...").Qual(grpcCodes,
		"Code")).Func().Params(jen.Error()).Bool().Block(
		jen.Return(jen.Func().Params(jen.Err().Error()).Bool().Block(
			jen.List(jen.Id("s"), jen.Id("ok")).Op(":=").Qual(GRPCStatus, "FromError").Call(jen.Err()),
			jen.Return(jen.Id("ok").Op("&&").Qual("slices", "Contains").Call(jen.Id("list"),
				jen.Id("s").Dot("Code").Call())),
		)),
	).Line()
}

// shared emits the type with the values that calls share, such as breakers and budgets, its
// constructor, and its default value.
func (p printer) shared(out *jen.File) {
	if !p.file.HasShared() {
		return
	}
	var fields, values []jen.Code
	elsewhere, connected := "", ""
	add := func(name, pkg, typ, constructor string, from *bind.Ref, settings jen.Code) {
		fields = append(fields, jen.Id(name).Op("*").Qual(pkg, typ))
		value := jen.Id(name).Op(":")
		if from != nil {
			elsewhere = " What a variable of the program holds keeps its state."
			value.Add(reference(*from))
		} else {
			value.Qual(pkg, constructor).Call(settings)
		}
		values = append(values, value)
	}
	literal := func(settings any) jen.Code {
		v := reflect.Indirect(reflect.ValueOf(settings))
		if !v.IsValid() { // a variable of the program holds the value, so there are no settings
			return nil
		}
		return oneLine(v)
	}
	for _, b := range p.file.Breakers {
		settings := literal(b.Policy)
		if slices.ContainsFunc(p.file.StoredBreakers, func(s policy.Breaker) bool { return s.Name == b.Name }) {
			settings = jen.Id(BreakerVar(b.Name)) // the variable is also used by durable steps
		}
		add(BreakerField(b.Name), BreakerPath, "Breaker", "New", b.From, settings)
	}
	for _, b := range p.file.Budgets {
		pkg, constructor, settings := BudgetPath, "New", literal(b.Ratio)
		if b.Store {
			pkg, constructor = SharedPath, "NewBudget"
			connected = " Budgets in a store refuse retries until they are connected."
		}
		if slices.ContainsFunc(p.file.StoredBudgets, func(s policy.Budget) bool { return s.Name == b.Name }) {
			settings = jen.Id(BudgetVar(b.Name))
		}
		add(BudgetField(b.Name), pkg, "Budget", constructor, b.From, settings)
	}
	for _, part := range p.file.Parts {
		if part.Store && !strings.Contains(connected, "Rates") {
			connected += " Rates in a store refuse attempts until they are connected."
		}
		add(part.Field, part.Pkg, part.Type, part.constructor(), part.From, part.settings())
	}
	p.comment(out, wrap(SharedType+" holds the "+p.file.shares()+" that calls share."))
	out.Type().Id(SharedType).Struct(fields...).Line()

	p.comment(out, wrap(SharedNew+" returns a new "+SharedType+", in which "+p.file.firstStates()+"."+elsewhere+connected))
	out.Func().Id(SharedNew).Params().Op("*").Id(SharedType).Block(
		jen.Return(jen.Op("&").Id(SharedType).Custom(multiline, values...)),
	).Line()
	p.breakers(out)
	p.capacity(out)
	p.connected(out)

	p.comment(out,
		wrap(SharedDefault+
			" contains the values that all wrapped functions share. Decorators that were created with a nil "+
			SharedType+" share these values too. A test may replace "+SharedDefault+" before its first use."))
	out.Var().Id(SharedDefault).Op("=").Id(SharedNew).Call().Line()
}

// shares lists the kinds of values that calls share.
func (f *File) shares() string {
	return f.describe("circuit breakers", "retry budgets", map[string]string{
		"Limiter": "concurrency limits", "Rate": "rates", "Throttle": "throttles", "Hedge": "hedges",
	})
}

// firstStates describes the initial state of the values that calls share.
func (f *File) firstStates() string {
	return f.describe("breakers are closed", "budgets are full", map[string]string{
		"Limiter": "no permit is in use", "Rate": "rates have their whole burst", "Throttle": "throttles refuse nothing",
		"Hedge": "hedges know no durations",
	})
}

// describe joins a text for each kind of value that calls share.
func (f *File) describe(breakers, budgets string, parts map[string]string) string {
	var list []string
	if len(f.Breakers) > 0 {
		list = append(list, breakers)
	}
	if len(f.Budgets) > 0 {
		list = append(list, budgets)
	}
	for _, part := range f.Parts {
		if text := parts[part.Type]; !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return join(list, " and ")
}

// breakers emits
//
//	// Breakers returns the circuit breakers, in the order of retry.yaml.
//	func (s *Shared) Breakers() []*breaker.Breaker {
//		return []*breaker.Breaker{s.UpBreaker}
//	}
func (p printer) breakers(out *jen.File) {
	if len(p.file.Breakers) == 0 {
		return
	}
	var list []jen.Code
	for _, b := range p.file.Breakers {
		list = append(list, jen.Id("s").Dot(BreakerField(b.Name)))
	}
	breakers := jen.Index().Op("*").Qual(BreakerPath, "Breaker")
	p.comment(out, "Breakers returns the circuit breakers, in the order of "+p.file.Source+".")
	out.Func().Params(jen.Id("s").Op("*").Id(SharedType)).Id("Breakers").Params().Add(breakers).Block(
		jen.Return(jen.Add(breakers).Values(list...)),
	).Line()
}

// policies emits
//
//	// Policies returns the policies, in the order of retry.yaml. They must not be
//	// changed.
//	func Policies() []*retry.Policy {
//		return []*retry.Policy{&policyRead, &policyWrite}
//	}
func (p printer) policies(out *jen.File) {
	if len(p.file.Policies) == 0 {
		return
	}
	var list []jen.Code
	what := "the policies"
	for _, policy := range p.file.Policies {
		list = append(list, policy.pointer())
		if policy.Reload {
			what = "the current policies"
		}
	}
	policies := jen.Index().Op("*").Qual(RuntimePath, "Policy")
	p.comment(out,
		wrap(PoliciesFunc+" returns "+what+", in the order of "+p.file.Source+". They must not be changed."))
	out.Func().Id(PoliciesFunc).Params().Add(policies).Block(
		jen.Return(jen.Add(policies).Values(list...)),
	).Line()
}

// connected emits
//
//	// Stored returns what processes share through a store. Pass it to …
//	func (s *Shared) Stored() shared.Set {
//		return shared.Set{Breakers: []*breaker.Breaker{s.UpBreaker}}
//	}
func (p printer) connected(out *jen.File) {
	if !p.file.HasConnected() {
		return
	}
	var breakers, budgets, rates, fields []jen.Code
	for _, b := range p.file.Breakers {
		if b.Store {
			breakers = append(breakers, jen.Id("s").Dot(BreakerField(b.Name)))
		}
	}
	for _, b := range p.file.Budgets {
		if b.Store {
			budgets = append(budgets, jen.Id("s").Dot(BudgetField(b.Name)))
		}
	}
	for _, part := range p.file.Parts {
		if part.Store {
			rates = append(rates, jen.Id("s").Dot(part.Field))
		}
	}
	field := func(name, pkg, typ string, list []jen.Code) {
		if len(list) > 0 {
			fields = append(fields, jen.Id(name).Op(":").Index().Op("*").Qual(pkg, typ).Values(list...))
		}
	}
	field("Breakers", BreakerPath, "Breaker", breakers)
	field("Budgets", SharedPath, "Budget", budgets)
	field("Rates", CapacityPath, "Rate", rates)
	p.comment(out, "Stored returns what processes share through a store. Pass it to shared.Link.Connect.")
	out.Func().Params(jen.Id("s").Op("*").Id(SharedType)).Id("Stored").Params().Qual(SharedPath, "Set").Block(
		jen.Return(jen.Qual(SharedPath, "Set").Custom(multiline, fields...)),
	).Line()
}

// orDurable returns a phrase about durable.Group, which also runs groups, for a file with
// durable steps.
func (p printer) orDurable() string {
	if p.file.HasSteps() {
		return ", or with durable.Group if they have durable steps"
	}
	return ""
}

// group emits the type of a job of a group, and its constructor:
//
//	type Import struct{ *job.Group }
//
//	func NewImport(jobID string) *Import {
//		return &Import{job.NewGroup(job.GroupPolicy{…}, jobID)}
//	}
func (p printer) group(out *jen.File, g Group) {
	doc := g.Name + " is one job of group " + g.GroupPolicy.Name + ". Create it with " + g.New +
		", and run its units with job.Run" + p.orDurable() + "."
	if g.Budget != nil {
		doc += " The units share a retry budget."
	}
	p.comment(out, wrap(doc))
	out.Type().Id(g.Name).Struct(jen.Op("*").Qual(JobPath, "Group")).Line()

	p.comment(out, wrap(g.New+" returns a new job. jobID names it in events."))
	out.Func().Id(g.New).Params(jen.Id("jobID").String()).Op("*").Id(g.Name).Block(
		jen.Return(jen.Op("&").Id(g.Name).Values(jen.Qual(JobPath, "NewGroup").Call(
			valueOf(reflect.ValueOf(g.GroupPolicy)), jen.Id("jobID"),
		))),
	).Line()
}
