package rules

import (
	"fmt"
	"slices"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// schedule lists the fields that determine the delays of a policy.
var schedule = []Field{"backoff", "initial_delay", "base", "increment", "delays", "max_delay", "jitter",
	"jitter_factor"}

// fields returns the fields of list and those of schedule.
func fields(list ...Field) []Field { return append(list, schedule...) }

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

// waitsWithin returns how many retries can begin before end, if each attempt takes
// the given time and each wait is the shortest possible. If more than maxSummed
// can, it returns the number of all retries.
func waitsWithin(p *retry.Policy, end, attempt time.Duration) int {
	var passed time.Duration
	for k := 1; k < p.MaxAttempts && k <= maxSummed; k++ {
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
		return slices.ContainsFunc(list, func(c retry.Class) bool { return covers(c, class) })
	}
	return (len(p.RetryOn) == 0 || in(p.RetryOn)) && !in(p.AbortOn)
}

// ownSchedule reports whether a class has, or may have, another schedule.
func ownSchedule(p *retry.Policy, class retry.Class) bool {
	return slices.ContainsFunc(p.PerError, func(o retry.Override) bool { return covers(o.Class, class) })
}

// longest returns the longest delay of any retry. It checks every custom delay,
// since these need not grow, and at most 100 delays of other strategies.
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

// finding returns a Finding without Rule and Policy, or false if found is false.
func finding(found bool, severity Severity, field Field, format string, args ...any) (Finding, bool) {
	if !found {
		return Finding{}, false
	}
	return Finding{Severity: severity, Field: field, Text: fmt.Sprintf(format, args...)}, true
}
