package emit

import (
	"reflect"

	"github.com/dave/jennifer/jen"

	"github.com/retrygen/retrygen/policy"
	retry "github.com/retrygen/retrygen/runtime"
)

// A printer emits the declarations of one file. It has a method for each kind of declaration.
type printer struct {
	file    File
	aliases map[string]string
}

// handshake emits
//
//	const _ = genapi.GeneratedV1
//
// In a file with durable steps, it refers to the package for durable steps. The constant of
// that package depends on the one for other calls.
func (p printer) handshake(out *jen.File) {
	path := GenapiPath
	if p.file.HasSteps() {
		path = StepAPIPath
	}
	p.comment(out, "This code was generated for version 1 of the runtime.")
	out.Const().Id("_").Op("=").Qual(path, "GeneratedV1").Line()
}

// AmplificationConst is the name of the constant from which retrylint learns the value of
// limits.amplification.
const AmplificationConst = "retryAmplification"

// amplification emits
//
//	// retryAmplification is the number of attempts …
//	const retryAmplification = 20
//
//	const _ = retryAmplification
func (p printer) amplification(out *jen.File) {
	if p.file.Amplification == 0 {
		return
	}
	p.comment(out,
		wrap(AmplificationConst+" is the maximum number of attempts that nested retries may add up to. "+
			"retrylint reads it (RL401)."))
	out.Const().Id(AmplificationConst).Op("=").Lit(p.file.Amplification).Line()
	out.Const().Id("_").Op("=").Id(AmplificationConst).Line() // otherwise, linters report it as unused
}

// policy emits
//
//	// policyRead makes up to 3 attempts and waits 1s and 2s between them.
//	var policyRead = retry.Policy{Name: "read", MaxAttempts: 3, …}
//
// or, if it may change while the program runs,
//
//	var policyRead = retry.NewLive(&retry.Policy{Name: "read", …})
func (p printer) policy(out *jen.File, one Policy) {
	text := words(one.Var, &one.Policy.Policy) + sharedWords(one)
	if one.Reload {
		text += " The policy may change while the program runs: see " + LiveFunc + "."
	}
	text = wrap(text)
	if one.Description != "" {
		text += "\n\n" + one.Description
	}
	p.comment(out, text)
	literal := jen.Qual(RuntimePath, "Policy").Custom(multiline, p.literal(one.Policy.Compiled())...)
	if one.Reload {
		literal = jen.Qual(RuntimePath, "NewLive").Call(jen.Op("&").Add(literal))
	}
	out.Var().Id(one.Var).Op("=").Add(literal).Line()
}

// inForce emits the current policy for a call that begins now, as the receiver of a method:
//
//	policyRead.Load()
func (p *Policy) inForce() *jen.Statement {
	if p.Reload {
		return jen.Id(p.Var).Dot("Load").Call()
	}
	return jen.Id(p.Var)
}

// pointer emits a pointer to the current policy.
func (p *Policy) pointer() *jen.Statement {
	if p.Reload {
		return p.inForce()
	}
	return jen.Op("&").Id(p.Var)
}

var multiline = jen.Options{Open: "{", Close: "}", Separator: ",", Multi: true}

// literal emits the fields of a policy, in the order of their declarations.
func (out printer) literal(p retry.Policy) []jen.Code {
	in := given{"Classes": nil, "Facts": nil}
	if len(p.Classes) > 0 {
		in["Classes"] = out.classesOf(&p)
	}
	if out.file.HasFacts() {
		in["Facts"] = jen.Id(FactsFunc)
	}
	return fieldsOf(reflect.ValueOf(p), in)
}

// classesOf emits the error classes of a policy: the classes of the policy file, and the
// patterns of the policy itself.
func (out printer) classesOf(p *retry.Policy) jen.Code {
	var own []jen.Code
	whole := false
	for _, c := range p.Classes {
		if policy.IsPattern(c.Class) {
			own = append(own, jen.Values(
				jen.Id("Class").Op(":").Lit(string(c.Class)),
				jen.Id("Pattern").Op(":").Qual("regexp", "MustCompile").Call(jen.Lit(c.Pattern.String())),
			))
		} else {
			whole = true
		}
	}
	switch {
	case !whole:
		return jen.Index().Qual(RuntimePath, "ErrorClass").Custom(multiline, own...)
	case len(own) == 0:
		return jen.Id(ClassesVar)
	}
	return jen.Qual("slices", "Concat").Call(jen.Id(ClassesVar),
		jen.Index().Qual(RuntimePath, "ErrorClass").Custom(multiline, own...))
}
