package rules

import (
	"fmt"
	"time"

	"github.com/retrygen/retrygen/policy/duration"
	retry "github.com/retrygen/retrygen/runtime"
)

// The fields by which the schedule of a policy is known.
var schedule = []Field{"backoff", "initial_delay", "base", "increment", "delays", "max_delay", "jitter", "jitter_factor"}

func fields(list ...Field) []Field { return append(list, schedule...) }

// All lists the rules about a single policy, by id.
//
// The letters of the formulas: N attempts, k a retry, d_k the delay before it,
// d_k− and d_k+ that delay's least and greatest value under jitter.
var All = []Rule{
	{
		ID: "P106", Title: "delays shrink",
		Doc:   "A base below 1 makes every delay shorter than the one before, so that the pressure on a service that is down grows.",
		Wrong: "backoff: {exponential: {base: 0.5}}",
		Right: "backoff: {exponential: {base: 2}}",
		Reads: []Field{"backoff", "base"},
		check: func(p *retry.Policy) (Finding, bool) {
			return finding(p.Backoff == retry.Exponential && p.Base < 1, Error, "base",
				"base %v makes delays shrink: write at least 1, or fixed for equal delays", p.Base)
		},
	},
	{
		ID: "P201", Title: "cap below the first delay",
		Doc:   "max_delay is shorter than the first delay, so that every delay is max_delay and the strategy has no effect.",
		Wrong: "{initial_delay: 10s, max_delay: 5s}",
		Right: "{initial_delay: 5s, max_delay: 10s}",
		Reads: []Field{"backoff", "initial_delay", "delays", "max_delay"},
		check: func(p *retry.Policy) (Finding, bool) {
			first := p.InitialDelay
			if p.Backoff == retry.Custom {
				return Finding{}, false
			}
			return finding(p.MaxDelay > 0 && p.MaxDelay < first, Error, "max_delay",
				"max_delay %s is shorter than the first delay %s, so that every delay is %s: raise max_delay or lower initial_delay", duration.Format(p.MaxDelay), duration.Format(first), duration.Format(p.MaxDelay))
		},
	},
	{
		ID: "P204", Title: "hot loop",
		Doc:   "No delay is as long as a millisecond, and there are more than three attempts: a service that is down gets all of them at once. Silent for up to three attempts.",
		Wrong: "{max_attempts: 5, backoff: fixed, initial_delay: 10us}",
		Right: "{max_attempts: 5, backoff: fixed, initial_delay: 10ms}",
		Reads: fields("max_attempts"),
		check: func(p *retry.Policy) (Finding, bool) {
			severity := Warning
			if p.MaxAttempts == retry.Unlimited {
				severity = Error
			}
			_, greatest := p.DelayBounds(last(p))
			return finding((p.MaxAttempts > 3 || severity == Error) && greatest < time.Millisecond, severity, "initial_delay",
				"no delay is longer than %s, so that retries follow each other at once: raise initial_delay", duration.Format(greatest))
		},
	},
	{
		ID: "P300", Title: "unbounded retries",
		Doc:   "max_attempts is unlimited and no time limit ends the call: delay_budget, max_elapsed and timeout are all absent. A call that can never succeed never returns.",
		Wrong: "max_attempts: unlimited",
		Right: "{max_attempts: unlimited, delay_budget: 5m}",
		Reads: []Field{"max_attempts", "delay_budget", "max_elapsed", "timeout"},
		check: func(p *retry.Policy) (Finding, bool) {
			return finding(p.MaxAttempts == retry.Unlimited && p.DelayBudget <= 0 && p.MaxElapsed <= 0 && p.Timeout <= 0, Error, "max_attempts",
				"nothing ends these retries: write a number for max_attempts, or a delay_budget, max_elapsed or timeout")
		},
	},
	{
		ID: "P301", Title: "budget smaller than the first delay",
		Doc:   "delay_budget is smaller than the first delay d_1, so that the policy never retries: an error where it is below the least value of d_1 under jitter, a warning where only some samples fit.",
		Wrong: "{initial_delay: 1s, delay_budget: 500ms}",
		Right: "{initial_delay: 1s, delay_budget: 5s}",
		Reads: fields("max_attempts", "delay_budget"),
		check: func(p *retry.Policy) (Finding, bool) {
			if p.DelayBudget <= 0 || p.MaxAttempts == 1 {
				return Finding{}, false
			}
			least, greatest := p.DelayBounds(1)
			if p.DelayBudget < least {
				return finding(true, Error, "delay_budget",
					"delay_budget %s is smaller than the first delay %s, so that nothing is ever retried: raise delay_budget or lower initial_delay", duration.Format(p.DelayBudget), duration.Format(least))
			}
			return finding(p.DelayBudget < greatest, Warning, "delay_budget",
				"delay_budget %s is smaller than the first delay with jitter, up to %s, so that some calls are never retried: raise delay_budget", duration.Format(p.DelayBudget), duration.Format(greatest))
		},
	},
	{
		ID: "P401", Title: "inner timeout exceeds outer",
		Doc:   "attempt_timeout is longer than timeout, which ends the attempt first.",
		Wrong: "{attempt_timeout: 30s, timeout: 10s}",
		Right: "{attempt_timeout: 3s, timeout: 10s}",
		Reads: []Field{"attempt_timeout", "timeout"},
		check: func(p *retry.Policy) (Finding, bool) {
			return finding(p.Timeout > 0 && p.AttemptTimeout > p.Timeout, Error, "attempt_timeout",
				"attempt_timeout %s exceeds timeout %s, which ends the attempt first: lower attempt_timeout or raise timeout", duration.Format(p.AttemptTimeout), duration.Format(p.Timeout))
		},
	},
	{
		ID: "P404", Title: "last attempts can never start",
		Doc:   "The least possible waits before the last attempts are as long as timeout, so that these attempts never begin: the largest n whose waits d_1− + … + d_(n−1)− are shorter than timeout is below max_attempts.",
		Wrong: "{max_attempts: 5, backoff: fixed, initial_delay: 5s, timeout: 10s}",
		Right: "{max_attempts: 5, backoff: fixed, initial_delay: 1s, timeout: 10s}",
		Reads: fields("max_attempts", "timeout"),
		check: func(p *retry.Policy) (Finding, bool) {
			if p.Timeout <= 0 || p.MaxAttempts == retry.Unlimited {
				return Finding{}, false
			}
			var waited time.Duration
			// Where so many waits fit, the rule has nothing useful to say.
			const most = 10_000
			for k := 1; k < min(p.MaxAttempts, most); k++ {
				least, _ := p.DelayBounds(k)
				waited += min(least, p.Timeout)
				if waited >= p.Timeout {
					return finding(true, Error, "timeout",
						"only %d of %d attempts can begin within timeout %s: raise timeout, lower max_attempts, or shorten the delays", k, p.MaxAttempts, duration.Format(p.Timeout))
				}
			}
			return Finding{}, false
		},
	},
}

// last returns the number of a retry whose delay is as long as any.
func last(p *retry.Policy) int {
	const settled = 100
	if p.MaxAttempts == retry.Unlimited {
		return settled
	}
	return min(max(p.MaxAttempts-1, 1), settled)
}

func finding(found bool, severity Severity, field Field, format string, args ...any) (Finding, bool) {
	if !found {
		return Finding{}, false
	}
	return Finding{Severity: severity, Field: field, Text: fmt.Sprintf(format, args...)}, true
}
