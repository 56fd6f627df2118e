package rules

import (
	"fmt"
	"maps"
	"slices"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
)

// scopeRules lists the rules about scopes, and about policies together with what
// they share.
var scopeRules = []Rule{
	{ID: "P210", Severity: Warning, file: noJitter},
	{ID: "P402", Severity: Error, file: hardLimits},
	{ID: "P403", Severity: Error, file: overrides},
	{ID: "P407", Severity: Info, file: noAttemptLimit},
	{ID: "P409", Severity: Error, file: retryAfterTooLong},
	{ID: "P410", Severity: Error, file: perError},
	{ID: "P411", Severity: Warning, file: captureWithoutLimit},
}

// scopeOrder is the part of P401 about scopes, and about policies inside of
// their outer scopes.
func scopeOrder(f *File, report report) {
	for _, s := range f.Scopes {
		outer := f.scope(s.Within)
		at := Place{"scopes", s.Name, "timeout"}
		switch {
		case outer == nil || outer.Timeout == 0:
		case s.Timeout > outer.Timeout:
			report(Error, at,
				"timeout %s of scope %s exceeds timeout %s of %s, which ends it first: lower it, or raise the outer one",
				short(s.Timeout), s.Name, short(outer.Timeout), outer.Name)
		case s.Timeout == 0:
			report(Error, at, "scope %s has no timeout inside of %s, which ends after %s: write a timeout that is not longer",
				s.Name, outer.Name, short(outer.Timeout))
		}
	}
	for _, p := range f.Policies {
		own := f.scope(p.Scope)
		if own == nil || p.Timeout == own.Timeout || f.overLimit(p) != "" {
			continue // reported at the scope, or as P403
		}
		outer := f.timeoutScope(own.Within)
		at := Place{"policies", p.Name, "timeout"}
		switch {
		case outer == nil:
		case p.Timeout > outer.Timeout:
			report(Error, at, "timeout %s exceeds timeout %s of the outer scope %s, which ends it first: lower it",
				short(p.Timeout), short(outer.Timeout), outer.Name)
		case p.Timeout == 0:
			report(Error, at, "there is no timeout, but the outer scope %s ends after %s: write a timeout that is not longer",
				outer.Name, short(outer.Timeout))
		}
	}
}

// hardLimits is P402.
func hardLimits(f *File, report report) {
	for _, s := range f.Scopes {
		if s.HardLimit > 0 && s.Timeout > s.HardLimit {
			report(Error, Place{"scopes", s.Name, "timeout"},
				"timeout %s is over the scope's own hard_limit %s: lower it, or raise hard_limit", short(s.Timeout),
				short(s.HardLimit))
		}
		outer := f.hardLimitScope(s.Within)
		switch {
		case outer == nil:
		case s.HardLimit > outer.HardLimit:
			report(Error, Place{"scopes", s.Name, "hard_limit"},
				"hard_limit %s is over hard_limit %s of the outer scope %s: lower it", short(s.HardLimit), short(outer.HardLimit),
				outer.Name)
		case s.HardLimit == 0 && s.Timeout > outer.HardLimit && f.scope(s.Within).Timeout == 0: // otherwise P401 reports it
			report(Error, Place{"scopes", s.Name, "timeout"}, "timeout %s is over hard_limit %s of the outer scope %s: lower it",
				short(s.Timeout), short(outer.HardLimit), outer.Name)
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

// overLimit describes how the timeout of a policy exceeds the hard limit of its
// scope. It returns "" if it does not.
func (f *File) overLimit(p Policy) string {
	own, limiting := f.scope(p.Scope), f.hardLimitScope(p.Scope)
	switch {
	case limiting == nil:
	case p.Timeout > limiting.HardLimit && p.Timeout != own.Timeout: // otherwise P402 checks the scope
		return fmt.Sprintf("timeout %s is over hard_limit %s of scope %s: lower it", short(p.Timeout),
			short(limiting.HardLimit), limiting.Name)
	case p.Timeout == 0 && (own == limiting || own.Timeout > 0): // otherwise P401 checks the scope
		return fmt.Sprintf("there is no timeout, but scope %s has a hard_limit of %s: write a timeout that is not longer",
			limiting.Name, short(limiting.HardLimit))
	}
	return ""
}

// noAttemptLimit is P407.
func noAttemptLimit(f *File, report report) {
	for _, p := range f.Policies {
		bound := slices.ContainsFunc(f.Bindings, func(b Binding) bool { return b.Policy == p.Name })
		if bound && p.AttemptTimeout <= 0 && p.Timeout <= 0 && f.hardLimitScope(p.Scope) == nil {
			report(Info, Place{"policies", p.Name, ""},
				"an attempt of policy %s has no time limit, and is not retried if it hangs: write attempt_timeout", p.Name)
		}
	}
}

// captureWithoutLimit is P411.
func captureWithoutLimit(f *File, report report) {
	for _, p := range f.Policies {
		s := f.scope(p.Scope)
		if s != nil && s.Capture && p.AttemptTimeout <= 0 && p.Timeout <= 0 && s.HardLimit == 0 {
			report(Warning, Place{"policies", p.Name, "scope"},
				"scope %s captures timeouts, but nothing limits the time of policy %s: write a timeout", s.Name, p.Name)
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
			why = "calls share `breaker` " + breakerName(p.Breaker)
		case p.Budget != "":
			why = "calls share budget " + p.Budget
		}
		if why != "" {
			report(Warning, Place{"policies", p.Name, "jitter"},
				"%s, and without jitter they retry together: write `jitter: full`", why)
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
				waitTooLong(p, r.Default, "if the server names no time, retry_after waits", "default", at, report)
			}
		}
	}
}

// waitTooLong reports a wait that is longer than a limit of the policy allows. It
// returns whether it has reported one.
func waitTooLong(p Policy, wait time.Duration, what, key string, at Place, report report) bool {
	limit, field := waitLimit(p.Policy)
	switch {
	case wait <= 0:
	case p.Timeout > 0 && wait >= p.Timeout:
		report(Error, at, "%s %s, but timeout %s ends the call first: lower its %s", what, short(wait), short(p.Timeout), key)
		return true
	case limit > 0 && wait > limit:
		report(Warning, at, "%s %s, but %s allows only %s: lower its %s", what, short(wait), field, short(limit), key)
		return true
	}
	return false
}

// scheduleRuleIDs are the rules that the schedule of a class can break.
var scheduleRuleIDs = []string{"P106", "P201", "P204", "P205", "P207", "P300", "P301", "P404"}

// perError is P410. It runs the rules about schedules for the schedule of each
// class under the limits of its policy.
func perError(f *File, report report) {
	for _, p := range f.Policies {
		for _, o := range p.PerError {
			own := p.Under(o)
			for _, r := range policyRules {
				if !slices.Contains(scheduleRuleIDs, r.ID) {
					continue
				}
				_, already := r.check(p.Policy)
				finding, found := r.check(&own)
				if r.ID == "P300" {
					finding, found = f.endless(p, &own, o.Class)
				}
				if found && !already {
					added := report(finding.Severity, Place{"policies", p.Name, PerError(o.Class)}, "%s", finding.message)
					added.Class, added.Broken = o.Class, r.ID
				}
			}
		}
	}
}

// kinds returns the classes of errors that a policy and its breaker distinguish:
// those that they name, the members of transient, and "" for errors of no class.
// It assumes that classes of the file do not overlap others.
func (p *Policy) kinds(b *breaker.Policy) []retry.Class {
	list := slices.Concat([]retry.Class{""}, transient, p.RetryOn, counted(b))
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
		if _, final := f.neverRetried(defined); final {
			return false
		}
	}
	return (len(p.RetryOn) == 0 || in(p.RetryOn)) && !in(p.AbortOn)
}

// attemptsAfter returns how many attempts a call makes if it fails with errors of
// class c, and the class whose schedule determines the number, or "".
func (p *Policy) attemptsAfter(c retry.Class) (n int, own retry.Class) {
	for _, o := range p.PerError {
		if covers(o.Class, c) {
			return o.MaxAttempts, o.Class
		}
	}
	return p.MaxAttempts, ""
}

// counted returns the classes that a breaker counts.
func counted(b *breaker.Policy) (list []retry.Class) {
	for _, name := range b.Count {
		list = append(list, retry.Class(name))
	}
	return list
}

// counts reports whether a breaker counts errors of a class.
func counts(b *breaker.Policy, class retry.Class) bool {
	if slices.Contains(refusals, class) {
		return false
	}
	return len(b.Count) == 0 || slices.ContainsFunc(counted(b), func(c retry.Class) bool { return covers(c, class) })
}

// refusals are the classes of attempts that were refused before anything was done.
var refusals = []retry.Class{retry.ClassBreakerOpen, retry.ClassLimited, retry.ClassRateLimited, retry.ClassThrottled}

// transient are the classes that retry.ClassTransient contains.
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
