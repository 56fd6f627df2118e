package rules

import (
	"fmt"
	"maps"
	"slices"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// scopeRules lists the rules about scopes, and about policies together with what
// they share.
var scopeRules = []Rule{
	{
		ID: "P210", Title: "no jitter although calls share a resource", Severity: Warning,
		Reports: "A policy with `jitter: none` serves the units of a group, or shares a breaker or a budget " +
			"with other calls.",
		Why: "Calls that failed together retry together. Each wave hits the service at the same instant, and " +
			"can bring it down again just as it recovers.",
		Wrong: "breakers: {upstream: {failures: 10}}\npolicies:\n  read: {breaker: upstream}",
		Right: "breakers: {upstream: {failures: 10}}\npolicies:\n  read: {breaker: upstream, jitter: full}",
		NotReported: []string{
			"Policies that share nothing in the file: nothing shows that their calls run concurrently.",
			"`max_attempts: 1`.",
		},
		Fix:     "Write `jitter: full`.",
		Related: []string{"P204", "P501"},
		file:    noJitter,
	},
	{
		ID: "P402", Title: "timeout of a scope over a hard limit", Severity: Error,
		Reports: "A scope's `timeout` is longer than its `hard_limit`, or one of the two is longer than the " +
			"`hard_limit` of an outer scope.",
		Why:   "The hard limit ends the work first. The timeout that the file promises is never available.",
		Wrong: "scopes:\n  step: {timeout: 20m, hard_limit: 15m}\npolicies:\n  build: {scope: step}",
		Right: "scopes:\n  step: {timeout: 10m, hard_limit: 15m}\npolicies:\n  build: {scope: step}",
		NotReported: []string{
			"Scopes without a `hard_limit` inside of scopes without one.",
			"Timeouts over the outer scope's `timeout`: P401 reports them.",
		},
		Fix:     "Lower the timeout, or raise the hard limit.",
		Related: []string{"P401", "P403"},
		file:    hardLimits,
	},
	{
		ID: "P403", Title: "timeout of a policy over the hard limit", Severity: Error,
		Reports: "The `timeout` of a policy is longer than the `hard_limit` of its scope, or the policy has no " +
			"timeout although the scope has a `hard_limit`.",
		Why: "A hard limit exists to keep one call from using the time of all others. A policy that exceeds it " +
			"cannot get the time that it asks for.",
		Wrong: "scopes:\n" +
			"  step: {timeout: 10m, hard_limit: 15m}\n" +
			"policies:\n" +
			"  build: {scope: step, timeout: 20m}",
		Right: "scopes:\n" +
			"  step: {timeout: 10m, hard_limit: 15m}\n" +
			"policies:\n" +
			"  build: {scope: step, timeout: 15m}",
		NotReported: []string{
			"A policy that takes its timeout from its scope: P402 checks the scope.",
			"A timeout over the scope's `timeout`, but within its `hard_limit`: that is what `hard_limit` " +
				"allows.",
		},
		Fix:     "Lower the timeout, or raise the hard limit of the scope.",
		Related: []string{"P401", "P402"},
		file:    overrides,
	},
	{
		ID: "P407", Title: "no time limit on an attempt", Severity: Info,
		Reports: "A policy that is bound to a Go symbol has neither `attempt_timeout` nor `timeout`, and no " +
			"scope gives it one.",
		Why: "An attempt that hangs is never ended and never retried. One stuck connection blocks its caller " +
			"forever.",
		Wrong: "policies:\n  read: {max_attempts: 4}\nbind:\n  Client.Get: read",
		Right: "policies:\n  read: {max_attempts: 4, attempt_timeout: 5s}\nbind:\n  Client.Get: read",
		NotReported: []string{
			"Policies that are bound to nothing.",
			"Policies in a scope with a `hard_limit`, or with a timeout.",
		},
		Fix:     "Write an `attempt_timeout`. If the function has a limit of its own, leave the policy unchanged.",
		Related: []string{"P406", "P906"},
		file:    noAttemptLimit,
	},
	{
		ID: "P409", Title: "Retry-After longer than the call may last", Severity: Error,
		Reports: "The `max` or `default` of `retry_after` is as long as `timeout` (an error), or longer than " +
			"`delay_budget` or `max_elapsed` (a warning).",
		Why: "The server asks for a wait that the policy accepts but cannot afford. The call stops at the " +
			"first 429 or 503 with such a header, without a retry.",
		Wrong: "policies:\n  read: {timeout: 1m, retry_after: {max: 5m}}",
		Right: "policies:\n  read: {timeout: 1m, retry_after: {max: 20s}}",
		NotReported: []string{
			"Values that are not written: the default of 60s is not compared.",
			"Policies without a limit.",
		},
		Fix:     "Lower `max` or `default`, or raise the limit.",
		Related: []string{"P301", "P404"},
		file:    retryAfterTooLong,
	},
	{
		ID: "P410", Title: "schedule for one class that breaks a rule", Severity: Error,
		Reports: "The schedule that `per_error` gives to a class breaks P106, P201, P204, P205, P207, P300, P301 or " +
			"P404 under the limits of its policy.",
		Why: "Errors of that class, often `rate_limit`, are not retried as written, and tests with other " +
			"errors do not show it.",
		Wrong: "policies:\n" +
			"  read:\n" +
			"    delay_budget: 10s\n" +
			"    per_error:\n" +
			"      rate_limit: {initial_delay: 20s}",
		Right: "policies:\n" +
			"  read:\n" +
			"    delay_budget: 1m\n" +
			"    per_error:\n" +
			"      rate_limit: {initial_delay: 20s}",
		NotReported: []string{
			"Rules that the policy's own schedule breaks as well: they are reported there, once.",
			"Warnings about sums, such as P302 and P405: a class may end earlier than the policy.",
		},
		Fix:     "Change the schedule as the named rule describes, or raise the limit of the policy.",
		Related: []string{"P106", "P201", "P204", "P205", "P207", "P300", "P301", "P404"},
		file:    perError,
	},
	{
		ID: "P411", Title: "capture without a limit on time", Severity: Warning,
		Reports: "A policy is in a scope with `capture: true`, but neither the scope nor the policy limits its time.",
		Why: "Only calls whose time ends are captured. A call that hangs is never ended, and what it has done so far is " +
			"not there for the next run.",
		Wrong: "scopes:\n  step: {capture: true}\npolicies:\n  build: {scope: step}",
		Right: "scopes:\n  step: {capture: true, timeout: 10m}\npolicies:\n  build: {scope: step}",
		NotReported: []string{
			"Policies with an `attempt_timeout`: each attempt that exceeds it is captured.",
			"Policies in a scope with a `hard_limit`.",
		},
		Fix:     "Write a `timeout` for the scope or the policy, or remove `capture`.",
		Related: []string{"P401", "P407"},
		file:    captureWithoutLimit,
	},
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
			why = "calls share `breaker` " + p.Breaker
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

// counts reports whether a breaker counts errors of a class.
func counts(b *retry.BreakerPolicy, class retry.Class) bool {
	return len(b.Count) == 0 || slices.ContainsFunc(b.Count, func(c retry.Class) bool { return covers(c, class) })
}

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
