package rules

import (
	"github.com/retrygen/retrygen/runtime/durable"
)

// stepRules lists the rules about durable policies.
var stepRules = []Rule{
	{
		ID: "P601", Title: "durable policy for nested calls", Severity: Warning,
		Reports: "A durable policy has `nested: true`.",
		Why: "A call inside an attempt of another durable call is a part of that step: its attempts are not " +
			"recorded, and after a crash all of it is executed again.",
		Wrong: "policies:\n" +
			"  charge: {durable: true, nested: true}\n" +
			"bind:\n" +
			"  Charge: {policy: charge, id: orderID}",
		Right: "policies:\n" +
			"  charge: {durable: true}\n" +
			"bind:\n" +
			"  Charge: {policy: charge, id: orderID}",
		NotReported: []string{
			"Durable calls inside of each other, which only the Go code shows.",
		},
		Fix:     "Remove `nested`, or bind the inner function to a policy that is not durable.",
		Related: []string{"RL401", "RL402"},
		file:    nestedSteps,
	},
	{
		ID: "P602", Title: "lost attempt of a call that is not idempotent", Severity: Error,
		Reports: "A durable policy with `on_lost: retry` or `record: failures` serves a binding without " +
			"`idempotent: true` or `key`.",
		Why: "An attempt that was executing when the process died may have taken effect. Repeating it charges " +
			"the customer twice.",
		Wrong: "policies:\n" +
			"  charge: {durable: {on_lost: retry}}\n" +
			"bind:\n" +
			"  Charge: {policy: charge, id: orderID}",
		Right: "policies:\n" +
			"  charge: {durable: {on_lost: retry}}\n" +
			"bind:\n" +
			"  Charge: {policy: charge, id: orderID, idempotent: key}",
		NotReported: []string{
			"Policies without `on_lost`: the default is `pause` where the binding is not idempotent.",
		},
		Fix: "Write `idempotent: key` if the server recognises a repeated key. Otherwise write `on_lost: pause` " +
			"or `fail`, and `record: attempts`.",
		Related: []string{"P704"},
		file:    repeatsLostAttempts,
	},
	{
		ID: "P603", Title: "park_after that no wait reaches", Severity: Warning,
		Reports: "`park_after` is longer than the `delay_budget`, `max_elapsed` or `timeout` of its policy.",
		Why: "No wait can be so long, so the run never parks: it keeps its process and its lease during every " +
			"wait.",
		Wrong: "policies:\n" +
			"  charge: {durable: {park_after: 10m}, delay_budget: 5m}\n" +
			"bind:\n" +
			"  Charge: {policy: charge, id: orderID}",
		Right: "policies:\n" +
			"  charge: {durable: {park_after: 1m}, delay_budget: 5m}\n" +
			"bind:\n" +
			"  Charge: {policy: charge, id: orderID}",
		NotReported: []string{
			"Policies whose schedule has no such wait: a server may ask for a longer one.",
		},
		Fix:     "Lower `park_after` below the limit, remove it, or raise the limit.",
		Related: []string{"P303", "P409"},
		file:    neverParks,
	},
	{
		ID: "P909", Title: "durable call bound in a group", Severity: Error,
		Reports: "A binding with a durable policy has a `group`.",
		Why: "A durable step belongs to the unit that calls it, within `durable.Group`, whatever its parameters are: the " +
			"retry would be counted for one unit, and the parameter would name another.",
		Wrong: "groups: {import: {}}\n" +
			"policies:\n" +
			"  shard: {durable: true, jitter: full}\n" +
			"bind:\n" +
			"  Run: {policy: shard, id: id, group: import, unit: id}",
		Right: "groups: {import: {}}\n" +
			"policies:\n" +
			"  shard: {durable: true, jitter: full}\n" +
			"bind:\n" +
			"  Run: {policy: shard, id: id}",
		NotReported: []string{
			"Durable bindings without `group`, each with an `id`.",
		},
		Fix: "Remove `group` and `unit`. Run the group with `durable.Group`: its units count the retries of the steps that " +
			"they call.",
		Related: []string{"P915"},
		file:    durableUnits,
	},
	{
		ID: "P915", Title: "durable call without an id", Severity: Error,
		Reports: "A binding with a durable policy has no `id`, or nothing is bound to a durable policy.",
		Why: "Calls without an id are one step: the second order would get the recorded receipt of the first " +
			"one and never be charged.",
		Wrong: "policies:\n" +
			"  charge: {durable: true}\n" +
			"bind:\n" +
			"  Charge: charge",
		Right: "policies:\n" +
			"  charge: {durable: true}\n" +
			"bind:\n" +
			"  Charge: {policy: charge, id: orderID}",
		NotReported: []string{
			"`id: []`, which says that a run makes the call once.",
			"Methods of a type whose binding has an `id`.",
			"Durable policies that others extend.",
		},
		Fix: "Name the parameters that make two calls different work, as `id: orderID`. Hand-written steps take " +
			"a policy without `durable`.",
		Related: []string{"P917", "P918"},
		file:    withoutID,
		whole:   []string{"policies", "bind"},
	},
	{
		ID: "P918", Title: "name of a durable step that is used twice", Severity: Error,
		Reports: "Two bindings have the same `step`, or a name in `formerly` is the current name of a step or an " +
			"older name of another.",
		Why: "Both would read and write the same records: one call returns the result of the other without " +
			"being made.",
		Wrong: "policies:\n" +
			"  charge: {durable: true}\n" +
			"bind:\n" +
			"  Charge: {policy: charge, id: orderID, step: pay}\n" +
			"  Refund: {policy: charge, id: orderID, step: pay}",
		Right: "policies:\n" +
			"  charge: {durable: true}\n" +
			"bind:\n" +
			"  Charge: {policy: charge, id: orderID, step: pay}\n" +
			"  Refund: {policy: charge, id: orderID, step: refund}",
		NotReported: []string{
			"Steps of other policy files with the same name, and steps that Go code names.",
		},
		Fix:     "Give each step a name of its own, and write an older name where its step is now.",
		Related: []string{"P915"},
		file:    stepUsedTwice,
	},
	{
		ID: "P919", Title: "setting of durable steps without a durable policy", Severity: Error,
		Reports: "A policy that is not durable has `on_exhausted: dead_letter` or `pause`, or `on_changed: report`; or a " +
			"binding without a durable policy has `id`, `step` or `formerly`.",
		Why:   "Nothing of the call is recorded. A dead letter that nobody stores is lost work.",
		Wrong: "policies:\n  charge: {on_exhausted: dead_letter}",
		Right: "policies:\n" +
			"  charge: {on_exhausted: dead_letter, durable: true}\n" +
			"bind:\n" +
			"  Charge: {policy: charge, id: orderID}",
		NotReported: []string{
			"`on_exhausted: fail` and `escalate`, and `on_changed: fail`, which need no record.",
			"Breakers and budgets with `shared: store`, which other calls may share, too.",
			"`id` of a type, where the policy of some method is durable.",
		},
		Fix:     "Write `durable: true` under the policy, or remove the setting.",
		Related: []string{"P909", "P915"},
		file:    needsDurable,
	},
}

// durable returns the policy with that name if it is durable, or nil.
func (f *File) durable(name string) *Policy {
	if p := f.policy(name); p != nil && p.Durable != nil {
		return p
	}
	return nil
}

// at returns the place of a setting of a binding.
func (b *Binding) at(field Field) Place {
	if b.Method != "" {
		field = Field("methods." + b.Method + "." + string(field))
	}
	return Place{"bind", b.Symbol, field}
}

// name returns the symbol with the method.
func (b *Binding) name() string {
	if b.Method != "" {
		return b.Symbol + "." + b.Method
	}
	return b.Symbol
}

// nestedSteps is P601.
func nestedSteps(f *File, report report) {
	for _, p := range f.Policies {
		if p.Durable != nil && p.Nested {
			report(Warning, Place{"policies", p.Name, "nested"}, "attempts of a durable call inside of another one are "+
				"not recorded: remove nested, or durable")
		}
	}
}

// repeatsLostAttempts is P602.
func repeatsLostAttempts(f *File, report report) {
	for _, b := range f.Bindings {
		p := f.durable(b.Policy)
		if p == nil || b.Idempotent.Repeatable() {
			continue
		}
		switch {
		case p.Durable.OnLost == durable.OnLostRetry:
			report(Error, b.at("idempotent"), "policy %s repeats lost attempts, but %s is not known to be idempotent: "+
				"write idempotent: key, or on_lost: pause", p.Name, b.name())
		case p.Durable.Record == durable.RecordFailures:
			report(Error, b.at("idempotent"), "policy %s records only failures, so a crash repeats %s, which is not known "+
				"to be idempotent: write idempotent: key, or record: attempts", p.Name, b.name())
		}
	}
}

// neverParks is P603.
func neverParks(f *File, report report) {
	for _, p := range f.Policies {
		if p.Durable == nil {
			continue
		}
		limit, field := waitLimit(p.Policy)
		if p.Timeout > 0 && (limit <= 0 || p.Timeout < limit) {
			limit, field = p.Timeout, "timeout"
		}
		if limit > 0 && limit < p.Durable.ParkAfter {
			report(Warning, Place{"policies", p.Name, "durable.park_after"},
				"no wait is as long as park_after %s, since %s is %s: lower park_after, or remove it",
				short(p.Durable.ParkAfter), field, short(limit))
		}
	}
}

// durableUnits is P909.
func durableUnits(f *File, report report) {
	for _, b := range f.Bindings {
		if p := f.durable(b.Policy); p != nil && b.Group != "" {
			report(Error, Place{"bind", b.Symbol, "group"}, "policy %s is durable, and its steps count for the unit that "+
				"calls them: remove group and unit, and use durable.Group", p.Name)
		}
	}
}

// withoutID is P915.
func withoutID(f *File, report report) {
	used := map[string]bool{}
	for _, b := range f.Bindings {
		used[b.Policy] = true
		if f.durable(b.Policy) != nil && !b.HasID {
			report(Error, b.at("policy"), "policy %s is durable, but nothing identifies the calls of %s: write id: PARAMETER, "+
				"or id: [] for one call in each run", b.Policy, b.name())
		}
	}
	for _, p := range f.Policies {
		used[p.Extends] = true
	}
	for _, p := range f.Policies {
		if p.Durable != nil && !used[p.Name] {
			report(Error, Place{"policies", p.Name, "durable"}, "policy %s is durable, but nothing is bound to it: bind a "+
				"function with an id, or remove durable", p.Name)
		}
	}
}

// stepUsedTwice is P918.
func stepUsedTwice(f *File, report report) {
	steps, older := map[string]string{}, map[string]string{}
	each := func(do func(b *Binding)) {
		for i := range f.Bindings {
			if b := &f.Bindings[i]; b.Step != "" && f.durable(b.Policy) != nil {
				do(b)
			}
		}
	}
	each(func(b *Binding) {
		if other, ok := steps[b.Step]; ok {
			report(Error, b.at("step"), "step %s is the name of %s, too: give each step a name of its own", b.Step, other)
			return
		}
		steps[b.Step] = b.name()
	})
	each(func(b *Binding) {
		for _, name := range b.Formerly {
			if other, ok := steps[name]; ok {
				report(Error, b.at("formerly"), "%s is the name of the step of %s now: remove it from formerly", name, other)
			} else if other, ok := older[name]; ok {
				report(Error, b.at("formerly"), "%s is an older name of the step of %s, too: keep one", name, other)
			}
			older[name] = b.name()
		}
	})
}

// needsDurable is P919.
func needsDurable(f *File, report report) {
	const fix = "write durable: true"
	for _, p := range f.Policies {
		if p.Durable != nil {
			continue
		}
		at := func(field Field) Place { return Place{"policies", p.Name, field} }
		if p.OnExhausted == durable.ExhaustedDeadLetter || p.OnExhausted == durable.ExhaustedPause {
			report(Error, at("on_exhausted"),
				"on_exhausted: %s needs a durable policy: %s, or on_exhausted: escalate", p.OnExhausted, fix)
		}
		if p.OnChanged != durable.ChangedFail {
			report(Error, at("on_changed"), "on_changed needs a durable policy: %s, or remove it", fix)
		}
	}
	has := map[string]bool{} // symbols with a durable policy, or with a method that has one
	for _, b := range f.Bindings {
		if f.durable(b.Policy) != nil {
			has[b.Symbol] = true
		}
	}
	for _, b := range f.Bindings {
		if b.Method == "" && has[b.Symbol] || b.Method != "" && f.durable(b.Policy) != nil {
			continue
		}
		for _, field := range b.Written {
			report(Error, b.at(field), "%s is for durable calls, and the policy of %s is not durable: remove it, or %s there",
				field, b.name(), fix)
		}
	}
}
