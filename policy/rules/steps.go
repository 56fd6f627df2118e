package rules

import (
	"slices"

	"github.com/retrygen/retrygen/runtime/durable/genapi"
)

// stepRules lists the rules about durable policies.
var stepRules = []Rule{
	{ID: "P601", Severity: Warning, file: nestedSteps},
	{ID: "P602", Severity: Error, file: repeatsLostAttempts},
	{ID: "P603", Severity: Warning, file: neverParks},
	{ID: "P604", Severity: Warning, file: forgottenBreaker},
	{ID: "P909", Severity: Error, file: durableUnits},
	{ID: "P915", Severity: Error, file: withoutID, whole: []string{"policies", "bind"}},
	{ID: "P918", Severity: Error, file: stepUsedTwice},
	{ID: "P919", Severity: Error, file: needsDurable},
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
		case p.Durable.OnLost == genapi.OnLostRetry:
			report(Error, b.at("idempotent"), "policy %s repeats lost attempts, but %s is not known to be idempotent: "+
				"write idempotent: key, or on_lost: pause", p.Name, b.name())
		case p.Durable.Record == genapi.RecordFailures:
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

// forgottenBreaker is P604.
func forgottenBreaker(f *File, report report) {
	for _, name := range f.BreakersInProcess {
		i := slices.IndexFunc(f.Policies, func(p Policy) bool { return p.Durable != nil && p.Breaker == name })
		if i >= 0 {
			report(Warning, Place{"breakers", name, "shared"}, "policy %s is durable, but each process has a breaker %s of its "+
				"own, and a restart closes it: write shared: store", f.Policies[i].Name, name)
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
			if b := &f.Bindings[i]; f.durable(b.Policy) != nil {
				do(b)
			}
		}
	}
	each(func(b *Binding) {
		if b.Step == "" {
			return // only the generator knows it
		}
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
		if p.OnExhausted == genapi.ExhaustedDeadLetter || p.OnExhausted == genapi.ExhaustedPause {
			report(Error, at("on_exhausted"),
				"on_exhausted: %s needs a durable policy: %s, or on_exhausted: escalate", p.OnExhausted, fix)
		}
		if p.OnChanged != genapi.ChangedFail {
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
