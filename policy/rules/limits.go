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
		ID: "P300", Title: "unlimited retries", Severity: Error,
		Reports: "`max_attempts` is `unlimited`, and no `delay_budget`, `max_elapsed` or `timeout` ends the " +
			"call; a warning if a breaker ends it unless calls of other policies keep the breaker closed.",
		Why: "A call that can never succeed never returns. Its goroutine, connection and memory are kept until " +
			"the process restarts, and each new request adds another.",
		Wrong: "policies:\n  read: {max_attempts: unlimited}",
		Right: "policies:\n  read: {max_attempts: unlimited, delay_budget: 5m}",
		NotReported: []string{
			"Unlimited attempts with a `delay_budget`, a `max_elapsed` or a `timeout`, also one from a scope.",
			"A breaker that no other policy shares, and that counts all errors that the policy retries: it opens and ends " +
				"the call. This is information, since other calls of the policy may keep it closed.",
		},
		Fix:     "Write a number for `max_attempts`, or add one of the three limits.",
		Related: []string{"P302", "P501", "RL101", "RL201"},
		Reads:   []Field{"max_attempts", "delay_budget", "max_elapsed", "timeout", "breaker"},
		check:   endless,
		file:    endlessWithBreaker,
	},
	{
		ID: "P301", Title: "limit on waiting below the first delay", Severity: Error,
		Reports: "`delay_budget` or `max_elapsed`, whichever is smaller, is below the first delay; a warning " +
			"if only jitter can make the delay too long.",
		Why: "Nothing is ever retried, although the file says so. The policy fails exactly when it is needed: " +
			"on the first transient error.",
		Wrong: "policies:\n  read: {initial_delay: 1s, delay_budget: 500ms}",
		Right: "policies:\n  read: {initial_delay: 1s, delay_budget: 5s}",
		NotReported: []string{
			"`max_attempts: 1`, which makes no retry.",
			"A limit that equals the greatest first delay.",
		},
		Fix:     "Raise the limit or lower `initial_delay`.",
		Related: []string{"P302", "P304", "P404"},
		Reads:   fields("max_attempts", "delay_budget", "max_elapsed"),
		check: func(p *retry.Policy) (Finding, bool) {
			limit, field := waitLimit(p)
			if limit <= 0 || p.MaxAttempts == 1 || waitsForever(p) {
				return Finding{}, false
			}
			least, _, greatest := p.Bounds(1, 0)
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
		ID: "P302", Title: "more attempts than the limit on waiting allows", Severity: Warning,
		Reports: "Even the shortest waits of all retries exceed `delay_budget` or `max_elapsed`, so the last " +
			"attempts are never made; above ten attempts it is information.",
		Why:   "A policy of five attempts makes three. Error rates are computed with retries that do not happen.",
		Wrong: "policies:\n  read: {max_attempts: 5, backoff: fixed, initial_delay: 1s, delay_budget: 2s}",
		Right: "policies:\n  read: {max_attempts: 5, backoff: fixed, initial_delay: 1s, delay_budget: 5s}",
		NotReported: []string{
			"More than ten attempts, by default: a large number under a budget is a common idiom.",
			"Limits below the first delay: P301 reports them.",
			"`max_attempts: unlimited`, which is meant to end with the budget.",
			"Custom delays that are too few, without a cap: P207 reports them.",
		},
		Fix:     "Raise the limit or lower `max_attempts`.",
		Related: []string{"P301", "P303", "P404"},
		Reads:   fields("max_attempts", "delay_budget", "max_elapsed"),
		check: func(p *retry.Policy) (Finding, bool) {
			limit, field := waitLimit(p)
			if limit <= 0 || p.MaxAttempts < 3 || p.MaxAttempts == retry.Unlimited || waitsForever(p) {
				return Finding{}, false
			}
			severity := Warning
			if p.MaxAttempts >= manyAttempts {
				severity = Info
			}
			n := retriesWithin(p, limit+1, 0, leastWait)
			return finding(0 < n && n < p.MaxAttempts-1, severity, field,
				"`%s` %s allows %d of %d retries at most: raise it | lower `max_attempts`", field, duration.Format(limit), n,
				p.MaxAttempts-1)
		},
	},
	{
		ID: "P303", Title: "delay_budget without effect", Severity: Info,
		Reports: "Even the longest waits of all retries fit into `delay_budget`, so it ends no call, unless a " +
			"server asks for a longer wait.",
		Why: "The setting looks like a limit and is none. Somebody who raises `max_attempts` later relies on " +
			"it.",
		Wrong: "policies:\n  read: {max_attempts: 3, backoff: fixed, initial_delay: 1s, delay_budget: 1m}",
		Right: "policies:\n  read: {max_attempts: 30, backoff: fixed, initial_delay: 3s, delay_budget: 1m}",
		NotReported: []string{
			"Schedules with more than 10,000 attempts.",
			"`max_elapsed`, which includes the time of the attempts.",
		},
		Fix:     "Lower `delay_budget`, or remove it.",
		Related: []string{"P302", "P304"},
		Reads:   fields("max_attempts", "delay_budget"),
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
		ID: "P304", Title: "delay_budget not below timeout", Severity: Warning,
		Reports: "`delay_budget` is as long as `timeout`, or longer, and `timeout` ends the call first.",
		Why: "The budget never ends a call. The call ends with a timeout instead of the last error, which " +
			"hides the cause.",
		Wrong: "policies:\n  read: {max_attempts: 20, delay_budget: 1m, timeout: 30s}",
		Right: "policies:\n  read: {max_attempts: 5, delay_budget: 30s, timeout: 1m}",
		NotReported: []string{
			"Policies without a `timeout`.",
		},
		Fix:     "Lower `delay_budget` below `timeout`, or remove it.",
		Related: []string{"P301", "P303", "P401"},
		Reads:   []Field{"delay_budget", "timeout"},
		check: func(p *retry.Policy) (Finding, bool) {
			return finding(p.Timeout > 0 && p.DelayBudget >= p.Timeout, Warning, "delay_budget",
				"`delay_budget` %s is not below `timeout` %s, which ends the call first: lower it | remove it",
				duration.Format(p.DelayBudget), duration.Format(p.Timeout))
		},
	},
	{
		ID: "P401", Title: "inner timeout longer than the outer one", Severity: Error,
		Reports: "`attempt_timeout` is longer than `timeout`, or a scope or policy has a longer timeout, or " +
			"none, inside of a scope that ends earlier.",
		Why: "The inner limit never takes effect. The first slow attempt uses up the whole call, and nothing " +
			"is retried.",
		Wrong: "policies:\n  read: {attempt_timeout: 30s, timeout: 10s}",
		Right: "policies:\n  read: {attempt_timeout: 3s, timeout: 10s}",
		NotReported: []string{
			"Equal timeouts of a scope and the one around it.",
			"A policy with more time than its own scope, up to the scope's `hard_limit`: P403 checks that.",
		},
		Fix:     "Shorten the inner timeout or raise the outer one.",
		Related: []string{"P402", "P403", "P405", "RL301"},
		Reads:   []Field{"attempt_timeout", "timeout"},
		check: func(p *retry.Policy) (Finding, bool) {
			return finding(p.Timeout > 0 && p.AttemptTimeout > p.Timeout, Error, "attempt_timeout",
				"`attempt_timeout` %s exceeds `timeout` %s, which ends the attempt first: lower `attempt_timeout` | "+
					"raise `timeout`",
				duration.Format(p.AttemptTimeout), duration.Format(p.Timeout))
		},
		file: scopeOrder,
	},
	{
		ID: "P404", Title: "attempts that can never begin", Severity: Error,
		Reports: "Even the shortest waits before the last attempts are as long as `timeout`, so these attempts never " +
			"begin; a warning if only jitter can make the waits too long.",
		Why: "The policy makes fewer attempts than it says, on every call. If only the first one fits, nothing " +
			"is retried at all.",
		Wrong: "policies:\n  read: {max_attempts: 5, backoff: fixed, initial_delay: 5s, timeout: 10s}",
		Right: "policies:\n  read: {max_attempts: 5, backoff: fixed, initial_delay: 1s, timeout: 10s}",
		NotReported: []string{
			"More than ten attempts, by default, if at least one retry can begin: as many attempts as fit are meant, and " +
				"it is information.",
			"The time that attempts take: only waits are added up here, P405 adds the attempts.",
			"`max_attempts: unlimited`, which is meant to end with the timeout.",
			"Custom delays that are too few, without a cap: P207 reports them.",
		},
		Fix:     "Raise `timeout`, lower `max_attempts`, or shorten the delays.",
		Related: []string{"P207", "P302", "P405"},
		Reads:   fields("max_attempts", "timeout"),
		check:   neverBegin,
	},
	{
		ID: "P405", Title: "attempts that do not fit if each times out", Severity: Warning,
		Reports: "If every attempt takes its whole `attempt_timeout`, `timeout` ends the call before the last " +
			"attempts begin.",
		Why: "A service that hangs gets fewer attempts than planned. The caller waits for the whole `timeout` " +
			"and sees a timeout instead of the last error.",
		Wrong: "policies:\n  read: {max_attempts: 4, attempt_timeout: 5s, timeout: 15s}",
		Right: "policies:\n  read: {max_attempts: 4, attempt_timeout: 2s, timeout: 15s}",
		NotReported: []string{
			"Policies that retry neither `timeout` nor a class with 504 or DEADLINE_EXCEEDED, or that give it a schedule " +
				"of its own under `per_error`.",
			"More than ten attempts, by default: as many attempts as fit are meant, and it is information.",
			"Attempts that can never begin, however fast the others are: P404 reports them.",
			"`max_attempts: unlimited`.",
		},
		Fix:     "Raise `timeout`, or lower `attempt_timeout` or `max_attempts`.",
		Related: []string{"P404", "P406", "RL302"},
		Reads:   fields("max_attempts", "attempt_timeout", "timeout", "retry_on", "abort_on"),
		check: func(p *retry.Policy) (Finding, bool) {
			if !retried(p, retry.ClassTimeout) || ownSchedule(p, retry.ClassTimeout) {
				return Finding{}, false
			}
			return doNotFit(p)
		},
		file: doNotFitByCode,
	},
	{
		ID: "P406", Title: "timeout retried without attempt_timeout", Severity: Warning,
		Reports: "`retry_on` names `timeout`, or a class of only 504 and DEADLINE_EXCEEDED (information, since a server " +
			"may send these in time), but only `timeout` itself can end an attempt, because `attempt_timeout` is missing or " +
			"equals it.",
		Why: "When an attempt times out the call has ended as well. The retry that the file asks for never " +
			"happens.",
		Wrong: "policies:\n  read: {timeout: 10s, retry_on: [timeout]}",
		Right: "policies:\n  read: {timeout: 10s, attempt_timeout: 2s, retry_on: [timeout]}",
		NotReported: []string{
			"Policies whose `retry_on` names timeouts only among other errors, such as `transient` or `http: [500-599]`, " +
				"or is the default.",
			"`max_attempts: 1`.",
		},
		Fix:     "Write an `attempt_timeout` well below `timeout`.",
		Related: []string{"P401", "P405", "P407"},
		Reads:   []Field{"max_attempts", "attempt_timeout", "timeout", "retry_on"},
		check: func(p *retry.Policy) (Finding, bool) {
			if !slices.Contains(p.RetryOn, retry.ClassTimeout) {
				return Finding{}, false
			}
			return noTimeToRetry(p, retry.ClassTimeout)
		},
		file: noTimeToRetryByCode,
	},
	{
		ID: "P702", Title: "class both retried and aborted", Severity: Error,
		Reports: "A class is in `retry_on`, and `abort_on` has it as well, or has a class that covers it.",
		Why:     "`abort_on` wins. The class is never retried, and whoever reads `retry_on` expects the opposite.",
		Wrong:   "policies:\n  read: {retry_on: [network, timeout], abort_on: [timeout]}",
		Right:   "policies:\n  read: {retry_on: [network], abort_on: [timeout]}",
		NotReported: []string{
			"Classes that overlap only in part, such as one with some of the statuses of the other.",
			"`retry_on: [transient]` with one of its classes in `abort_on`: that is how an exception is " +
				"written.",
		},
		Fix:     "Remove one of the two.",
		Related: []string{"P701", "P703"},
		Reads:   []Field{"retry_on", "abort_on"},
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
