package live

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode"

	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/policy/duration"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
	"github.com/retrygen/retrygen/runtime/capacity"
	"github.com/retrygen/retrygen/runtime/genapi"
	"github.com/retrygen/retrygen/runtime/hedge"
)

// differs adds the fields that differ in two structures of one type to the changes, by the names
// of the fields as policy files spell names.
func (v *version) differs(what string, old, new any) bool {
	a, b := reflect.ValueOf(old), reflect.ValueOf(new)
	differs := false
	for i := range a.NumField() {
		x, y := a.Field(i).Interface(), b.Field(i).Interface()
		if !reflect.DeepEqual(x, y) {
			differs = true
			v.settings = append(v.settings, fmt.Sprintf("%s: %s %s → %s", what,
				snake(a.Type().Field(i).Name), valueText(x), valueText(y)))
		}
	}
	return differs
}

// snake converts OpenFor to open_for.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// valueText returns a value as policy files have it.
func valueText(v any) string {
	switch v := v.(type) {
	case time.Duration:
		if v < 0 { // as capacity.NoWait
			return "none"
		}
		return duration.Format(v)
	case []string:
		return cmp.Or(strings.Join(v, ", "), "default")
	}
	return fmt.Sprint(v)
}

// each calls f for what the packages of the program share, and keeps the first error.
func (v *version) each(f func(*genapi.LiveShared) error) {
	v.parts = append(v.parts, func() error {
		for i := range v.c.pkg.Shared {
			if err := f(&v.c.pkg.Shared[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// updated calls update for the values of a list that have a name.
func updated[T, P any](list []T, name string, nameOf func(T) string, p P, update func(T, P) error) error {
	for _, one := range list {
		if nameOf(one) == name {
			if err := update(one, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// settingsOf compares what calls share. Where a thing is must not change, nor its settings if
// they are in a store or in a variable of the program.
func (v *version) settingsOf(
	what string, at policy.Pos, oldPlace, newPlace, old, new any, outside bool,
) (changed bool) {
	if !reflect.DeepEqual(oldPlace, newPlace) {
		v.fixed(at, "%s is in another place", what)
		return false
	}
	before := len(v.settings)
	if !v.differs(what, old, new) {
		return false
	}
	if outside {
		v.fixed(at, "%s differs, and processes share it through a store (%s)", what, v.settings[before])
	}
	return true
}

// A place says where something that calls share is.
type place struct {
	from  string
	store bool
}

// shared compares breakers, budgets, concurrency limits, rates, throttles and hedges.
func (v *version) shared() {
	pairs(v, "breaker", v.old.Breakers, v.new.Breakers,
		func(b *policy.Breaker) string { return b.Name }, func(b *policy.Breaker) policy.Pos { return b.Pos },
		func(old, new *policy.Breaker) {
			if v.settingsOf("breaker "+new.Name, new.Pos, place{old.From.Name, old.Store}, place{new.From.Name, new.Store},
				old.Policy, new.Policy, new.Store) {
				v.each(func(s *genapi.LiveShared) error {
					return updated(s.Breakers, new.Name, func(b *breaker.Breaker) string { return b.Policy().Name }, new.Policy,
						(*breaker.Breaker).Update)
				})
			}
		})
	pairs(v, "budget", v.old.Budgets, v.new.Budgets,
		func(b *policy.Budget) string { return b.Name }, func(b *policy.Budget) policy.Pos { return b.Pos },
		v.budget)
	v.capacity()
	v.hedges()
}

func (v *version) budget(old, new *policy.Budget) {
	what := "budget " + new.Name
	if (old.Ratio == nil) != (new.Ratio == nil) || !reflect.DeepEqual(old.Count, new.Count) {
		v.fixed(new.Pos, "%s is of another kind, or counts otherwise", what)
		return
	}
	if new.Ratio == nil {
		return
	}
	if v.settingsOf(what, new.Pos, place{old.From.Name, old.Store}, place{new.From.Name, new.Store},
		*old.Ratio, *new.Ratio, new.Store) {
		v.each(func(s *genapi.LiveShared) error {
			return updated(s.Budgets, new.Name, func(b *budget.Budget) string { return b.Policy().Name }, *new.Ratio,
				func(b *budget.Budget, p budget.Policy) error { b.Update(p); return nil })
		})
	}
}

func (v *version) capacity() {
	pairs(v, "concurrency limit", v.old.Concurrency, v.new.Concurrency,
		func(l *policy.Limiter) string { return l.Name }, func(l *policy.Limiter) policy.Pos { return l.Pos },
		func(old, new *policy.Limiter) {
			what := "concurrency limit " + new.Name
			if (old.Target > 0) != (new.Target > 0) {
				v.fixed(new.Pos, "%s would begin or cease to adapt its limit", what)
				return
			}
			if v.settingsOf(what, new.Pos, old.From.Name, new.From.Name, old.LimiterPolicy, new.LimiterPolicy, false) {
				v.each(func(s *genapi.LiveShared) error {
					return updated(s.Capacity.Limiters, new.Name, func(l *capacity.Limiter) string { return l.Policy().Name },
						new.LimiterPolicy, (*capacity.Limiter).Update)
				})
			}
		})
	pairs(v, "rate", v.old.Rates, v.new.Rates,
		func(r *policy.Rate) string { return r.Name }, func(r *policy.Rate) policy.Pos { return r.Pos },
		func(old, new *policy.Rate) {
			if v.settingsOf("rate "+new.Name, new.Pos, place{old.From.Name, old.Store}, place{new.From.Name, new.Store},
				old.RatePolicy, new.RatePolicy, new.Store) {
				v.each(func(s *genapi.LiveShared) error {
					return updated(s.Capacity.Rates, new.Name, func(r *capacity.Rate) string { return r.Policy().Name },
						new.RatePolicy, (*capacity.Rate).Update)
				})
			}
		})
	pairs(v, "throttle", v.old.Throttles, v.new.Throttles,
		func(t *policy.Throttle) string { return t.Name }, func(t *policy.Throttle) policy.Pos { return t.Pos },
		func(old, new *policy.Throttle) {
			if v.settingsOf("throttle "+new.Name, new.Pos, old.From.Name, new.From.Name, old.ThrottlePolicy,
				new.ThrottlePolicy, false) {
				v.each(func(s *genapi.LiveShared) error {
					return updated(s.Capacity.Throttles, new.Name, func(t *capacity.Throttle) string { return t.Policy().Name },
						new.ThrottlePolicy, (*capacity.Throttle).Update)
				})
			}
		})
}

// hedges compares the hedges of policies. Each function that a policy hedges has its own, by
// the name of the symbol.
func (v *version) hedges() {
	before := map[string]*hedge.Policy{}
	for i := range v.old.Policies {
		before[v.old.Policies[i].Name] = v.old.Policies[i].Hedge
	}
	changed := map[string]hedge.Policy{}
	for i := range v.new.Policies {
		p := &v.new.Policies[i]
		old := before[p.Name]
		switch {
		case old == nil || p.Hedge == nil || !v.differs("the hedge of policy "+p.Name, *old, *p.Hedge):
		case p.Reload:
			changed[p.Name] = *p.Hedge
		default:
			v.fixed(p.Pos, "policy %s has no reload: true, and its hedge differs", p.Name)
		}
	}
	if len(changed) == 0 {
		return
	}
	v.each(func(s *genapi.LiveShared) error {
		for _, h := range s.Hedges {
			symbol := h.Policy().Name
			if p, ok := changed[v.policyOf(symbol)]; ok {
				p.Name = symbol
				if err := h.Update(p); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// policyOf returns the name of the policy of a bound function, or of a method of a bound
// type, or "".
func (v *version) policyOf(symbol string) string {
	for i := range v.new.Bindings {
		b := &v.new.Bindings[i]
		if b.Symbol == symbol {
			return b.Policy
		}
		method, ok := strings.CutPrefix(symbol, b.Symbol+".")
		if !ok {
			continue
		}
		if m, _ := b.MethodFor(method); m != nil {
			return m.Policy
		}
		return b.Policy
	}
	return ""
}
