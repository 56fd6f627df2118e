package rules

import (
	"fmt"
	"slices"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// The fields by which the schedule of a policy is known.
var schedule = []Field{"backoff", "initial_delay", "base", "increment", "delays", "max_delay", "jitter",
	"jitter_factor"}

func fields(list ...Field) []Field { return append(list, schedule...) }

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
		return slices.ContainsFunc(list, func(c retry.Class) bool { return covers(c, class) })
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
