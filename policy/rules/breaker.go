package rules

import (
	"fmt"
	"slices"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// breakerRules lists the rules about breakers.
var breakerRules = []Rule{
	{
		ID: "P501", Title: "breaker opens during one call", Severity: Warning,
		Reports: "A breaker opens after fewer failures in a row than one call makes attempts, and counts " +
			"errors that the call retries.",
		Why: "A single unlucky call opens the breaker, and all other callers are refused for `open_for`, " +
			"although nothing else has failed.",
		Wrong: "breakers: {upstream: {failures: 3}}\n" +
			"policies:\n" +
			"  read: {max_attempts: 5, breaker: upstream, jitter: full}",
		Right: "breakers: {upstream: {failures: 10}}\n" +
			"policies:\n" +
			"  read: {max_attempts: 5, breaker: upstream, jitter: full}",
		NotReported: []string{
			"Breakers that count only errors which the policy does not retry.",
			"A breaker that opens after exactly as many failures as a call makes attempts.",
		},
		Fix:     "Raise `failures` (or `min_calls`) above `max_attempts`, or lower `max_attempts`.",
		Related: []string{"P503", "P504", "P505"},
		file:    opensDuringCall,
	},
	{
		ID: "P502", Title: "breaker that only Reset closes", Severity: Info,
		Reports: "A breaker has `escalate_after`: after that many failures in a row it refuses every call " +
			"until the program calls `Breaker.Reset`.",
		Why: "An outage that is longer than expected leaves the service unreachable after it has recovered, " +
			"until somebody restarts the process or calls `Reset`.",
		Wrong: "breakers: {upstream: {failures: 5, escalate_after: 8}}\n" +
			"policies:\n" +
			"  read: {breaker: upstream, jitter: full}",
		Right: "breakers: {upstream: {failures: 5}}\npolicies:\n  read: {breaker: upstream, jitter: full}",
		NotReported: []string{
			"Breakers without `escalate_after`; they try again after `open_for`.",
			"`escalate_after` that is not above `failures`: P503 reports it.",
		},
		Fix:     "Call `Reset` from an operator's endpoint or a health check, or remove `escalate_after`.",
		Related: []string{"P503"},
		file:    needsReset,
	},
	{
		ID: "P503", Title: "breaker escalates before it opens", Severity: Error,
		Reports: "`escalate_after` is not above `failures` (or `min_calls`, if `failure_rate` opens the " +
			"breaker).",
		Why: "The breaker goes straight to its final state. A short outage that it should survive needs a " +
			"manual reset.",
		Wrong: "breakers: {upstream: {failures: 5, escalate_after: 5}}\n" +
			"policies:\n" +
			"  read: {breaker: upstream, jitter: full}",
		Right: "breakers: {upstream: {failures: 5, escalate_after: 8}}\n" +
			"policies:\n" +
			"  read: {breaker: upstream, jitter: full}",
		NotReported: []string{
			"Breakers without `escalate_after`, or with `escalate_after: 0`.",
		},
		Fix:     "Raise `escalate_after` above `failures`, or write 0 to switch it off.",
		Related: []string{"P502"},
		file:    escalatesEarly,
	},
	{
		ID: "P504", Title: "failure_rate that never opens the breaker", Severity: Warning,
		Reports: "A breaker has `failures` and `failure_rate`, but any sequence of calls that reaches the rate " +
			"contains that many failures in a row.",
		Why: "The rate has no effect. The breaker opens on short runs of failures, which a rate over a window " +
			"is meant to ignore.",
		Wrong: "breakers: {upstream: {failures: 3, failure_rate: 0.8, min_calls: 20}}\n" +
			"policies:\n" +
			"  read: {breaker: upstream, jitter: full}",
		Right: "breakers: {upstream: {failures: 10, failure_rate: 0.8, min_calls: 20}}\n" +
			"policies:\n" +
			"  read: {breaker: upstream, jitter: full}",
		NotReported: []string{
			"Breakers with only one of the two settings.",
			"A rate that some sequence of `min_calls` or more calls reaches first.",
		},
		Fix:     "Raise `failures`, lower `failure_rate`, or keep one of them.",
		Related: []string{"P501"},
		file:    rateNeverReached,
	},
	{
		ID: "P505", Title: "breaker_open retried for too short a time", Severity: Warning,
		Reports: "`retry_on` names `breaker_open`, but all waits together are shorter than the `open_for` of " +
			"the breaker.",
		Why: "A call that meets an open breaker uses all of its attempts without reaching the service. It " +
			"waits, and then fails as it would have at once.",
		Wrong: "breakers: {upstream: {open_for: 1m}}\n" +
			"policies:\n" +
			"  read: {breaker: upstream, jitter: full, retry_on: [network, breaker_open]}",
		Right: "breakers: {upstream: {open_for: 5s}}\n" +
			"policies:\n" +
			"  read: {breaker: upstream, jitter: equal, initial_delay: 5s, retry_on: [network, breaker_open]}",
		NotReported: []string{
			"Waits that reach `open_for` with the most jitter.",
			"Policies that give `breaker_open`, or a class that covers it, a schedule under `per_error`, or " +
				"name it in `abort_on`.",
		},
		Fix:     "Remove `breaker_open` from `retry_on`, or wait longer than `open_for`.",
		Related: []string{"P501"},
		file:    breakerOpenTooShort,
	},
	{
		ID: "P506", Title: "slow_call that no attempt exceeds", Severity: Warning,
		Reports: "The `slow_call` of a breaker is not below the time limit of an attempt in any policy that " +
			"shares the breaker.",
		Why: "An attempt ends with a timeout, which is a failure, before it counts as slow. `slow_rate` never " +
			"opens the breaker while the service degrades.",
		Wrong: "breakers: {upstream: {slow_call: 5s, slow_rate: 0.5}}\n" +
			"policies:\n" +
			"  read: {breaker: upstream, jitter: full, attempt_timeout: 2s}",
		Right: "breakers: {upstream: {slow_call: 1s, slow_rate: 0.5}}\n" +
			"policies:\n" +
			"  read: {breaker: upstream, jitter: full, attempt_timeout: 2s}",
		NotReported: []string{
			"Breakers that are shared with a policy without a time limit.",
			"Breakers without `slow_call`.",
		},
		Fix:     "Lower `slow_call` below the longest attempt.",
		Related: []string{"P501", "P407"},
		file:    neverSlow,
		whole:   []string{"policies"},
	},
	{
		ID: "P508", Title: "breaker counts errors of the caller", Severity: Warning,
		Reports: "The `count` of a breaker contains `any`, `canceled`, a class that is never retried, or a " +
			"class of only the statuses 400, 401, 403, 404 and 422.",
		Why: "One client with bad requests opens the breaker for all clients, although the service is healthy.",
		Wrong: "errors: {bad_input: {http: [422], retryable: false}}\n" +
			"breakers: {upstream: {count: [server_error, bad_input]}}\n" +
			"policies:\n" +
			"  read: {breaker: upstream, jitter: full}",
		Right: "breakers: {upstream: {count: [server_error]}}\n" +
			"policies:\n" +
			"  read: {breaker: upstream, jitter: full}",
		NotReported: []string{
			"Breakers without `count`, which count what their policies retry.",
			"Classes with other statuses, a pattern or Go errors, whose cause is not known.",
		},
		Fix:     "Count only classes that are the service's fault, such as `server_error`, `network` and `timeout`.",
		Related: []string{"P501", "P701"},
		file:    countsCallerErrors,
	},
}

// opensAfter returns the least number of failures in a row that opens a new
// breaker, and the setting that determines it.
func opensAfter(b *retry.BreakerPolicy) (n int, field Field) {
	if b.FailureRate > 0 && (b.Failures == 0 || b.MinCalls < b.Failures) {
		return b.MinCalls, "min_calls"
	}
	return b.Failures, "failures"
}

// limitRetries is the advice of P300.
const limitRetries = "write a number for `max_attempts` | write a `delay_budget` | write a `max_elapsed` | " +
	"write a `timeout`"

// endless is P300 for a policy without a breaker.
func endless(p *retry.Policy) (Finding, bool) {
	return finding(p.MaxAttempts == retry.Unlimited && p.DelayBudget <= 0 && p.MaxElapsed <= 0 && p.Timeout <= 0, Error,
		"max_attempts", "nothing ends these retries: "+limitRetries)
}

// endless is P300 for a schedule of a policy: its own, with own "", or that of the
// class own.
func (f *File) endless(p Policy, schedule *retry.Policy, own retry.Class) (Finding, bool) {
	finding, found := endless(schedule)
	if found && p.Breaker != "" {
		severity, why := f.endedByBreaker(p, own)
		finding.Severity, finding.message = severity, why+": "+limitRetries
	}
	return finding, found
}

// endlessWithBreaker is P300 for policies that have a breaker.
func endlessWithBreaker(f *File, report report) {
	for _, p := range f.Policies {
		if finding, found := f.endless(p, p.Policy, ""); found && p.Breaker != "" {
			report(finding.Severity, Place{"policies", p.Name, finding.Field}, "%s", finding.message)
		}
	}
}

// endedByBreaker describes how the breaker of a policy ends retries without
// another limit: those of the errors that have no schedule of their own, or of the
// errors with the schedule of class own.
func (f *File) endedByBreaker(p Policy, own retry.Class) (severity Severity, why string) {
	if slices.Contains(p.RetryOn, retry.ClassBreakerOpen) && !slices.Contains(p.AbortOn, retry.ClassBreakerOpen) {
		return Error, "nothing ends these retries, which wait for `breaker` " + p.Breaker
	}
	if b := f.breaker(p.Breaker); b != nil {
		for _, c := range p.kinds(b) {
			if _, by := p.attemptsAfter(c); by != own || !f.retries(p, c) || counts(b, c) {
				continue
			}
			if c == "" {
				return Error, fmt.Sprintf("nothing ends these retries after errors that `breaker` %s does not count", b.Name)
			}
			return Error, fmt.Sprintf("nothing ends these retries after errors of class %s, which `breaker` %s does not count",
				className(c), b.Name)
		}
	}
	for _, other := range f.Policies {
		if other.Breaker == p.Breaker && other.Name != p.Name {
			return Warning, fmt.Sprintf("only `breaker` %s ends these retries, and calls of %s may keep it closed", p.Breaker,
				other.Name)
		}
	}
	return Info, fmt.Sprintf("only `breaker` %s ends these retries, and calls that succeed keep it closed", p.Breaker)
}

// needsReset is P502.
func needsReset(f *File, report report) {
	for _, b := range f.Breakers {
		if first, _ := opensAfter(&b); b.EscalateAfter > first { // P503 reports the others
			report(Info, Place{"breakers", b.Name, "escalate_after"},
				"after %d failures in a row `breaker` %s refuses every call until the program calls Reset: call it, or remove "+
					"escalate_after",
				b.EscalateAfter, b.Name)
		}
	}
}

// rateNeverReached is P504.
func rateNeverReached(f *File, report report) {
	for _, b := range f.Breakers {
		if b.Failures > 0 && greatestRate(b.MinCalls, b.Failures) < b.FailureRate {
			report(Warning, Place{"breakers", b.Name, "failure_rate"},
				"`failure_rate` %.4g of %d or more calls is never reached before `breaker` %s opens after `failures` %d in a row: "+
					"raise `failures` | lower `failure_rate`",
				b.FailureRate, b.MinCalls, b.Name, b.Failures)
		}
	}
}

// greatestRate returns the greatest share of failures among least or more calls,
// if fewer than row failures are in a row.
func greatestRate(least, row int) (rate float64) {
	// At least every row-th of n calls is a success. The share is greatest one
	// call before the next success, and that maximum falls as n grows.
	for n := least; n < least+row; n++ {
		rate = max(rate, float64(n-n/row)/float64(n))
	}
	return rate
}

// neverSlow is P506.
func neverSlow(f *File, report report) {
	for _, b := range f.Breakers {
		var longest time.Duration // of an attempt
		for _, p := range f.Policies {
			if p.Breaker != b.Name {
				continue
			}
			most := p.longestAttempt()
			if most == 0 {
				longest = 0
				break
			}
			longest = max(longest, most)
		}
		if longest > 0 && b.SlowCall >= longest {
			report(Warning, Place{"breakers", b.Name, "slow_call"},
				"no call is slower than `slow_call` %s, since every attempt that shares `breaker` %s ends after %s at most: lower "+
					"`slow_call`",
				short(b.SlowCall), b.Name, short(longest))
		}
	}
}

// longestAttempt returns the limit on the time of one attempt, or 0 if there is
// none.
func (p *Policy) longestAttempt() time.Duration {
	most := p.Timeout
	if p.Scope != "" {
		most = p.HardLimit // a caller may ask for another timeout up to that
	}
	if p.AttemptTimeout > 0 && (most <= 0 || p.AttemptTimeout < most) {
		most = p.AttemptTimeout
	}
	return max(most, 0)
}

// opensDuringCall is P501.
func opensDuringCall(f *File, report report) {
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
		if most == retry.Unlimited {
			report(Warning, at,
				"`breaker` %s opens after %d failures in a row, which one call makes, and ends the call: write `max_attempts`: %s "+
					"or fewer", b.Name, first, attempts(first))
			continue
		}
		report(Warning, at,
			"`breaker` %s opens after %d failures in a row, fewer than the attempts of one call: raise `%s` to more than "+
				"`max_attempts` | lower `max_attempts`", b.Name, first, field)
	}
}

// escalatesEarly is P503.
func escalatesEarly(f *File, report report) {
	for _, b := range f.Breakers {
		first, field := opensAfter(&b)
		if 0 < b.EscalateAfter && b.EscalateAfter <= first {
			report(Error, Place{"breakers", b.Name, "escalate_after"},
				"escalate_after %d is not above `%s` %d, so the breaker never opens: raise escalate_after, or write 0 to switch "+
					"it off", b.EscalateAfter, field, first)
		}
	}
}

// breakerOpenTooShort is P505.
func breakerOpenTooShort(f *File, report report) {
	for _, p := range f.Policies {
		b := f.breaker(p.Breaker)
		if b == nil || !slices.Contains(p.RetryOn, retry.ClassBreakerOpen) ||
			slices.Contains(p.AbortOn, retry.ClassBreakerOpen) || ownSchedule(p.Policy, retry.ClassBreakerOpen) {
			continue
		}
		if sum, ok := maxSum(p.Policy); ok && sum < b.OpenFor {
			report(Warning, Place{"policies", p.Name, "retry_on"},
				"breaker_open is retried, but all waits take %s at most and `breaker` %s stays open for %s: remove breaker_open, "+
					"or wait longer", short(sum), b.Name, short(b.OpenFor))
		}
	}
}

// countsCallerErrors is P508.
func countsCallerErrors(f *File, report report) {
	for _, b := range f.Breakers {
		for _, class := range b.Count {
			c := f.class(class)
			ofCaller := c != nil && (c.permanent() || c.within(requestErrors))
			if ofCaller || class == retry.ClassAny || class == retry.ClassCanceled {
				report(Warning, Place{"breakers", b.Name, "count"},
					"%s counts errors of the caller, so one bad caller blocks all others: count only errors of the service",
					className(class))
				break
			}
		}
	}
}
