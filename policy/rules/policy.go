package rules

import (
	"fmt"
	"slices"
	"time"

	"github.com/retrygen/retrygen/policy/duration"
	retry "github.com/retrygen/retrygen/runtime"
)

// The fields by which the schedule of a policy is known.
var schedule = []Field{"backoff", "initial_delay", "base", "increment", "delays", "max_delay", "jitter", "jitter_factor"}

func fields(list ...Field) []Field { return append(list, schedule...) }

// ofPolicies lists the rules about a single policy.
//
// The letters of the formulas: N attempts, k a retry, d_k the delay before it,
// d_k− and d_k+ that delay's least and greatest value under jitter.
var ofPolicies = []Rule{
	{
		ID: "P106", Title: "delays shrink",
		Doc:   "A base below 1 makes every delay shorter than the one before, so that the pressure on a service that is down grows.",
		Wrong: "backoff: {exponential: {base: 0.5}}",
		Right: "backoff: {exponential: {base: 2}}",
		Reads: []Field{"backoff", "base"},
		check: func(p *retry.Policy) (Finding, bool) {
			return finding(p.Backoff == retry.BackoffExponential && p.Base < 1, Error, "base",
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
			if p.Backoff == retry.BackoffCustom {
				return Finding{}, false
			}
			f, found := finding(p.MaxDelay > 0 && p.MaxDelay < first, Error, "max_delay",
				"max_delay %s is shorter than the first delay %s, so that every delay is %s: raise max_delay or lower initial_delay", duration.Format(p.MaxDelay), duration.Format(first), duration.Format(p.MaxDelay))
			f.Else = "initial_delay"
			return f, found
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
			greatest := longest(p, func(k int) time.Duration { _, _, most := p.Bounds(k, 0); return most })
			var field Field = "initial_delay"
			if p.Backoff == retry.BackoffCustom {
				field = "delays"
			}
			return finding((p.MaxAttempts > 3 || severity == Error) && greatest < time.Millisecond, severity, field,
				"no delay is longer than %s, so that retries follow each other at once: raise %s", duration.Format(greatest), field)
		},
	},
	{
		ID: "P205", Title: "runaway delay",
		Doc:   "max_delay is none, and some delay is longer than an hour.",
		Wrong: "{max_attempts: 20, max_delay: none}",
		Right: "{max_attempts: 20, max_delay: 5m}",
		Reads: fields("max_attempts"),
		check: func(p *retry.Policy) (Finding, bool) {
			return finding(p.MaxAttempts != 1 && p.MaxDelay < 0 && longest(p, func(k int) time.Duration { _, base, _ := p.Bounds(k, 0); return base }) > time.Hour, Warning, "max_delay",
				"without a cap delays grow beyond an hour: write a max_delay")
		},
	},
	{
		ID: "P206", Title: "custom delays beyond the last retry",
		Doc:   "There are more delays than retries: the last ones are never used.",
		Wrong: "{max_attempts: 3, backoff: {custom: {delays: [1s, 2s, 5s]}}}",
		Right: "{max_attempts: 4, backoff: {custom: {delays: [1s, 2s, 5s]}}}",
		Reads: []Field{"max_attempts", "backoff", "delays"},
		check: func(p *retry.Policy) (Finding, bool) {
			return finding(p.Backoff == retry.BackoffCustom && p.MaxAttempts > 0 && len(p.Delays) > p.MaxAttempts-1, Warning, "delays",
				"there are %d delays for %d retries: raise max_attempts to %d or remove the rest", len(p.Delays), p.MaxAttempts-1, len(p.Delays)+1)
		},
	},
	{
		ID: "P207", Title: "custom delays end early",
		Doc:   "There are fewer delays than retries: the rest wait for max_delay, which nobody wrote there. Silent about an empty list, which P108 reports.",
		Wrong: "{max_attempts: 5, backoff: {custom: {delays: [1s, 2s]}}}",
		Right: "{max_attempts: 3, backoff: {custom: {delays: [1s, 2s]}}}",
		Reads: []Field{"max_attempts", "backoff", "delays", "max_delay"},
		check: func(p *retry.Policy) (Finding, bool) {
			n := len(p.Delays)
			return finding(p.Backoff == retry.BackoffCustom && n > 0 && p.MaxAttempts != retry.Unlimited && n < p.MaxAttempts-1, Warning, "delays",
				"there are %d delays for %d retries, so that retry %d and later wait for max_delay: write them all", n, p.MaxAttempts-1, n+1)
		},
	},
	{
		ID: "P209", Title: "degenerate strategy",
		Doc:   "The strategy makes equal delays: a base of 1, an increment of 0, or a first delay that is max_delay already.",
		Wrong: "backoff: {exponential: {base: 1}}",
		Right: "backoff: fixed",
		Reads: []Field{"max_attempts", "backoff", "initial_delay", "base", "increment", "max_delay"},
		check: func(p *retry.Policy) (Finding, bool) {
			flat := p.Backoff == retry.BackoffExponential && p.Base == 1 ||
				p.Backoff == retry.BackoffLinear && p.Increment == 0 ||
				p.Backoff != retry.BackoffFixed && p.Backoff != retry.BackoffCustom && p.InitialDelay > 0 && p.InitialDelay == p.MaxDelay
			_, delay, _ := p.Bounds(1, 0)
			f, found := finding(flat && p.MaxAttempts != 1, Warning, "backoff",
				"all delays are %s: write backoff: fixed", duration.Format(delay))
			f.Else = "initial_delay"
			return f, found
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
		Doc:   "delay_budget or max_elapsed, the smaller of the two, is smaller than the first delay d_1, so that the policy never retries: an error where it is below the least value of d_1 under jitter, a warning where only some samples fit.",
		Wrong: "{initial_delay: 1s, delay_budget: 500ms}",
		Right: "{initial_delay: 1s, delay_budget: 5s}",
		Reads: fields("max_attempts", "delay_budget", "max_elapsed"),
		check: func(p *retry.Policy) (Finding, bool) {
			limit, field := waiting(p)
			if limit <= 0 || p.MaxAttempts == 1 {
				return Finding{}, false
			}
			least, _, greatest := p.Bounds(1, 0)
			if limit < least {
				return finding(true, Error, field,
					"%s %s is smaller than the first delay %s, so that nothing is ever retried: raise %s or lower initial_delay", field, duration.Format(limit), duration.Format(least), field)
			}
			return finding(limit < greatest, Warning, field,
				"%s %s is smaller than the first delay with jitter, up to %s, so that some calls are never retried: raise %s", field, duration.Format(limit), duration.Format(greatest), field)
		},
	},
	{
		ID: "P302", Title: "attempts that the budget can never pay for",
		Doc:   "Even the least waits of all retries are longer in sum than delay_budget or max_elapsed, the smaller of the two, so that the last attempts are never made. Many attempts under a budget are an idiom, so that this is information only above ten attempts.",
		Wrong: "{max_attempts: 5, backoff: fixed, initial_delay: 1s, delay_budget: 2s}",
		Right: "{max_attempts: 5, backoff: fixed, initial_delay: 1s, delay_budget: 5s}",
		Reads: fields("max_attempts", "delay_budget", "max_elapsed"),
		check: func(p *retry.Policy) (Finding, bool) {
			limit, field := waiting(p)
			if limit <= 0 || p.MaxAttempts < 3 || p.MaxAttempts == retry.Unlimited {
				return Finding{}, false
			}
			severity := Info
			if p.MaxAttempts <= 10 {
				severity = Warning
			}
			n := waitsWithin(p, limit+1, 0)
			return finding(0 < n && n < p.MaxAttempts-1, severity, field,
				"%s %s pays for %d of %d retries at most: raise it or lower max_attempts", field, duration.Format(limit), n, p.MaxAttempts-1)
		},
	},
	{
		ID: "P303", Title: "budget never binds",
		Doc:   "Even the greatest waits of all retries fit into delay_budget, so that it has no effect but on waits that a server asks for.",
		Wrong: "{max_attempts: 3, backoff: fixed, initial_delay: 1s, delay_budget: 1m}",
		Right: "{max_attempts: 30, backoff: fixed, initial_delay: 3s, delay_budget: 1m}",
		Reads: fields("max_attempts", "delay_budget"),
		check: func(p *retry.Policy) (Finding, bool) {
			if p.DelayBudget <= 0 || p.MaxAttempts < 2 || p.MaxAttempts > mostSummed {
				return Finding{}, false
			}
			var sum time.Duration
			for k := 1; k < p.MaxAttempts && sum <= p.DelayBudget; k++ {
				_, _, greatest := p.Bounds(k, 0)
				sum += min(greatest, p.DelayBudget+1-sum)
			}
			return finding(sum <= p.DelayBudget, Info, "delay_budget",
				"all waits take %s at most, so that delay_budget %s never ends them", duration.Format(sum), duration.Format(p.DelayBudget))
		},
	},
	{
		ID: "P304", Title: "budget not below the timeout",
		Doc:   "delay_budget is as long as timeout, which ends the call first.",
		Wrong: "{max_attempts: 20, delay_budget: 1m, timeout: 30s}",
		Right: "{max_attempts: 5, delay_budget: 30s, timeout: 1m}",
		Reads: []Field{"delay_budget", "timeout"},
		check: func(p *retry.Policy) (Finding, bool) {
			return finding(p.Timeout > 0 && p.DelayBudget >= p.Timeout, Warning, "delay_budget",
				"delay_budget %s is not below timeout %s, which ends the call first: lower it or remove it", duration.Format(p.DelayBudget), duration.Format(p.Timeout))
		},
	},
	{
		ID: "P401", Title: "inner timeout exceeds outer",
		Doc:   "attempt_timeout is longer than timeout, which ends the attempt first; or the timeout of a scope is longer than that of the scope it lies within, or that of a policy longer than that of a scope around its own. A policy may have more time than its own scope, up to the hard_limit.",
		Wrong: "{attempt_timeout: 30s, timeout: 10s}",
		Right: "{attempt_timeout: 3s, timeout: 10s}",
		Reads: []Field{"attempt_timeout", "timeout"},
		check: func(p *retry.Policy) (Finding, bool) {
			return finding(p.Timeout > 0 && p.AttemptTimeout > p.Timeout, Error, "attempt_timeout",
				"attempt_timeout %s exceeds timeout %s, which ends the attempt first: lower attempt_timeout or raise timeout", duration.Format(p.AttemptTimeout), duration.Format(p.Timeout))
		},
		file: scopeOrder,
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
			n := waitsWithin(p, p.Timeout, 0)
			return finding(n < p.MaxAttempts-1, Error, "timeout",
				"only %d of %d attempts can begin within timeout %s: raise timeout, lower max_attempts, or shorten the delays", n+1, p.MaxAttempts, duration.Format(p.Timeout))
		},
	},
	{
		ID: "P405", Title: "attempts that do not fit when each times out",
		Doc:   "If every attempt takes its attempt_timeout, timeout ends the call before the last attempts begin, although timeouts are retried: the largest n with (n−1)·attempt_timeout + d_1− + … + d_(n−1)− < timeout is below max_attempts. Silent where P404 reports that they never begin.",
		Wrong: "{max_attempts: 4, attempt_timeout: 5s, timeout: 15s}",
		Right: "{max_attempts: 4, attempt_timeout: 2s, timeout: 15s}",
		Reads: fields("max_attempts", "attempt_timeout", "timeout", "retry_on", "abort_on"),
		check: func(p *retry.Policy) (Finding, bool) {
			if p.Timeout <= 0 || p.AttemptTimeout <= 0 || p.AttemptTimeout > p.Timeout || p.MaxAttempts < 2 || p.MaxAttempts == retry.Unlimited || !retried(p, retry.ClassTimeout) || ownSchedule(p, retry.ClassTimeout) {
				return Finding{}, false
			}
			if waitsWithin(p, p.Timeout, 0) < p.MaxAttempts-1 {
				return Finding{}, false
			}
			n := waitsWithin(p, p.Timeout, p.AttemptTimeout)
			return finding(n < p.MaxAttempts-1, Warning, "timeout",
				"if each attempt takes its %s, only %d of %d fit into timeout %s: raise timeout, or lower attempt_timeout or max_attempts", duration.Format(p.AttemptTimeout), n+1, p.MaxAttempts, duration.Format(p.Timeout))
		},
	},
	{
		ID: "P406", Title: "a timeout can never be retried",
		Doc:   "retry_on names timeout, but an attempt is ended only by timeout itself, when nothing is left to retry in: attempt_timeout is absent, or not below timeout. Silent where retry_on does not name it.",
		Wrong: "{timeout: 10s, retry_on: [timeout]}",
		Right: "{timeout: 10s, attempt_timeout: 2s, retry_on: [timeout]}",
		Reads: []Field{"max_attempts", "attempt_timeout", "timeout", "retry_on"},
		check: func(p *retry.Policy) (Finding, bool) {
			unlimited := p.AttemptTimeout <= 0 || p.AttemptTimeout == p.Timeout
			return finding(p.Timeout > 0 && unlimited && p.MaxAttempts != 1 && slices.Contains(p.RetryOn, retry.ClassTimeout), Warning, "retry_on",
				"timeouts are to be retried, but an attempt ends only with the call's timeout %s: write an attempt_timeout below it", duration.Format(p.Timeout))
		},
	},
	{
		ID: "P702", Title: "class both retried and aborted",
		Doc:   "A class stands in retry_on, and abort_on has it as well, or one that covers it: any, transient, or a class with all of its status codes. abort_on wins, so that it is never retried.",
		Wrong: "{retry_on: [network, timeout], abort_on: [timeout]}",
		Right: "{retry_on: [network], abort_on: [timeout]}",
		Reads: []Field{"retry_on", "abort_on"},
		check: func(p *retry.Policy) (Finding, bool) {
			for _, c := range p.RetryOn {
				if slices.Contains(p.AbortOn, c) {
					return finding(true, Error, "abort_on", "%s is both in retry_on and in abort_on: keep one", c)
				}
				for _, a := range p.AbortOn {
					if covers(a, c) {
						return finding(true, Error, "abort_on", "%s is in retry_on, but abort_on has %s, which covers it: remove one of the two", c, a)
					}
				}
			}
			return Finding{}, false
		},
		file: abortedToo,
	},
}

// mostSummed bounds the retries that are looked at one by one. Where more fit,
// the rules about sums have nothing useful to say.
const mostSummed = 10_000

// waiting returns the limit on the waits of one call, with its field: the
// smaller of delay_budget and max_elapsed, which counts the time inside of
// attempts, too, that rules about waits take to be none. 0 is no limit.
func waiting(p *retry.Policy) (limit time.Duration, field Field) {
	if p.MaxElapsed > 0 && (p.DelayBudget <= 0 || p.MaxElapsed < p.DelayBudget) {
		return p.MaxElapsed, "max_elapsed"
	}
	return p.DelayBudget, "delay_budget"
}

// waitsWithin returns how many retries can begin before end, each attempt
// taking as given and each wait as little as it can. Beyond mostSummed it
// returns that all can.
func waitsWithin(p *retry.Policy, end, attempt time.Duration) int {
	var passed time.Duration
	for k := 1; k < p.MaxAttempts && k <= mostSummed; k++ {
		least, _, _ := p.Bounds(k, 0)
		for _, d := range [...]time.Duration{attempt, least} {
			if d >= end-passed {
				return k - 1
			}
			passed += d
		}
	}
	return max(p.MaxAttempts-1, 0)
}

// retried reports whether a built-in class is retried.
func retried(p *retry.Policy, class retry.Class) bool {
	in := func(list []retry.Class) bool {
		return slices.ContainsFunc(list, func(c retry.Class) bool { return c == class || c == retry.ClassTransient || c == retry.ClassAny })
	}
	return (len(p.RetryOn) == 0 || in(p.RetryOn)) && !in(p.AbortOn)
}

// ownSchedule reports whether a class has, or may have, another schedule.
func ownSchedule(p *retry.Policy, class retry.Class) bool {
	return slices.ContainsFunc(p.PerError, func(o retry.Override) bool { return covers(o.Class, class) })
}

// longest returns the longest delay of any retry: custom delays need not grow,
// and others are looked at as far as they matter.
func longest(p *retry.Policy, delay func(k int) time.Duration) (d time.Duration) {
	last := 100
	if p.Backoff == retry.BackoffCustom {
		last = len(p.Delays) + 1
	}
	last = min(last, p.MaxAttempts-1)
	for k := 1; k <= max(last, 1); k++ {
		d = max(d, delay(k))
	}
	return d
}

func finding(found bool, severity Severity, field Field, format string, args ...any) (Finding, bool) {
	if !found {
		return Finding{}, false
	}
	return Finding{Severity: severity, Field: field, Text: fmt.Sprintf(format, args...)}, true
}
