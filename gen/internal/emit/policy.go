package emit

import (
	"time"

	"github.com/dave/jennifer/jen"

	"github.com/retrygen/retrygen/policy"
	retry "github.com/retrygen/retrygen/runtime"
)

// printer emits the declarations of one file, one method a declaration.
type printer struct {
	file    File
	aliases map[string]string
}

// handshake emits
//
//	const _ = retry.GeneratedV1
func (p printer) handshake(out *jen.File) {
	p.comment(out, "Made for version 1 of the runtime.")
	out.Const().Id("_").Op("=").Qual(RuntimePath, "GeneratedV1").Line()
}

// AmplificationConst is where retrylint finds limits.amplification.
const AmplificationConst = "retryAmplification"

// amplification emits
//
//	// retryAmplification is how many attempts …
//	const retryAmplification = 20
//
//	const _ = retryAmplification
func (p printer) amplification(out *jen.File) {
	if p.file.Amplification == 0 {
		return
	}
	p.comment(out, wrap(AmplificationConst+" is how many attempts retries inside of retries may multiply to, for retrylint (RL401)."))
	out.Const().Id(AmplificationConst).Op("=").Lit(p.file.Amplification).Line()
	out.Const().Id("_").Op("=").Id(AmplificationConst).Line() // no linter calls it unused
}

// policy emits
//
//	// policyRead: up to 3 attempts, waiting 1s and 2s.
//	var policyRead = retry.Policy{Name: "read", MaxAttempts: 3, …}
func (p printer) policy(out *jen.File, one Policy) {
	text := wrap(one.Var + ": " + words(&one.Policy.Policy) + sharedWords(one) + ".")
	if one.Description != "" {
		text += "\n\n" + one.Description
	}
	p.comment(out, text)
	out.Var().Id(one.Var).Op("=").Qual(RuntimePath, "Policy").Custom(multiline, p.literal(&one.Policy.Policy)...).Line()
}

var multiline = jen.Options{Open: "{", Close: "}", Separator: ",", Multi: true}

// literal emits the fields of a policy in their order. Values that mean
// nothing under the policy's strategy are left out.
func (out printer) literal(p *retry.Policy) []jen.Code {
	fields := []jen.Code{jen.Id("Name").Op(":").Lit(p.Name), schedule(&p.Schedule)}
	field := func(name string, value jen.Code) {
		fields = append(fields, jen.Id(name).Op(":").Add(value))
	}
	for _, limit := range []struct {
		name string
		d    time.Duration
	}{
		{"DelayBudget", p.DelayBudget}, {"MaxElapsed", p.MaxElapsed},
		{"AttemptTimeout", p.AttemptTimeout}, {"Timeout", p.Timeout},
	} {
		if limit.d > 0 {
			field(limit.name, durationExpr(limit.d))
		}
	}
	if p.HardLimit > 0 {
		field("Scope", jen.Lit(p.Scope))
		field("HardLimit", durationExpr(p.HardLimit))
	}
	if len(p.RetryOn) > 0 {
		field("RetryOn", classes(p.RetryOn))
	}
	if len(p.AbortOn) > 0 {
		field("AbortOn", classes(p.AbortOn))
	}
	if len(p.Classes) > 0 {
		field("Classes", out.classesOf(p))
	}
	if out.file.namesCodes() {
		field("GRPC", jen.Id(CodeFunc))
	}
	if p.IgnoreText {
		field("IgnoreText", jen.True())
	}
	if len(p.PerError) > 0 {
		var overrides []jen.Code
		for _, o := range p.PerError {
			overrides = append(overrides, jen.Custom(multiline, jen.Id("Class").Op(":").Add(class(o.Class)), schedule(&o.Schedule)))
		}
		field("PerError", jen.Index().Qual(RuntimePath, "Override").Custom(multiline, overrides...))
	}
	if p.Nested {
		field("Nested", jen.True())
	}
	return fields
}

// classesOf returns the definitions that a policy needs: those of the file,
// and patterns of its own.
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
	return jen.Qual("slices", "Concat").Call(jen.Id(ClassesVar), jen.Index().Qual(RuntimePath, "ErrorClass").Custom(multiline, own...))
}

// ending emits the limits on requested waits, and the action on exhaustion.
func ending(s *retry.Schedule) (fields []jen.Code) {
	if r := s.RetryAfter; r != (retry.RetryAfter{}) {
		var list []jen.Code
		if r.Max != 0 {
			list = append(list, jen.Id("Max").Op(":").Add(durationExpr(r.Max)))
		}
		if r.Default > 0 {
			list = append(list, jen.Id("Default").Op(":").Add(durationExpr(r.Default)))
		}
		if r.FailOver {
			list = append(list, jen.Id("FailOver").Op(":").True())
		}
		fields = append(fields, jen.Id("RetryAfter").Op(":").Qual(RuntimePath, "RetryAfter").Values(list...))
	}
	if s.Escalate {
		fields = append(fields, jen.Id("Escalate").Op(":").True())
	}
	return fields
}

// schedule emits
//
//	Schedule: retry.Schedule{MaxAttempts: 3, …}
func schedule(p *retry.Schedule) jen.Code {
	var fields []jen.Code
	field := func(name string, value jen.Code) {
		fields = append(fields, jen.Id(name).Op(":").Add(value))
	}
	field("MaxAttempts", orWord(p.MaxAttempts, retry.Unlimited, "Unlimited", jen.Lit(p.MaxAttempts)))
	field("Backoff", jen.Qual(RuntimePath, backoffNames[p.Backoff]))
	if p.Backoff != retry.BackoffCustom {
		field("InitialDelay", durationExpr(p.InitialDelay))
	}
	switch p.Backoff {
	case retry.BackoffExponential:
		field("Base", jen.Lit(p.Base))
	case retry.BackoffLinear:
		field("Increment", durationExpr(p.Increment))
	case retry.BackoffCustom:
		var delays []jen.Code
		for _, d := range p.Delays {
			delays = append(delays, durationExpr(d))
		}
		field("Delays", jen.Index().Qual("time", "Duration").Values(delays...))
	}
	field("MaxDelay", durationExpr(p.MaxDelay))
	if p.Jitter != retry.JitterNone {
		field("Jitter", jen.Qual(RuntimePath, jitterNames[p.Jitter]))
	}
	if p.Jitter == retry.JitterProportional || p.Jitter == retry.JitterAdditive {
		field("JitterFactor", jen.Lit(p.JitterFactor))
	}
	fields = append(fields, ending(p)...)
	return jen.Id("Schedule").Op(":").Qual(RuntimePath, "Schedule").Custom(multiline, fields...)
}

var (
	backoffNames = [...]string{"BackoffExponential", "BackoffFixed", "BackoffLinear", "BackoffFibonacci", "BackoffCustom"}
	jitterNames  = [...]string{
		"JitterNone", "JitterProportional", "JitterFull", "JitterEqual", "JitterDecorrelated", "JitterAdditive",
	}
	classNames = map[retry.Class]string{
		retry.ClassNetwork: "ClassNetwork", retry.ClassTimeout: "ClassTimeout",
		retry.ClassServerError: "ClassServerError", retry.ClassRateLimit: "ClassRateLimit",
		retry.ClassCanceled: "ClassCanceled", retry.ClassBreakerOpen: "ClassBreakerOpen",
		retry.ClassTransient: "ClassTransient", retry.ClassAny: "ClassAny",
	}
)

func classes(list []retry.Class) jen.Code {
	var values []jen.Code
	for _, c := range list {
		values = append(values, class(c))
	}
	return jen.Index().Qual(RuntimePath, "Class").Values(values...)
}

func class(c retry.Class) jen.Code {
	if name, ok := classNames[c]; ok {
		return jen.Qual(RuntimePath, name)
	}
	return jen.Lit(string(c))
}

// orWord writes the runtime's word for a value that has one.
func orWord[T comparable](value, special T, word string, otherwise jen.Code) jen.Code {
	if value == special {
		return jen.Qual(RuntimePath, word)
	}
	return otherwise
}

// durationExpr writes d in the greatest unit that divides it: 250 * time.Millisecond.
func durationExpr(d time.Duration) jen.Code {
	if d == retry.None {
		return jen.Qual(RuntimePath, "None")
	}
	units := []struct {
		size time.Duration
		name string
	}{{time.Hour, "Hour"}, {time.Minute, "Minute"}, {time.Second, "Second"}, {time.Millisecond, "Millisecond"}, {time.Microsecond, "Microsecond"}}
	for _, u := range units {
		switch {
		case d == u.size:
			return jen.Qual("time", u.name)
		case d > u.size && d%u.size == 0:
			return jen.Lit(int(d/u.size)).Op("*").Qual("time", u.name)
		}
	}
	return jen.Lit(int(d))
}
