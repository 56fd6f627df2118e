package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retrygen/retrygen/policy/duration"
	retry "github.com/retrygen/retrygen/runtime"
)

// schedule lists the fields that determine the delays of a policy.
var schedule = []Field{"backoff", "initial_delay", "base", "increment", "delays", "max_delay", "jitter",
	"jitter_factor"}

// fields returns the fields of list and the fields of schedule.
func fields(list ...Field) []Field { return append(list, schedule...) }

// waitFields returns the fields of list and those that determine the waits of a
// policy: the fields of schedule, and the wait of rate limits.
func waitFields(list ...Field) []Field { return fields(append(list, "retry_after")...) }

// maxSummed is the most retries whose waits the rules add up. Longer schedules are
// not checked by the rules about sums.
const maxSummed = 10_000

// waitLimit returns the limit on the sum of the waits of one call, with its field:
// the smaller of delay_budget and max_elapsed. max_elapsed includes the time of
// attempts, which rules about waits assume to be zero. A limit of 0 means none.
func waitLimit(p *retry.Policy) (limit time.Duration, field Field) {
	if p.MaxElapsed > 0 && (p.DelayBudget <= 0 || p.MaxElapsed < p.DelayBudget) {
		return p.MaxElapsed, "max_elapsed"
	}
	return p.DelayBudget, "delay_budget"
}

// A bound is the shortest or the longest possible wait before retry k. A delay is
// the wait of an error that is no rate limit, or that asks for no longer one.
type bound func(p *retry.Policy, k int) time.Duration

func leastDelay(p *retry.Policy, k int) time.Duration {
	least, _, _ := p.Schedule.Bounds(k, 0)
	return least
}

func greatestDelay(p *retry.Policy, k int) time.Duration {
	_, _, greatest := p.Schedule.Bounds(k, 0)
	return greatest
}

func leastWait(p *retry.Policy, k int) time.Duration { least, _, _ := p.Bounds(k, 0); return least }

func greatestWait(p *retry.Policy, k int) time.Duration {
	_, _, greatest := p.Bounds(k, 0)
	return greatest
}

// unasked begins a message about waits that include the default of retry_after.
func unasked(p *retry.Policy) string {
	return "where rate limits ask for no wait (`retry_after` default " + duration.Format(p.RetryAfter.Default) + "), "
}

// retriesWithin returns how many retries can begin before end, if each attempt
// takes the given time and wait returns the waits. If more than maxSummed can,
// it returns the number of all retries.
func retriesWithin(p *retry.Policy, end, attempt time.Duration, wait bound) int {
	var passed time.Duration
	for k := 1; k < p.MaxAttempts && k <= maxSummed; k++ {
		for _, d := range [...]time.Duration{attempt, wait(p, k)} {
			if d >= end-passed {
				return k - 1
			}
			passed += d
		}
	}
	return max(p.MaxAttempts-1, 0)
}

// manyAttempts is the least max_attempts that means as many attempts as a limit on
// time allows, rather than a number of attempts that somebody counts on.
const manyAttempts = 11

// waitsForever reports whether some wait has no length: a retry has no item in a
// custom list, and waits for a max_delay that is none.
func waitsForever(p *retry.Policy) bool {
	return p.Backoff == retry.BackoffCustom && p.MaxDelay < 0 && len(p.Delays) < p.MaxAttempts-1
}

// longestWait returns the longest delay before jitter that the limits of the policy
// allow, with the number of the retry after it, from 1. last is set if no retry
// follows. If nothing ends the waits, it is the first one above an hour.
func longestWait(p *retry.Policy) (number int, longest time.Duration, last bool) {
	limit, _ := waitLimit(p)
	if p.Timeout > 0 && (limit <= 0 || p.Timeout <= limit) {
		limit = p.Timeout - 1 // a wait that ends at the timeout is not made
	}
	endless := p.MaxAttempts == retry.Unlimited && limit <= 0
	const forever = 1<<63 - 1
	var passed time.Duration
	k := 1
	for ; k < p.MaxAttempts && k <= maxSummed && longest < forever; k++ {
		_, next, _ := p.Schedule.Bounds(k, 0)
		if limit > 0 && next > limit-passed || p.Backoff == retry.BackoffCustom && k > len(p.Delays) {
			break
		}
		passed += min(next, forever-passed)
		if next > longest {
			number, longest = k, next
		}
		if endless && next > time.Hour {
			return number, longest, false
		}
	}
	if k > maxSummed && limit <= 0 && !endless && p.Backoff != retry.BackoffCustom { // such delays never shrink
		_, longest, _ = p.Schedule.Bounds(p.MaxAttempts-1, 0)
		return p.MaxAttempts - 1, longest, true
	}
	return number, longest, number == k-1
}

// retried reports whether a built-in class is retried.
func retried(p *retry.Policy, class retry.Class) bool {
	in := func(list []retry.Class) bool {
		return slices.ContainsFunc(list, func(c retry.Class) bool { return covers(c, class) })
	}
	return (len(p.RetryOn) == 0 || in(p.RetryOn)) && !in(p.AbortOn)
}

// ownSchedule reports whether a class has, or may have, another schedule.
func ownSchedule(p *retry.Policy, class retry.Class) bool {
	return slices.ContainsFunc(p.PerError, func(o retry.Override) bool { return covers(o.Class, class) })
}

// longest returns the longest possible wait of any retry after an error that is no
// rate limit, unless all are. It checks every custom delay, since these need not
// grow, and at most 100 delays of other strategies.
func longest(p *retry.Policy) (d time.Duration) {
	greatest := greatestDelay
	if _, all := p.RateLimits(); all {
		greatest = greatestWait
	}
	last := 100
	if p.Backoff == retry.BackoffCustom {
		last = len(p.Delays) + 1
	}
	last = min(last, p.MaxAttempts-1)
	for k := 1; k <= max(last, 1); k++ {
		d = max(d, greatest(p, k))
	}
	return d
}

// long formats a duration above an hour. From two days on it has one decimal, as
// 30.3 days.
func long(d time.Duration) string {
	const day, year = 24 * time.Hour, 8766 * time.Hour
	size, unit := day, "days"
	switch {
	case d < 2*day:
		return short(d.Round(time.Second))
	case d >= 2*year:
		size, unit = year, "years"
	}
	number := strconv.FormatFloat(float64(d)/float64(size), 'f', 1, 64)
	return strings.TrimSuffix(number, ".0") + " " + unit
}

// finding returns a Finding without Rule and Policy, or false if found is false.
func finding(found bool, severity Severity, field Field, format string, args ...any) (Finding, bool) {
	if !found {
		return Finding{}, false
	}
	return Finding{Severity: severity, Field: field, message: fmt.Sprintf(format, args...)}, true
}
