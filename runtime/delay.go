package retry

import (
	"math"
	"math/bits"
	"slices"
	"time"
)

// forever is the greatest Duration, about 292 years: no cap.
const forever = time.Duration(math.MaxInt64)

// delay returns the wait before retry k (k = 1, 2, …; below 1 counts as 1). It is
// a pure function of the schedule, k, the previous wait and u, a sample from
// [0, 1). Only [JitterDecorrelated] reads previous; a value below the initial
// delay, as before the first retry, counts as the initial delay. The result is
// never negative and never above MaxDelay.
//
// [Schedule.Bounds] returns the bounds of delay. [Policy.Bounds] adds the wait of
// rate limits; rules about schedules and retrygen explain use it.
func (s *Schedule) delay(k int, previous time.Duration, u float64) time.Duration {
	if s.Jitter == JitterNone {
		return s.baseDelay(k)
	}
	low, high := s.band(k, previous)
	// high−low may round up to 2^63 as a float64; compare before converting.
	step := u * float64(high-low)
	if !(step < float64(high-low)) {
		return high
	}
	return low + time.Duration(max(step, 0))
}

// Bounds returns the least, the base and the greatest wait before retry k. The first
// retry is 1, and a lower k counts as 1. The base is the delay of the strategy without
// jitter, capped at MaxDelay. least and greatest are the bounds with jitter. previous is
// the greatest wait before retry k−1, which matters only for [JitterDecorrelated]. If
// previous is zero, Bounds computes it from s.
func (s *Schedule) Bounds(k int, previous time.Duration) (least, base, greatest time.Duration) {
	if s.Jitter == JitterDecorrelated && previous <= 0 {
		for range min(max(k, 1)-1, 64) {
			_, previous = s.band(k, previous)
		}
	}
	least, greatest = s.band(k, previous)
	return least, s.baseDelay(k), greatest
}

// Bounds returns the least, the base and the greatest wait before retry k of a call whose
// errors ask for no wait. k and previous have the same meaning as for [Schedule.Bounds],
// which returns only delays. After a rate limit, the wait is at least the Default of
// [RetryAfter]. Default therefore raises the greatest wait if rate limits are among the
// errors that p retries by its own schedule. If they are the only such errors, it raises
// all three results: see [Policy.RateLimits].
func (p *Policy) Bounds(k int, previous time.Duration) (least, base, greatest time.Duration) {
	least, base, greatest = p.Schedule.Bounds(k, previous)
	if p.RetryAfter.Default <= 0 {
		return least, base, greatest
	}
	some, all := p.RateLimits()
	wait := p.RetryAfter.granted(p.RetryAfter.wait(&facts{}, true))
	if all {
		least, base = max(least, wait), max(base, wait)
	}
	if some {
		greatest = max(greatest, wait)
	}
	return least, base, greatest
}

// RateLimits reports whether some, and whether all, of the errors that p retries by its
// own schedule are of class [ClassRateLimit]. An error of a class defined in Classes may
// also be a rate limit.
func (p *Policy) RateLimits() (some, all bool) {
	covers := func(c Class) bool { return c == ClassRateLimit || c == ClassTransient || c == ClassAny }
	if slices.ContainsFunc(p.AbortOn, covers) ||
		slices.ContainsFunc(p.PerError, func(o Override) bool { return covers(o.Class) }) {
		return false, false
	}
	some, all = len(p.RetryOn) == 0, len(p.RetryOn) > 0
	for _, c := range p.RetryOn {
		all = all && c == ClassRateLimit
		some = some || !slices.Contains(withoutRateLimits[:], c)
	}
	return some, all
}

// withoutRateLimits are the built-in classes that contain no rate limits.
var withoutRateLimits = [...]Class{
	ClassNetwork, ClassTimeout, ClassServerError, ClassCanceled, ClassUnknown,
	ClassBreakerOpen, ClassLimited, ClassRateLimited, ClassThrottled,
}

// baseDelay returns the wait before retry k without jitter.
func (s *Schedule) baseDelay(k int) time.Duration {
	k = max(k, 1)
	d0, limit := s.initialDelay(), s.maxDelay()
	var d time.Duration
	switch s.Backoff {
	case BackoffFixed:
		d = d0
	case BackoffLinear:
		d = addSaturated(d0, mulSaturated(max(s.Increment, 0), uint64(k-1)))
	case BackoffExponential:
		d = d0
		if k > 1 && d0 > 0 {
			d = fromFloat(float64(d0) * math.Pow(s.base(), float64(k-1)))
		}
	case BackoffFibonacci:
		d = mulSaturated(d0, fibonacci(k))
	case BackoffCustom:
		d = limit
		if k <= len(s.Delays) {
			d = max(s.Delays[k-1], 0)
		}
	default:
		d = limit
	}
	return min(d, limit)
}

// band returns the closed interval from which the wait before retry k is drawn.
func (s *Schedule) band(k int, previous time.Duration) (low, high time.Duration) {
	limit := s.maxDelay()
	if s.Jitter == JitterDecorrelated {
		d0 := s.initialDelay()
		return min(d0, limit), min(mulSaturated(max(previous, d0), 3), limit)
	}
	d := s.baseDelay(k)
	switch s.Jitter {
	case JitterFull:
		return 0, d
	case JitterEqual:
		return d / 2, d
	case JitterProportional:
		spread := fromFloat(float64(d) * s.jitterFactor())
		return d - min(spread, d), min(addSaturated(d, spread), limit)
	case JitterAdditive:
		return d, min(addSaturated(d, fromFloat(float64(d)*s.jitterFactor())), limit)
	}
	return d, d
}

// fromFloat rounds nanoseconds to the nearest Duration, saturating. NaN, such as
// infinity times zero, and negative numbers give zero.
func fromFloat(ns float64) time.Duration {
	switch {
	case ns >= math.MaxInt64:
		return forever
	case ns > 0:
		return time.Duration(math.Round(ns))
	}
	return 0
}

// addSaturated adds two Durations, which must not be negative, saturating.
func addSaturated(a, b time.Duration) time.Duration {
	if a > forever-b {
		return forever
	}
	return a + b
}

// mulSaturated multiplies a Duration, which must not be negative, saturating.
func mulSaturated(d time.Duration, n uint64) time.Duration {
	high, low := bits.Mul64(uint64(d), n)
	if high != 0 || low > math.MaxInt64 {
		return forever
	}
	return time.Duration(low)
}

// fibonacci returns F(n) of 1, 1, 2, 3, 5, 8, …, saturating at 2^63−1.
func fibonacci(n int) uint64 {
	a, b := uint64(0), uint64(1)
	for range n {
		if b > math.MaxInt64 {
			return math.MaxInt64
		}
		a, b = b, a+b
	}
	return a
}
