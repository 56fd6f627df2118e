package emit

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dave/jennifer/jen"
)

// The names of declarations in generated code for policies that may change while the program
// runs.
const (
	LiveFunc = "LivePolicies" // the function that returns these policies
	TextVar  = "policyFile"   // the constant with the text of the policy file
)

// HasLive reports whether any policy may change while the program runs.
func (f *File) HasLive() bool {
	return slices.ContainsFunc(f.Policies, func(p Policy) bool { return p.Reload })
}

// live emits
//
//	// LivePolicies returns the policies that may change while the program runs, …
//	func LivePolicies(shared ...*Shared) genapi.LivePackage {
//		live := genapi.LivePackage{
//			Package:  "example.com/orders",
//			File:     "retry.yaml",
//			Text:     policyFile,
//			Policies: []*retry.Live{policyRead},
//		}
//		if len(shared) == 0 {
//			shared = append(shared, DefaultShared)
//		}
//		for _, s := range shared {
//			live.Shared = append(live.Shared, genapi.LiveShared{Breakers: s.Breakers(), …})
//		}
//		return live
//	}
//
// and the constant.
func (p printer) live(out *jen.File) {
	if !p.file.HasLive() {
		return
	}
	var policies, steps []jen.Code
	for _, one := range p.file.Policies {
		switch {
		case !one.Reload:
		case one.Durable != nil:
			steps = append(steps, jen.Id(one.Var))
		default:
			policies = append(policies, jen.Id(one.Var))
		}
	}
	live := jen.Qual(GenapiPath, "LivePackage")
	fields := []jen.Code{
		jen.Id("Package").Op(":").Lit(p.file.Path),
		jen.Id("File").Op(":").Lit(p.file.Source),
		jen.Id("Text").Op(":").Id(TextVar),
	}
	list := func(name string, list []jen.Code) {
		if len(list) > 0 {
			fields = append(fields, jen.Id(name).Op(":").Index().Op("*").Qual(RuntimePath, "Live").Values(list...))
		}
	}
	list("Policies", policies)
	list("Steps", steps)
	value := jen.Add(live).Custom(multiline, fields...)
	doc := LiveFunc + " returns the policies that may change while the program runs, for packages live and override"
	if !p.file.HasShared() {
		p.comment(out, wrap(doc+"."))
		out.Func().Id(LiveFunc).Params().Add(live).Block(jen.Return(value)).Line()
		p.text(out)
		return
	}
	p.comment(out, wrap(doc+". Changes to "+p.file.shares()+" apply to each of shared, or to "+SharedDefault+
		" if shared is empty."))
	shared := jen.Id("shared")
	out.Func().Id(LiveFunc).Params(shared.Clone().Op("...").Op("*").Id(SharedType)).Add(live).Block(
		jen.Id("live").Op(":=").Add(value),
		jen.If(jen.Len(shared.Clone()).Op("==").Lit(0)).Block(
			shared.Clone().Op("=").Append(shared.Clone(), jen.Id(SharedDefault)),
		),
		jen.For(jen.List(jen.Id("_"), jen.Id("s")).Op(":=").Range().Add(shared.Clone())).Block(
			jen.Id("live").Dot("Shared").Op("=").Append(jen.Id("live").Dot("Shared"),
				jen.Qual(GenapiPath, "LiveShared").Custom(multiline, p.sharedParts()...)),
		),
		jen.Return(jen.Id("live")),
	).Line()
	p.text(out)
}

// sharedParts emits the fields of a genapi.LiveShared.
func (p printer) sharedParts() (fields []jen.Code) {
	method := func(name string) {
		fields = append(fields, jen.Id(name).Op(":").Id("s").Dot(name).Call())
	}
	if len(p.file.Breakers) > 0 {
		method("Breakers")
	}
	var budgets []jen.Code
	for _, b := range p.file.Budgets {
		if !b.Store {
			budgets = append(budgets, jen.Id("s").Dot(BudgetField(b.Name)))
		}
	}
	if len(budgets) > 0 {
		fields = append(fields, jen.Id("Budgets").Op(":").Index().Op("*").Qual(BudgetPath, "Budget").Values(budgets...))
	}
	hedges := slices.ContainsFunc(p.file.Parts, func(part Part) bool { return part.Type == "Hedge" })
	if slices.ContainsFunc(p.file.Parts, func(part Part) bool { return part.Type != "Hedge" }) {
		method("Capacity")
	}
	if hedges {
		method("Hedges")
	}
	return fields
}

// text emits the text of the policy file, as a raw string literal if possible.
func (p printer) text(out *jen.File) {
	literal := "`" + p.file.Text + "`"
	if !isRaw(p.file.Text) {
		literal = strconv.Quote(p.file.Text)
	}
	p.comment(out, wrap(TextVar+" is the text of "+p.file.Source+". Package live compares later versions of the "+
		"file with it."))
	out.Const().Id(TextVar).Op("=").Op(literal).Line()
}

// isRaw reports whether a raw string literal can represent a text unchanged.
func isRaw(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsAny(text, "`\r\x00\uFEFF")
}
