package rules

import (
	"fmt"
	"maps"
	"slices"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// scopeOrder is the part of P401 about scopes, and about policies inside of
// their outer scopes.
func scopeOrder(f *File, report report) {
	for _, s := range f.Scopes {
		outer := f.scope(s.Within)
		at := Place{"scopes", s.Name, "timeout"}
		switch {
		case outer == nil || outer.Timeout == 0:
		case s.Timeout > outer.Timeout:
			report(Error, at, "timeout %s of scope %s exceeds timeout %s of %s, which ends it first: lower it, or raise the outer one", short(s.Timeout), s.Name, short(outer.Timeout), outer.Name)
		case s.Timeout == 0:
			report(Error, at, "scope %s has no timeout inside of %s, which ends after %s: write a timeout of at most that", s.Name, outer.Name, short(outer.Timeout))
		}
	}
	for _, p := range f.Policies {
		own := f.scope(p.Scope)
		if own == nil || p.Timeout == own.Timeout || f.overLimit(p) != "" {
			continue // what the scope is reported for, or P403
		}
		outer := f.timing(own.Within)
		at := Place{"policies", p.Name, "timeout"}
		switch {
		case outer == nil:
		case p.Timeout > outer.Timeout:
			report(Error, at, "timeout %s exceeds timeout %s of the outer scope %s, which ends it first: lower it", short(p.Timeout), short(outer.Timeout), outer.Name)
		case p.Timeout == 0:
			report(Error, at, "there is no timeout, but the outer scope %s ends after %s: write a timeout of at most that", outer.Name, short(outer.Timeout))
		}
	}
}

// hardLimits is P402.
func hardLimits(f *File, report report) {
	for _, s := range f.Scopes {
		if s.HardLimit > 0 && s.Timeout > s.HardLimit {
			report(Error, Place{"scopes", s.Name, "timeout"}, "timeout %s is over the scope's own hard_limit %s: lower it, or raise hard_limit", short(s.Timeout), short(s.HardLimit))
		}
		outer := f.limiting(s.Within)
		switch {
		case outer == nil:
		case s.HardLimit > outer.HardLimit:
			report(Error, Place{"scopes", s.Name, "hard_limit"}, "hard_limit %s is over hard_limit %s of the outer scope %s: lower it", short(s.HardLimit), short(outer.HardLimit), outer.Name)
		case s.HardLimit == 0 && s.Timeout > outer.HardLimit && f.scope(s.Within).Timeout == 0: // else P401 says so
			report(Error, Place{"scopes", s.Name, "timeout"}, "timeout %s is over hard_limit %s of the outer scope %s: lower it", short(s.Timeout), short(outer.HardLimit), outer.Name)
		}
	}
}

// overrides is P403.
func overrides(f *File, report report) {
	for _, p := range f.Policies {
		if text := f.overLimit(p); text != "" {
			report(Error, Place{"policies", p.Name, "timeout"}, "%s", text)
		}
	}
}

// overLimit says how the timeout of a policy passes the hard limit of its
// scope, or "".
func (f *File) overLimit(p Policy) string {
	own, limiting := f.scope(p.Scope), f.limiting(p.Scope)
	switch {
	case limiting == nil:
	case p.Timeout > limiting.HardLimit && p.Timeout != own.Timeout: // else P402 judges the scope
		return fmt.Sprintf("timeout %s is over hard_limit %s of scope %s: lower it", short(p.Timeout), short(limiting.HardLimit), limiting.Name)
	case p.Timeout == 0 && (own == limiting || own.Timeout > 0): // else P401 judges the scope
		return fmt.Sprintf("there is no timeout, but scope %s has a hard_limit of %s: write a timeout of at most that", limiting.Name, short(limiting.HardLimit))
	}
	return ""
}

// boundless is P407.
func boundless(f *File, report report) {
	for _, p := range f.Policies {
		bound := slices.ContainsFunc(f.Bindings, func(b Binding) bool { return b.Policy == p.Name })
		if bound && p.AttemptTimeout <= 0 && p.Timeout <= 0 && f.limiting(p.Scope) == nil {
			report(Info, Place{"policies", p.Name, ""}, "nothing bounds one attempt of policy %s, so that one that hangs is never retried: write an attempt_timeout", p.Name)
		}
	}
}

// noJitter is P210.
func noJitter(f *File, report report) {
	for _, p := range f.Policies {
		why := ""
		switch {
		case p.Jitter != retry.JitterNone || p.MaxAttempts == 1:
		case f.inGroup(p.Name):
			why = "the units of a group fail together"
		case p.Breaker != "":
			why = "calls share breaker " + p.Breaker
		case p.Budget != "":
			why = "calls share budget " + p.Budget
		}
		if why != "" {
			report(Warning, Place{"policies", p.Name, "jitter"}, "%s, and without jitter they retry together: write jitter: full", why)
		}
	}
}

// retryAfterTooLong is P409.
func retryAfterTooLong(f *File, report report) {
	for _, p := range f.Policies {
		waits := map[Field]retry.RetryAfter{"retry_after": p.RetryAfter}
		for _, o := range p.PerError {
			if o.RetryAfter != p.RetryAfter {
				waits[PerError(o.Class)+".retry_after"] = o.RetryAfter
			}
		}
		for _, field := range slices.Sorted(maps.Keys(waits)) {
			r := waits[field]
			at := Place{"policies", p.Name, field}
			if !waitTooLong(p, r.Max, "retry_after allows a wait of", "max", at, report) {
				waitTooLong(p, r.Default, "where a rate limit names no wait, retry_after makes it", "default", at, report)
			}
		}
	}
}

// waitTooLong reports a wait that a limit of the policy does not leave time
// for.
func waitTooLong(p Policy, wait time.Duration, what, key string, at Place, report report) bool {
	limit, field := waiting(p.Policy)
	switch {
	case wait <= 0:
	case p.Timeout > 0 && wait >= p.Timeout:
		report(Error, at, "%s %s, but timeout %s ends the call before: lower its %s", what, short(wait), short(p.Timeout), key)
		return true
	case limit > 0 && wait > limit:
		report(Warning, at, "%s %s, but %s pays for %s only: lower its %s", what, short(wait), field, short(limit), key)
		return true
	}
	return false
}

// ofSchedules are the rules that a class's own schedule can break.
var ofSchedules = []string{"P106", "P201", "P204", "P300", "P301", "P404"}

// perError is P410: the rules about schedules again, for the schedule of each
// class under the limits of its policy.
func perError(f *File, report report) {
	for _, p := range f.Policies {
		for _, o := range p.PerError {
			own := p.Under(o)
			for _, r := range ofPolicies {
				if !slices.Contains(ofSchedules, r.ID) {
					continue
				}
				_, already := r.check(p.Policy)
				if finding, found := r.check(&own); found && !already {
					report(finding.Severity, Place{"policies", p.Name, PerError(o.Class)}, "for errors of class %s: %s (%s)", o.Class, finding.Text, r.ID)
				}
			}
		}
	}
}

// opensInside is P501.
func opensInside(f *File, report report) {
	for _, p := range f.Policies {
		b := f.breaker(p.Breaker)
		if b == nil {
			continue
		}
		most, own := 1, retry.Class("")
		for _, c := range p.kinds(b) {
			if !f.retries(p, c) || !counts(b, c) {
				continue
			}
			if n, of := p.attemptsAfter(c); n > most {
				most, own = n, of
			}
		}
		first, field := opensAfter(b)
		if most <= first {
			continue
		}
		at := Place{"policies", p.Name, "breaker"}
		if own != "" {
			at.Field = PerError(own)
		}
		report(Warning, at, "breaker %s opens after %d failures in a row, fewer than the attempts of one call: raise %s to more than max_attempts, or lower max_attempts", b.Name, first, field)
	}
}

// kinds returns the errors that a policy and its breaker can tell apart: those
// of each class that they name, or that transient unites, and "", of no class.
// Classes that a file defines are taken not to overlap others.
func (p *Policy) kinds(b *retry.BreakerPolicy) []retry.Class {
	list := slices.Concat([]retry.Class{""}, transient, p.RetryOn, b.Count)
	for _, o := range p.PerError {
		list = append(list, o.Class)
	}
	return slices.DeleteFunc(list, func(c retry.Class) bool {
		return c == retry.ClassAny || c == retry.ClassTransient || c == retry.ClassCanceled || c == retry.ClassBreakerOpen
	})
}

// retries reports whether a policy retries errors of class c.
func (f *File) retries(p Policy, c retry.Class) bool {
	in := func(list []retry.Class) bool {
		return slices.ContainsFunc(list, func(outer retry.Class) bool { return covers(outer, c) })
	}
	if defined := f.class(c); defined != nil {
		if _, final := f.final(defined); final {
			return false
		}
	}
	return (len(p.RetryOn) == 0 || in(p.RetryOn)) && !in(p.AbortOn)
}

// attemptsAfter returns how many attempts a call makes that fails with errors
// of class c, and the class whose own schedule says so, or "".
func (p *Policy) attemptsAfter(c retry.Class) (n int, own retry.Class) {
	for _, o := range p.PerError {
		if covers(o.Class, c) {
			return o.MaxAttempts, o.Class
		}
	}
	return p.MaxAttempts, ""
}

func counts(b *retry.BreakerPolicy, class retry.Class) bool {
	return len(b.Count) == 0 || slices.ContainsFunc(b.Count, func(c retry.Class) bool { return covers(c, class) })
}

// transient are the classes that retry.ClassTransient unites.
var transient = []retry.Class{retry.ClassNetwork, retry.ClassTimeout, retry.ClassServerError, retry.ClassRateLimit}

// covers reports whether every error of class inner is one of outer, too.
func covers(outer, inner retry.Class) bool {
	switch {
	case outer == inner, outer == retry.ClassAny:
		return true
	case outer == retry.ClassTransient:
		return slices.Contains(transient, inner)
	}
	return false
}

// escalatesEarly is P503.
func escalatesEarly(f *File, report report) {
	for _, b := range f.Breakers {
		first, field := opensAfter(&b)
		if 0 < b.EscalateAfter && b.EscalateAfter <= first {
			report(Error, Place{"breakers", b.Name, "escalate_after"}, "escalate_after %d is not above %s %d, so that the breaker never gets to open: raise escalate_after, or write 0 to switch it off", b.EscalateAfter, field, first)
		}
	}
}

// hopeless is P505.
func hopeless(f *File, report report) {
	for _, p := range f.Policies {
		b := f.breaker(p.Breaker)
		if b == nil || !slices.Contains(p.RetryOn, retry.ClassBreakerOpen) || slices.Contains(p.AbortOn, retry.ClassBreakerOpen) || ownSchedule(p.Policy, retry.ClassBreakerOpen) {
			continue
		}
		if sum, ok := maxSum(p.Policy); ok && sum < b.OpenFor {
			report(Warning, Place{"policies", p.Name, "retry_on"}, "breaker_open is retried, but all waits take %s at most and breaker %s stays open for %s: remove breaker_open, or wait longer", short(sum), b.Name, short(b.OpenFor))
		}
	}
}

// countsMistakes is P508.
func countsMistakes(f *File, report report) {
	for _, b := range f.Breakers {
		for _, class := range b.Count {
			c := f.class(class)
			if class == retry.ClassAny || class == retry.ClassCanceled || c != nil && (c.permanent() || c.within(mistakes)) {
				report(Warning, Place{"breakers", b.Name, "count"}, "%s counts errors that are the caller's, so that one bad caller shuts out all: count classes that are the service's fault", class)
				break
			}
		}
	}
}
