package policy

import (
	"strconv"
	"time"

	"github.com/retrygen/retrygen/internal/syntax"
	"github.com/retrygen/retrygen/policy/duration"
	"github.com/retrygen/retrygen/policy/rules"
	retry "github.com/retrygen/retrygen/runtime"
)

// limits are the ceilings of the section limits, which no policy of the file may
// exceed. A zero ceiling is not set.
type limits struct {
	maxAttempts option[int]
	maxDelay    option[time.Duration]
	delayBudget option[time.Duration]
	timeout     option[time.Duration]

	amplification option[int]
}

// limits reads the section limits.
func (d decoder) limits(root *syntax.Node) (l limits) {
	l.amplification.value = rules.DefaultAmplification
	e := root.Get("limits")
	if e == nil || e.Value.IsNull() || !d.isMap(e.Value, "limits") {
		return l
	}
	d.unknownKeys(e.Value, "limits", "max_attempts", "max_delay", "delay_budget", "timeout", "amplification")
	l.maxAttempts = optional(d, e.Value, d.attempts, "max_attempts")
	l.maxDelay = optional(d, e.Value, d.timeout, "max_delay")
	l.delayBudget = optional(d, e.Value, d.timeout, "delay_budget")
	l.timeout = optional(d, e.Value, d.timeout, "timeout")
	if a := optional(d, e.Value, d.atLeastOne, "amplification"); a.value > 0 {
		l.amplification = a
	}
	if l.maxAttempts.value == retry.Unlimited {
		d.problem(l.maxAttempts.at, "P102", "unlimited is not a limit: remove it")
	}
	return l
}

// within reports P305 for the settings of a policy that exceed a ceiling. A
// setting without a limit exceeds every ceiling.
func (d decoder) within(r resolution, l limits, p *retry.Policy, known rules.Known) {
	over := func(field rules.Field, exceeded bool, has, limit string, line int) {
		if !exceeded {
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
			over(field, exceeds(o.MaxDelay, l), "max_delay "+orNone(o.MaxDelay), duration.Format(l.value), l.at.Line)
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
		if !known(c.field) || c.field == "timeout" && p.Scope != "" && c.has > 0 && r.merged.values["timeout"].value == nil {
			continue // the timeout of the scope: see scopesWithin
		}
		over(c.field, exceeds(c.has, c.limit), orNone(c.has), duration.Format(c.limit.value), c.limit.at.Line)
	}
}

// scopesWithin reports P305 for the timeouts of scopes.
func (d decoder) scopesWithin(root *syntax.Node, l limits, scopes []Scope) {
	for _, s := range scopes {
		for field, has := range map[string]time.Duration{"timeout": s.Timeout, "hard_limit": s.HardLimit} {
			if has > 0 && exceeds(has, l.timeout) {
				at := root.Get("scopes").Value.Get(s.Name).Value.Get(field).Value.Span
				d.problem(at, "P305",
					"%s %s is over the limit %s on line %d: lower it, or raise the limit",
					field, duration.Format(has), duration.Format(l.timeout.value), l.timeout.at.Line)
			}
		}
	}
}

// exceeds reports whether a duration is over a limit that is set. A duration that
// is not positive has no end and exceeds any limit.
func exceeds(has time.Duration, limit option[time.Duration]) bool {
	return limit.value > 0 && (has <= 0 || has > limit.value)
}
