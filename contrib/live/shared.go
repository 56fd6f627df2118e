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

// An entry is one of what calls share, as a policy file describes it.
type entry[P any] struct {
	name     string
	pos      policy.Pos
	from     string // the Go variable that has it and its settings, or ""
	store    bool   // processes share it through a store
	kind     string // what is compiled, next to the name, as in "adaptive"
	settings P
}

// An updatable is what calls share, with its settings P.
type updatable[P any] interface {
	Policy() P
	PrepareUpdate(P) (update func(), err error)
}

// section compares a section of the policy file with entries of type E. It prepares the
// update of what the packages of the program share under the names of entries that differ.
func section[E, P any, T updatable[P]](v *version, what string, old, new []E,
	entryOf func(*E) entry[P], parts func(*genapi.LiveShared) []T) {
	pairs(v, what, old, new,
		func(e *E) string { return entryOf(e).name }, func(e *E) policy.Pos { return entryOf(e).pos },
		func(before, after *E) {
			a, b := entryOf(before), entryOf(after)
			if !changes(v, what+" "+b.name, &a, &b) {
				return
			}
			for i := range v.c.pkg.Shared {
				for _, part := range parts(&v.c.pkg.Shared[i]) {
					if nameOf(part.Policy()) == b.name {
						prepare(v, b.pos, part, b.settings)
					}
				}
			}
		})
}

// changes reports whether the settings of an entry differ. Where it is and its kind must not
// change, nor its settings if they are in a store.
func changes[P any](v *version, what string, old, new *entry[P]) bool {
	switch {
	case old.from != new.from || old.store != new.store:
		v.fixed(new.pos, "%s is in another place", what)
		return false
	case old.kind != new.kind:
		v.fixed(new.pos, "%s was %s and would be %s", what, old.kind, new.kind)
		return false
	}
	before := len(v.settings)
	differs := v.differs(what, old.settings, new.settings)
	if differs && new.store {
		v.fixed(new.pos, "%s differs, and processes share it through a store (%s)", what, v.settings[before])
	}
	return differs
}

// prepare prepares the update of a part, or reports why it cannot be updated.
func prepare[P any, T updatable[P]](v *version, at policy.Pos, part T, settings P) {
	update, err := part.PrepareUpdate(settings)
	if err != nil {
		v.problem(at, "%v", err)
		return
	}
	v.updates = append(v.updates, update)
}

// nameOf returns the field Name of the settings of something that calls share.
func nameOf(settings any) string { return reflect.ValueOf(settings).FieldByName("Name").String() }

// shared compares breakers, budgets, concurrency limits, rates, throttles and hedges.
func (v *version) shared() {
	section(v, "breaker", v.old.Breakers, v.new.Breakers,
		func(b *policy.Breaker) entry[breaker.Policy] {
			return entry[breaker.Policy]{b.Name, b.Pos, b.From.Name, b.Store, "", b.Policy}
		},
		func(s *genapi.LiveShared) []*breaker.Breaker { return s.Breakers })
	section(v, "budget", v.old.Budgets, v.new.Budgets, budgetEntry, budgets)
	section(v, "concurrency limit", v.old.Concurrency, v.new.Concurrency,
		func(l *policy.Limiter) entry[capacity.LimiterPolicy] {
			kind := "fixed"
			if l.Target > 0 {
				kind = "adaptive"
			}
			return entry[capacity.LimiterPolicy]{l.Name, l.Pos, l.From.Name, false, kind, l.LimiterPolicy}
		},
		func(s *genapi.LiveShared) []*capacity.Limiter { return s.Capacity.Limiters })
	section(v, "rate", v.old.Rates, v.new.Rates,
		func(r *policy.Rate) entry[capacity.RatePolicy] {
			return entry[capacity.RatePolicy]{r.Name, r.Pos, r.From.Name, r.Store, "", r.RatePolicy}
		},
		func(s *genapi.LiveShared) []*capacity.Rate { return s.Capacity.Rates })
	section(v, "throttle", v.old.Throttles, v.new.Throttles,
		func(t *policy.Throttle) entry[capacity.ThrottlePolicy] {
			return entry[capacity.ThrottlePolicy]{t.Name, t.Pos, t.From.Name, false, "", t.ThrottlePolicy}
		},
		func(s *genapi.LiveShared) []*capacity.Throttle { return s.Capacity.Throttles })
	v.hedges()
}

// budgetEntry returns a budget. The counts of one for jobs are compiled.
func budgetEntry(b *policy.Budget) entry[budget.Policy] {
	e := entry[budget.Policy]{name: b.Name, pos: b.Pos, from: b.From.Name, store: b.Store, kind: "a share of successes"}
	if b.Ratio != nil {
		e.settings = *b.Ratio
	}
	if c := b.Count; c != nil {
		e.kind = fmt.Sprintf("%d retries of a job and %d of a unit, at most %d and %d",
			c.Retries, c.PerUnit, c.MaxRetries, c.MaxPerUnit)
	}
	return e
}

// A liveBudget is a budget as an updatable: its updates cannot fail.
type liveBudget struct{ *budget.Budget }

// PrepareUpdate implements updatable.
func (b liveBudget) PrepareUpdate(p budget.Policy) (func(), error) {
	return func() { b.Update(p) }, nil
}

func budgets(s *genapi.LiveShared) (list []liveBudget) {
	for _, b := range s.Budgets {
		list = append(list, liveBudget{b})
	}
	return list
}

// hedges compares the hedges of policies. Each function that a policy hedges has its own, by
// the name of the symbol.
func (v *version) hedges() {
	before := map[string]*hedge.Policy{}
	for i := range v.old.Policies {
		before[v.old.Policies[i].Name] = v.old.Policies[i].Hedge
	}
	changed := map[string]*policy.Policy{}
	for i := range v.new.Policies {
		p := &v.new.Policies[i]
		old := before[p.Name]
		switch {
		case old == nil || p.Hedge == nil || !v.differs("the hedge of policy "+p.Name, *old, *p.Hedge):
		case p.Reload:
			changed[p.Name] = p
		default:
			v.fixed(p.Pos, "policy %s has no reload: true, and its hedge differs", p.Name)
		}
	}
	for i := range v.c.pkg.Shared {
		for _, h := range v.c.pkg.Shared[i].Hedges {
			symbol := h.Policy().Name
			if p, ok := changed[v.policyOf(symbol)]; ok {
				settings := *p.Hedge
				settings.Name = symbol
				prepare(v, placeOf(p, "hedge"), h, settings)
			}
		}
	}
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
