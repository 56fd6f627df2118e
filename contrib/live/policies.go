package live

import (
	"reflect"
	"slices"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// allPolicies compares the policies, and makes those that are to become effective.
func (v *version) allPolicies() {
	next := map[string]*retry.Policy{}
	pairs(v, "policy", v.old.Policies, v.new.Policies,
		func(p *policy.Policy) string { return p.Name }, func(p *policy.Policy) policy.Pos { return p.Pos },
		func(old, new *policy.Policy) {
			v.fixedSettings(old, new)
			compiled, live := v.c.compiled[new.Name]
			if live {
				v.contexts(new, compiled)
				v.repeats(new, compiled)
			}
			a, b := old.Compiled(), new.Compiled()
			changes := b.Settings().Changes(a.Settings())
			switch {
			case live:
				for _, change := range changes {
					v.settings = append(v.settings, "policy "+new.Name+": "+change)
				}
				next[new.Name] = v.policy(new, compiled)
			case len(changes) > 0 && old.Reload: // nothing calls it
			case len(changes) > 0:
				v.fixed(new.Pos, "policy %s has no reload: true, and differs (%s)", new.Name, changes[0])
			}
		})
	for _, l := range v.c.policies {
		v.policies = append(v.policies, next[l.Policy().Name])
	}
}

// fixedSettings reports the settings of a policy that the generated code contains.
func (v *version) fixedSettings(old, new *policy.Policy) {
	for _, one := range []struct {
		field    rules.Field
		old, new any
	}{
		{"breaker", old.Breaker, new.Breaker}, {"budget", old.Budget, new.Budget},
		{"concurrency", old.Concurrency, new.Concurrency}, {"rate", old.Rate, new.Rate},
		{"throttle", old.Throttle, new.Throttle}, {"hedge", old.Hedge != nil, new.Hedge != nil},
		{"reload", old.Reload, new.Reload}, {"durable", old.Durable, new.Durable},
		{"on_exhausted", old.OnExhausted, new.OnExhausted}, {"on_changed", old.OnChanged, new.OnChanged},
	} {
		if !reflect.DeepEqual(one.old, one.new) {
			v.fixed(placeOf(new, one.field), "policy %s has another %s", new.Name, one.field)
		}
	}
}

// placeOf returns where a field of a policy is written, or where the policy is.
func placeOf(p *policy.Policy, field rules.Field) policy.Pos {
	if pos, ok := p.Places[field]; ok {
		return pos
	}
	return p.Pos
}

// contexts reports the settings of a policy that need what the generator has not checked, or
// what the wrappers that were compiled from it do not have: a context that a time limit can
// end, and a context for each attempt. Steps of durable runs have both.
func (v *version) contexts(p *policy.Policy, compiled *retry.Policy) {
	limited := compiled.AttemptTimeout > 0 || compiled.Timeout > 0
	derived := limited || compiled.HardLimit > 0 || compiled.Nested
	for _, one := range []struct {
		field    rules.Field
		set, has bool
	}{
		{"attempt_timeout", p.AttemptTimeout > 0, limited}, {"timeout", p.Timeout > 0, limited},
		{"scope", p.HardLimit > 0, derived}, {"nested", p.Nested, derived},
	} {
		if one.set && !one.has && p.Durable == nil {
			v.fixed(placeOf(p, one.field),
				"policy %s has %s, and its calls have no contexts of their own yet", p.Name, one.field)
			return
		}
	}
}

// repeats reports a policy that begins to retry. The wrappers that were compiled from a policy
// without retries do not rewind what an attempt has read, and the generator has not checked
// whether its functions can be called again.
func (v *version) repeats(p *policy.Policy, compiled *retry.Policy) {
	if retries(&p.Policy) && !retries(compiled) {
		v.fixed(placeOf(p, "max_attempts"), "policy %s would begin to retry, and its calls cannot be repeated yet", p.Name)
	}
}

// retries reports whether a policy ever makes a second attempt.
func retries(p *retry.Policy) bool {
	return p.MaxAttempts != 1 || slices.ContainsFunc(p.PerError, func(o retry.Override) bool { return o.MaxAttempts != 1 })
}

// policy returns a policy for calls, with the Go symbols of the compiled one.
func (v *version) policy(p *policy.Policy, compiled *retry.Policy) *retry.Policy {
	next := p.Compiled()
	next.Facts = compiled.Facts
	next.Classes = slices.Clone(next.Classes)
	for i := range next.Classes {
		class := &next.Classes[i]
		found := false
		for j := range compiled.Classes {
			if c := &compiled.Classes[j]; c.Class == class.Class {
				class.Is, class.As, found = c.Is, c.As, true
			}
		}
		if !found && v.hasSymbols(string(class.Class)) {
			v.fixed(p.Pos, "policy %s uses class %s, whose Go types it did not use", p.Name, class.Class)
		}
	}
	return &next
}

// hasSymbols reports whether a class of the file tests for Go symbols or gRPC codes.
func (v *version) hasSymbols(name string) bool {
	for i := range v.new.Errors {
		if c := &v.new.Errors[i]; c.Name == name {
			return len(c.Is)+len(c.As)+len(c.GRPC) > 0
		}
	}
	return false
}
