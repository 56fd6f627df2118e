package rules

import (
	"math"
	"slices"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
	"github.com/retrygen/retrygen/runtime/capacity"
	"github.com/retrygen/retrygen/runtime/job"
)

// shareRules lists the rules about bindings, budgets and groups.
var shareRules = []Rule{
	{ID: "P704", Severity: Error, file: notIdempotent},
	{ID: "P804", Severity: Warning, file: unitCanUseBudget},
	{ID: "P805", Severity: Warning, file: budgetWithoutEffect, whole: []string{"bind"}},
	{ID: "P806", Severity: Error, file: overCeiling},
	{ID: "P808", Severity: Warning, file: needsEveryUnit},
	{ID: "P809", Severity: Warning, file: deadlineDoesNotFit},
	{ID: "P811", Severity: Warning, file: budgetBelowOneCall},
	{
		ID: "P902", Severity: Warning,
		file:  unused,
		whole: []string{"scopes", "breakers", "throttles", "groups", "policies", "bind"},
	},
}

// notIdempotent is P704.
func notIdempotent(f *File, report report) {
	for _, b := range f.Bindings {
		p := f.policy(b.Policy)
		if b.Idempotent != NotIdempotent || p == nil || p.singleAttempt() {
			continue
		}
		at := Place{"bind", b.Symbol, "idempotent"}
		name := b.Symbol
		if b.Method != "" {
			at.Field = Field("methods." + b.Method + ".idempotent")
			name += "." + b.Method
		}
		const fix = "retry only classes with unprocessed: true, or write idempotent: key"
		class, ambiguous := Ambiguous(p.RetryOn, func(class retry.Class) bool {
			c := f.class(class)
			return c != nil && c.Unprocessed
		})
		switch {
		case !ambiguous:
		case class == "":
			report(Error, at,
				"%s is not idempotent, but policy %s retries every error, after some of which the work may be done already: %s",
				name, p.Name, fix)
		default:
			report(Error, at, "%s is not idempotent, but policy %s retries %s, after which the work may be done already: %s",
				name, p.Name, class, fix)
		}
	}
}

// Ambiguous returns the first class in retryOn whose errors can occur after the service
// has done the work. It returns false if retryOn contains no such class. An empty retryOn
// means all errors. In this case, Ambiguous returns "" and true. unprocessed reports
// whether the file states that the work was not done when an error of the given class
// occurs.
func Ambiguous(retryOn []retry.Class, unprocessed func(retry.Class) bool) (retry.Class, bool) {
	if len(retryOn) == 0 {
		return "", true
	}
	for _, class := range retryOn {
		if !slices.Contains(refusals, class) && !unprocessed(class) {
			return class, true
		}
	}
	return "", false
}

// singleAttempt reports whether no schedule of a policy makes a second attempt.
func (p *Policy) singleAttempt() bool {
	return p.MaxAttempts == 1 && !slices.ContainsFunc(p.PerError, func(o retry.Override) bool {
		return o.MaxAttempts != 1
	})
}

// unitCanUseBudget is P804.
func unitCanUseBudget(f *File, report report) {
	for _, b := range f.Counts {
		if b.Retries > 0 && b.PerUnit >= b.Retries && b.Retries > 1 {
			report(Warning, Place{"budgets", b.Name, "per_unit"},
				"per_unit %d is not below retries %d, so one unit can use up all retries: lower it", b.PerUnit, b.Retries)
		}
	}
}

// budgetWithoutEffect is P805.
func budgetWithoutEffect(f *File, report report) {
	for _, g := range f.Groups {
		if g.Budget == nil || g.Budget.Retries <= 0 || g.Units == 0 {
			continue
		}
		most := 0
		for _, b := range f.Bindings {
			p := f.policy(b.Policy)
			if b.Group != g.Name || p == nil {
				continue
			}
			if p.MaxAttempts == retry.Unlimited {
				most = g.Budget.PerUnit
			} else {
				most += p.MaxAttempts - 1
			}
			for _, o := range p.PerError {
				if o.MaxAttempts > p.MaxAttempts {
					most = g.Budget.PerUnit
				}
			}
		}
		if most = min(most, max(g.Budget.PerUnit, 0)); most > 0 && g.Units <= g.Budget.Retries/most {
			report(Warning, Place{"groups", g.Name, "budget"},
				"%d units retry %d times at most, which budget %s with %d retries never limits: lower its retries", g.Units, most,
				g.Budget.Name, g.Budget.Retries)
		}
	}
}

// budgetBelowOneCall is P811. While a service refuses every call at once, tokens are added by the
// time of the waits alone.
func budgetBelowOneCall(f *File, report report) {
	for _, p := range f.Policies {
		i := slices.IndexFunc(f.Buckets, func(b budget.Policy) bool { return b.Name == p.Budget })
		if i < 0 || p.MaxAttempts == retry.Unlimited || waitsForever(p.Policy) {
			continue
		}
		b := f.Buckets[i].Effective()
		perSecond, passed := max(b.MinPerSecond, 0), time.Duration(0)
		for k := 1; k < p.MaxAttempts && k <= maxSummed; k++ {
			passed += min(greatestWait(p.Policy, k), math.MaxInt64-passed)
			if b.Burst+perSecond*passed.Seconds() >= float64(k) {
				continue
			}
			severity := Warning
			if p.MaxAttempts >= manyAttempts {
				severity = Info
			}
			report(severity, Place{"budgets", b.Name, "burst"},
				"burst %v allows %d of the %d retries of one call of policy %s, if its attempts fail at once: raise it, or lower "+
					"max_attempts", b.Burst, k-1, p.MaxAttempts-1, p.Name)
			break
		}
	}
}

// overCeiling is P806.
func overCeiling(f *File, report report) {
	for _, b := range f.Counts {
		if b.Retries > b.MaxRetries {
			report(Error, Place{"budgets", b.Name, "retries"},
				"retries %d is over the ceiling of %d: lower it, or write ceiling: {retries: %d}", b.Retries, b.MaxRetries,
				b.Retries)
		}
		if b.PerUnit > b.MaxPerUnit {
			report(Error, Place{"budgets", b.Name, "per_unit"},
				"per_unit %d is over the ceiling of %d: lower it, or write ceiling: {per_unit: %d}", b.PerUnit, b.MaxPerUnit,
				b.PerUnit)
		}
	}
}

// needsEveryUnit is P808.
func needsEveryUnit(f *File, report report) {
	for _, g := range f.Groups {
		if g.BestEffort == nil || g.Units == 0 {
			continue
		}
		at := Place{"groups", g.Name, "best_effort.min_success"}
		switch min := g.BestEffort.MinSuccess; {
		case min > g.Units:
			report(Error, at, "min_success %d is more than the %d units: lower it", min, g.Units)
		case min == g.Units:
			report(Warning, at, "min_success %d is all units, so best_effort has no effect: lower it, or remove best_effort",
				min)
		}
	}
}

// deadlineDoesNotFit is P809.
func deadlineDoesNotFit(f *File, report report) {
	for _, g := range f.Groups {
		if g.BestEffort == nil {
			continue
		}
		at := Place{"groups", g.Name, "best_effort.deadline"}
		deadline := g.BestEffort.Deadline
		if g.Timeout > 0 && deadline >= g.Timeout {
			report(Warning, at, "deadline %s is not below the group's timeout %s, which ends it first: lower it",
				short(deadline), short(g.Timeout))
		}
		for _, b := range f.Bindings {
			if p := f.policy(b.Policy); b.Group == g.Name && p != nil && deadline < p.AttemptTimeout {
				report(Error, at, "deadline %s is shorter than one attempt of policy %s, %s: raise it", short(deadline), p.Name,
					short(p.AttemptTimeout))
				break
			}
		}
	}
}

// unused is P902.
func unused(f *File, report report) {
	warn := func(section, name, what string, used bool) {
		if !used {
			report(Warning, Place{section, name, ""}, "%s %s is not used: remove it", what, name)
		}
	}
	for _, s := range f.Scopes {
		warn("scopes", s.Name, "scope", slices.ContainsFunc(f.Scopes, func(o Scope) bool { return o.Within == s.Name }) ||
			slices.ContainsFunc(f.Policies, func(p Policy) bool { return p.Scope == s.Name }))
	}
	for _, c := range f.Errors {
		warn("errors", string(c.Class), "error class", c.Action != retry.ActionDefault || f.usesClass(c.Class))
	}
	breakers := f.BreakersInGo
	for _, b := range f.Breakers {
		breakers = append(breakers, b.Name)
	}
	for _, name := range breakers {
		warn("breakers", name, "breaker", slices.ContainsFunc(f.Policies, func(p Policy) bool { return p.Breaker == name }))
	}
	for _, b := range f.Budgets {
		warn("budgets", b, "budget", slices.ContainsFunc(f.Policies, func(p Policy) bool { return p.Budget == b }) ||
			slices.ContainsFunc(f.Groups, func(g job.GroupPolicy) bool { return g.Budget != nil && g.Budget.Name == b }))
	}
	f.unusedCapacity(warn)
	durable := slices.ContainsFunc(f.Policies, func(p Policy) bool { return p.Durable != nil })
	for _, g := range f.Groups {
		warn("groups", g.Name, "group", durable ||
			slices.ContainsFunc(f.Bindings, func(b Binding) bool { return b.Group == g.Name }))
	}
}

// usesClass reports whether any list of the file names a class.
func (f *File) usesClass(class retry.Class) bool {
	return slices.ContainsFunc(f.Policies, func(p Policy) bool {
		return slices.Contains(p.RetryOn, class) || slices.Contains(p.AbortOn, class) ||
			slices.ContainsFunc(p.PerError, func(o retry.Override) bool { return o.Class == class })
	}) ||
		slices.ContainsFunc(f.Breakers, func(b breaker.Policy) bool { return slices.Contains(b.Count, string(class)) }) ||
		slices.ContainsFunc(f.Throttles, func(t capacity.ThrottlePolicy) bool {
			return slices.Contains(t.Count, string(class))
		})
}
