package policy

import (
	"strconv"
	"time"

	"github.com/retrygen/retrygen/policy/duration"
	"github.com/retrygen/retrygen/policy/internal/syntax"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// limits are ceilings that no policy of the file may pass; zero ones are not
// set.
type limits struct {
	maxAttempts option[int]
	maxDelay    option[time.Duration]
	delayBudget option[time.Duration]
	timeout     option[time.Duration]

	amplification option[int]
}

// limits reads the section of that name.
func (d decoder) limits(root *syntax.Node) (l limits) {
	l.amplification.value = rules.DefaultAmplification
	e := root.Get("limits")
	if e == nil || e.Value.IsNull() || !d.isMap(e.Value, "limits") {
		return l
	}
	d.unknownKeys(e.Value, "limits", "max_attempts", "max_delay", "delay_budget", "timeout", "amplification")
	l.maxAttempts = one(d, e.Value, d.attempts, "max_attempts")
	l.maxDelay = one(d, e.Value, d.timeout, "max_delay")
	l.delayBudget = one(d, e.Value, d.timeout, "delay_budget")
	l.timeout = one(d, e.Value, d.timeout, "timeout")
	if a := one(d, e.Value, d.atLeastOne, "amplification"); a.value > 0 {
		l.amplification = a
	}
	if l.maxAttempts.value == retry.Unlimited {
		d.problem(l.maxAttempts.at, "P102", "unlimited is not a limit: remove it")
	}
	return l
}

// within reports P305: what passes a ceiling. A limit that is not set at all
// passes every ceiling.
func (d decoder) within(r resolution, l limits, p *retry.Policy) {
	over := func(field rules.Field, passes bool, has, limit string, line int) {
		if !passes {
			return
		}
		at, written := r.own.places()[field]
		if !written {
			at = r.entry.At
		}
		d.problem(at, "P305",
			"%s %s is over the limit %s on line %d: lower it, or raise the limit", field, has, limit, line)
	}
	for _, o := range p.PerError {
		field := rules.PerError(o.Class)
		if l := l.maxAttempts; o.MaxAttempts != p.MaxAttempts {
			over(field, l.value > 0 && o.MaxAttempts > l.value, attemptsText(o.MaxAttempts)+" attempts", strconv.Itoa(l.value),
				l.at.Line)
		}
		if l := l.maxDelay; o.MaxDelay != p.MaxDelay {
			over(field, passes(o.MaxDelay, l), "max_delay "+orNone(o.MaxDelay), duration.Format(l.value), l.at.Line)
		}
	}
	if l := l.maxAttempts; l.value > 0 {
		over("max_attempts", p.MaxAttempts > l.value, attemptsText(p.MaxAttempts), strconv.Itoa(l.value), l.at.Line)
	}
	for _, c := range []struct {
		field rules.Field
		has   time.Duration
		limit option[time.Duration]
	}{
		{"max_delay", p.MaxDelay, l.maxDelay}, {"delay_budget", p.DelayBudget, l.delayBudget},
		{"timeout", p.Timeout, l.timeout},
	} {
		if c.field == "timeout" && p.Scope != "" && c.has > 0 && r.merged.values["timeout"].value == nil {
			continue // the scope's own: see scopesWithin
		}
		over(c.field, passes(c.has, c.limit), orNone(c.has), duration.Format(c.limit.value), c.limit.at.Line)
	}
}

// scopesWithin reports P305 for the timeouts of scopes.
func (d decoder) scopesWithin(root *syntax.Node, l limits, scopes []Scope) {
	for _, s := range scopes {
		for field, has := range map[string]time.Duration{"timeout": s.Timeout, "hard_limit": s.HardLimit} {
			if has > 0 && passes(has, l.timeout) {
				at := root.Get("scopes").Value.Get(s.Name).Value.Get(field).Value.Span
				d.problem(at, "P305",
					"%s %s is over the limit %s on line %d: lower it, or raise the limit",
					field, duration.Format(has), duration.Format(l.timeout.value), l.timeout.at.Line)
			}
		}
	}
}

// passes reports whether a duration, of which none is without end, is over a
// limit.
func passes(has time.Duration, limit option[time.Duration]) bool {
	return limit.value > 0 && (has <= 0 || has > limit.value)
}
