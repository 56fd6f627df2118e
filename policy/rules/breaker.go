package rules

import (
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// opensAfter returns the least number of failures in a row that opens a
// breaker, if nothing was counted before them, and the setting that says so.
func opensAfter(b *retry.BreakerPolicy) (n int, field Field) {
	if b.FailureRate > 0 && (b.Failures == 0 || b.MinCalls < b.Failures) {
		return b.MinCalls, "min_calls"
	}
	return b.Failures, "failures"
}

// latches is P502.
func latches(f *File, report report) {
	for _, b := range f.Breakers {
		if first, _ := opensAfter(&b); b.EscalateAfter > first { // else P503
			report(Info, Place{"breakers", b.Name, "escalate_after"},
				"after %d failures in a row breaker %s refuses every call until a program calls Reset: see to it that one does, or remove escalate_after",
				b.EscalateAfter, b.Name)
		}
	}
}

// rateComesLate is P504.
func rateComesLate(f *File, report report) {
	for _, b := range f.Breakers {
		if b.FailureRate > 0 && b.Failures > 0 && greatestRate(b.MinCalls, b.Failures) < b.FailureRate {
			report(Warning, Place{"breakers", b.Name, "failure_rate"},
				"failure_rate %.4g of %d or more calls is never reached before breaker %s opens after failures %d in a row: raise failures, or lower failure_rate",
				b.FailureRate, b.MinCalls, b.Name, b.Failures)
		}
	}
}

// greatestRate returns the greatest share of failures among any number of
// calls from least on, without as many failures in a row as row.
func greatestRate(least, row int) (rate float64) {
	// Of n calls, every row-th at least is a success. The share is greatest one
	// call before the next success is due, and less each time.
	for n := least; n < least+row; n++ {
		rate = max(rate, float64(n-n/row)/float64(n))
	}
	return rate
}

// neverSlow is P506.
func neverSlow(f *File, report report) {
	for _, b := range f.Breakers {
		if b.SlowCall == 0 {
			continue
		}
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
				"no call is slower than slow_call %s, since every attempt that shares breaker %s ends after %s at most: lower slow_call",
				short(b.SlowCall), b.Name, short(longest))
		}
	}
}

// longestAttempt returns the limit on the time of one attempt, or 0 where there
// is none.
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
