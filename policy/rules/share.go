package rules

import (
	"slices"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/job"
)

// shareRules lists the rules about bindings, budgets and groups.
var shareRules = []Rule{
	{
		ID: "P704", Title: "non-idempotent call retried on an ambiguous error", Severity: Error,
		Reports: "A binding has `idempotent: false`, and its policy retries errors after which the work may " +
			"already be done.",
		Why: "A timeout does not show whether the server did the work. The retry charges the card, sends the " +
			"mail or places the order a second time.",
		Wrong: "policies:\n" +
			"  pay: {retry_on: [timeout]}\n" +
			"bind:\n" +
			"  Client.Pay: {policy: pay, idempotent: false}",
		Right: "errors: {not_sent: {is: [ErrDial], unprocessed: true}}\n" +
			"policies:\n" +
			"  pay: {retry_on: [not_sent]}\n" +
			"bind:\n" +
			"  Client.Pay: {policy: pay, idempotent: false}",
		NotReported: []string{
			"Bindings without `idempotent`.",
			"Classes with `unprocessed: true`, which prove that the server did nothing, and `breaker_open`.",
			"Policies with `max_attempts: 1`.",
		},
		Fix: "Retry only classes with `unprocessed: true`, or write `idempotent: key` and let the server " +
			"recognise the repeated key.",
		Related: []string{"P912", "P913"},
		file:    notIdempotent,
	},
	{
		ID: "P804", Title: "one unit can use up the budget", Severity: Warning,
		Reports: "The `per_unit` of a budget is not below its `retries`.",
		Why: "One failing unit takes all retries of the job, and healthy units fail at their first transient " +
			"error.",
		Wrong: "budgets: {job: {retries: 3, per_unit: 3}}\n" +
			"groups: {import: {budget: job}}\n" +
			"policies:\n" +
			"  shard: {jitter: full}\n" +
			"bind:\n" +
			"  Run: {policy: shard, group: import, unit: id}",
		Right: "budgets: {job: {retries: 10, per_unit: 3}}\n" +
			"groups: {import: {budget: job}}\n" +
			"policies:\n" +
			"  shard: {jitter: full}\n" +
			"bind:\n" +
			"  Run: {policy: shard, group: import, unit: id}",
		NotReported: []string{
			"`retries: 1`, and `retries: none`.",
		},
		Fix:     "Lower `per_unit`, or raise `retries`.",
		Related: []string{"P805", "P806"},
		file:    unitCanUseBudget,
	},
	{
		ID: "P805", Title: "budget of a group without effect", Severity: Warning,
		Reports: "All units of a group together cannot retry as often as the group's budget allows.",
		Why: "The budget never stops a job that fails everywhere. Each unit retries to its end against a " +
			"service that is down.",
		Wrong: "budgets: {job: {retries: 20}}\n" +
			"groups: {import: {units: 4, budget: job}}\n" +
			"policies:\n" +
			"  shard: {jitter: full}\n" +
			"bind:\n" +
			"  Run: {policy: shard, group: import, unit: id}",
		Right: "budgets: {job: {retries: 6}}\n" +
			"groups: {import: {units: 4, budget: job}}\n" +
			"policies:\n" +
			"  shard: {jitter: full}\n" +
			"bind:\n" +
			"  Run: {policy: shard, group: import, unit: id}",
		NotReported: []string{
			"Groups without `units`: the number is not known.",
			"Groups without a budget.",
		},
		Fix:     "Lower `retries` of the budget.",
		Related: []string{"P804"},
		file:    budgetWithoutEffect,
		whole:   []string{"bind"},
	},
	{
		ID: "P806", Title: "budget over its ceiling", Severity: Error,
		Reports: "A count of a budget, or a deadline, is over its ceiling (50 retries and 5 per unit by " +
			"default), or is 0.",
		Why: "A ceiling limits what one job may cost. 0 means \"the default\" in other systems and \"nothing\" " +
			"in others, so it is refused.",
		Wrong: "budgets: {job: {retries: 80}}\n" +
			"groups: {import: {budget: job}}\n" +
			"policies:\n" +
			"  shard: {jitter: full}\n" +
			"bind:\n" +
			"  Run: {policy: shard, group: import, unit: id}",
		Right: "budgets: {job: {retries: 80, ceiling: {retries: 100}}}\n" +
			"groups: {import: {budget: job}}\n" +
			"policies:\n" +
			"  shard: {jitter: full}\n" +
			"bind:\n" +
			"  Run: {policy: shard, group: import, unit: id}",
		NotReported: []string{
			"`none`, which means no retries.",
			"Counts up to the `ceiling` that the budget itself sets.",
		},
		Fix:     "Lower the count, or write a higher `ceiling`. Write `none` instead of 0.",
		Related: []string{"P804"},
		file:    overCeiling,
	},
	{
		ID: "P808", Title: "best effort that needs every unit", Severity: Warning,
		Reports: "`min_success` equals `units` (a warning), or is greater (an error).",
		Why: "A single failed unit fails the whole job, which is what `best_effort` is meant to prevent. Above " +
			"`units` the job can never succeed.",
		Wrong: "groups: {import: {units: 8, best_effort: {min_success: 8}}}\n" +
			"policies:\n" +
			"  shard: {jitter: full}\n" +
			"bind:\n" +
			"  Run: {policy: shard, group: import, unit: id}",
		Right: "groups: {import: {units: 8, best_effort: {min_success: 6}}}\n" +
			"policies:\n" +
			"  shard: {jitter: full}\n" +
			"bind:\n" +
			"  Run: {policy: shard, group: import, unit: id}",
		NotReported: []string{
			"Groups without `units`: the number is not known.",
		},
		Fix:     "Lower `min_success`, or remove `best_effort`.",
		Related: []string{"P809"},
		file:    needsEveryUnit,
	},
	{
		ID: "P809", Title: "best-effort deadline that does not fit", Severity: Warning,
		Reports: "The `deadline` of `best_effort` is not below the group's `timeout` (a warning), or shorter " +
			"than the `attempt_timeout` of a policy in the group (an error).",
		Why: "With a late deadline the group times out and its partial result is lost. With an early one no " +
			"slow attempt can finish.",
		Wrong: "groups: {import: {timeout: 4m, best_effort: {deadline: 5m}}}\n" +
			"policies:\n" +
			"  shard: {jitter: full}\n" +
			"bind:\n" +
			"  Run: {policy: shard, group: import, unit: id}",
		Right: "groups: {import: {timeout: 10m, best_effort: {deadline: 5m}}}\n" +
			"policies:\n" +
			"  shard: {jitter: full}\n" +
			"bind:\n" +
			"  Run: {policy: shard, group: import, unit: id}",
		NotReported: []string{
			"Groups without a `timeout`, for the warning.",
			"Policies without an `attempt_timeout`, for the error.",
		},
		Fix:     "Choose a deadline between one attempt and the timeout of the group.",
		Related: []string{"P808", "P401"},
		file:    deadlineDoesNotFit,
	},
	{
		ID: "P902", Title: "unused definition", Severity: Warning,
		Reports: "Nothing in the file uses a scope, an error class, a breaker, a budget or a group.",
		Why: "A breaker that is defined and not used protects nothing. Usually the policy that should name it " +
			"was forgotten.",
		Wrong: "breakers: {upstream: {}}\npolicies:\n  read: {}",
		Right: "breakers: {upstream: {}}\npolicies:\n  read: {breaker: upstream, jitter: full}",
		NotReported: []string{
			"Policies: Go code may use the generated variable.",
			"Error classes with `retryable` or `action`, which apply to every policy.",
			"Scopes that contain another scope.",
			"Groups in files with a durable policy: `durable.Group` takes them.",
		},
		Fix:     "Name it where it is meant to apply, or remove it.",
		Related: []string{"P901"},
		file:    unused,
		whole:   []string{"scopes", "breakers", "groups", "policies", "bind"},
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
		if len(p.RetryOn) == 0 {
			report(Error, at,
				"%s is not idempotent, but policy %s retries every error, after some of which the work may be done already: %s",
				name, p.Name, fix)
			continue
		}
		for _, class := range p.RetryOn {
			// A breaker refuses before anything is done.
			if c := f.class(class); class != retry.ClassBreakerOpen && (c == nil || !c.Unprocessed) {
				report(Error, at, "%s is not idempotent, but policy %s retries %s, after which the work may be done already: %s",
					name, p.Name, class, fix)
				break
			}
		}
	}
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
	}) || slices.ContainsFunc(f.Breakers, func(b retry.BreakerPolicy) bool { return slices.Contains(b.Count, class) })
}
