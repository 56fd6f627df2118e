package rules

import (
	"slices"
	"time"

	"github.com/retrygen/retrygen/policy/duration"
	retry "github.com/retrygen/retrygen/runtime"
)

// limitRules lists the rules about the limits of a single policy, and about the
// errors that it retries.
var limitRules = []Rule{
	{
		ID: "P300", Severity: Error,
		Reads: []Field{"max_attempts", "delay_budget", "max_elapsed", "timeout", "breaker"},
		check: endless,
		file:  endlessWithBreaker,
	},
	{
		ID: "P301", Severity: Error,
		Reads: fields("max_attempts", "delay_budget", "max_elapsed"),
		check: func(p *retry.Policy) (Finding, bool) {
			limit, field := waitLimit(p)
			if limit <= 0 || p.MaxAttempts == 1 || waitsForever(p) {
				return Finding{}, false
			}
			least, _, greatest := p.Schedule.Bounds(1, 0)
			if limit < least {
				return finding(true, Error, field,
					"`%s` %s is smaller than the first delay %s, so nothing is retried: raise `%s` | lower `initial_delay`", field,
					duration.Format(limit), duration.Format(least), field)
			}
			return finding(limit < greatest, Warning, field,
				"`%s` %s is smaller than the first delay with jitter, up to %s, so some calls are never retried: raise `%s`", field,
				duration.Format(limit), duration.Format(greatest), field)
		},
	},
	{
		ID: "P302", Severity: Warning,
		Reads: waitFields("max_attempts", "delay_budget", "max_elapsed"),
		check: func(p *retry.Policy) (Finding, bool) {
			limit, field := waitLimit(p)
			if limit <= 0 || p.MaxAttempts < 3 || p.MaxAttempts == retry.Unlimited || waitsForever(p) {
				return Finding{}, false
			}
			severity := Warning
			if p.MaxAttempts >= manyAttempts {
				severity = Info
			}
			n, when := retriesWithin(p, limit+1, 0, leastDelay), ""
			if n == p.MaxAttempts-1 {
				n, when = retriesWithin(p, limit+1, 0, leastWait), unasked(p)
			}
			return finding(0 < n && n < p.MaxAttempts-1, severity, field,
				"%s`%s` %s allows %d of %d retries at most: raise `%s` | lower `max_attempts`", when, field,
				duration.Format(limit), n, p.MaxAttempts-1, field)
		},
	},
	{
		ID: "P303", Severity: Info,
		Reads: waitFields("max_attempts", "delay_budget"),
		check: func(p *retry.Policy) (Finding, bool) {
			if p.DelayBudget <= 0 || p.MaxAttempts < 2 || p.MaxAttempts > maxSummed {
				return Finding{}, false
			}
			var sum time.Duration
			for k := 1; k < p.MaxAttempts && sum <= p.DelayBudget; k++ {
				_, _, greatest := p.Bounds(k, 0)
				sum += min(greatest, p.DelayBudget+1-sum)
			}
			return finding(sum <= p.DelayBudget, Info, "delay_budget",
				"all waits take %s at most, so `delay_budget` %s never ends them", duration.Format(sum),
				duration.Format(p.DelayBudget))
		},
	},
	{
		ID: "P304", Severity: Warning,
		Reads: []Field{"delay_budget", "timeout"},
		check: func(p *retry.Policy) (Finding, bool) {
			return finding(p.Timeout > 0 && p.DelayBudget >= p.Timeout, Warning, "delay_budget",
				"`delay_budget` %s is not below `timeout` %s, which ends the call first: lower it | remove it",
				duration.Format(p.DelayBudget), duration.Format(p.Timeout))
		},
	},
	{
		ID: "P401", Severity: Error,
		Reads: []Field{"attempt_timeout", "timeout"},
		check: func(p *retry.Policy) (Finding, bool) {
			return finding(p.Timeout > 0 && p.AttemptTimeout > p.Timeout, Error, "attempt_timeout",
				"`attempt_timeout` %s exceeds `timeout` %s, which ends the attempt first: lower `attempt_timeout` | "+
					"raise `timeout`",
				duration.Format(p.AttemptTimeout), duration.Format(p.Timeout))
		},
		file: scopeOrder,
	},
	{ID: "P404", Severity: Error, Reads: waitFields("max_attempts", "timeout"), check: neverBegin},
	{
		ID: "P405", Severity: Warning,
		Reads: waitFields("max_attempts", "attempt_timeout", "timeout", "retry_on", "abort_on"),
		check: func(p *retry.Policy) (Finding, bool) {
			if !retried(p, retry.ClassTimeout) || ownSchedule(p, retry.ClassTimeout) {
				return Finding{}, false
			}
			return doNotFit(p)
		},
		file: doNotFitByCode,
	},
	{
		ID: "P406", Severity: Warning,
		Reads: []Field{"max_attempts", "attempt_timeout", "timeout", "retry_on"},
		check: func(p *retry.Policy) (Finding, bool) {
			if !slices.Contains(p.RetryOn, retry.ClassTimeout) {
				return Finding{}, false
			}
			return noTimeToRetry(p, retry.ClassTimeout)
		},
		file: noTimeToRetryByCode,
	},
	{
		ID: "P702", Severity: Error,
		Reads: []Field{"retry_on", "abort_on"},
		check: func(p *retry.Policy) (Finding, bool) {
			for _, c := range p.RetryOn {
				if slices.Contains(p.AbortOn, c) {
					return finding(true, Error, "abort_on", "%s is both in `retry_on` and in `abort_on`: keep one", className(c))
				}
				for _, a := range p.AbortOn {
					if covers(a, c) {
						return finding(true, Error, "abort_on",
							coveredByAbort, className(c), className(a))
					}
				}
			}
			return Finding{}, false
		},
		file: retriedAndAborted,
	},
}
