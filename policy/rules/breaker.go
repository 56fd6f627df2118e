package rules

import (
	"fmt"
	"slices"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
)

// breakerRules lists the rules about breakers.
var breakerRules = []Rule{
	{ID: "P501", Severity: Warning, file: opensDuringCall},
	{ID: "P502", Severity: Info, file: needsReset},
	{ID: "P503", Severity: Error, file: escalatesEarly},
	{ID: "P504", Severity: Warning, file: rateNeverReached},
	{ID: "P505", Severity: Warning, file: breakerOpenTooShort},
	{ID: "P506", Severity: Warning, file: neverSlow, whole: []string{"policies"}},
	{ID: "P508", Severity: Warning, file: countsCallerErrors},
}

// opensAfter returns the least number of failures in a row that opens a new
// breaker, and the setting that determines it.
func opensAfter(b *breaker.Policy) (n int, field Field) {
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

// endless is P300 for a schedule of a policy: the schedule of the class own, or if own
// is "" the schedule of the policy itself.
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
// another limit. These follow errors with the schedule of class own, or if own is ""
// errors without a schedule of their own.
func (f *File) endedByBreaker(p Policy, own retry.Class) (severity Severity, why string) {
	if slices.Contains(p.RetryOn, retry.ClassBreakerOpen) && !slices.Contains(p.AbortOn, retry.ClassBreakerOpen) {
		return Error, "nothing ends these retries, which wait for `breaker` " + breakerName(p.Breaker)
	}
	if b := f.breaker(p.Breaker); b != nil {
		for _, c := range p.kinds(b) {
			if _, by := p.attemptsAfter(c); by != own || !f.retries(p, c) || counts(b, c) {
				continue
			}
			if c == "" {
				return Error, fmt.Sprintf("nothing ends these retries after errors that `breaker` %s does not count",
					breakerName(b.Name))
			}
			return Error, fmt.Sprintf("nothing ends these retries after errors of class %s, which `breaker` %s does not count",
				className(c), breakerName(b.Name))
		}
	}
	for _, other := range f.Policies {
		if other.Breaker == p.Breaker && other.Name != p.Name {
			return Warning, fmt.Sprintf("only `breaker` %s ends these retries, and calls of %s may keep it closed",
				breakerName(p.Breaker), other.Name)
		}
	}
	return Info, fmt.Sprintf("only `breaker` %s ends these retries, and calls that succeed keep it closed",
		breakerName(p.Breaker))
}

// needsReset is P502.
func needsReset(f *File, report report) {
	for _, b := range f.Breakers {
		if first, _ := opensAfter(&b); b.EscalateAfter > first { // P503 reports the others
			report(Info, Place{"breakers", b.Name, "escalate_after"},
				"after %d failures in a row `breaker` %s refuses every call until the program calls Reset: call it, or remove "+
					"escalate_after",
				b.EscalateAfter, breakerName(b.Name))
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
				b.FailureRate, b.MinCalls, breakerName(b.Name), b.Failures)
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
				short(b.SlowCall), breakerName(b.Name), short(longest))
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
					"or fewer", breakerName(b.Name), first, attempts(first))
			continue
		}
		report(Warning, at,
			"`breaker` %s opens after %d failures in a row, fewer than the attempts of one call: raise `%s` to more than "+
				"`max_attempts` | lower `max_attempts`", breakerName(b.Name), first, field)
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
					"or wait longer", short(sum), breakerName(b.Name), short(b.OpenFor))
		}
	}
}

// countsCallerErrors is P508.
func countsCallerErrors(f *File, report report) {
	for _, b := range f.Breakers {
		for _, class := range counted(&b) {
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
