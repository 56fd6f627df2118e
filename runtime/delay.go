package retry

import (
	"math"
	"math/bits"
	"time"
)

// forever is the greatest Duration, about 292 years: no cap.
const forever = time.Duration(math.MaxInt64)

// Delay returns the wait before retry k (k = 1, 2, …; below 1 counts as 1): a
// pure function of the policy, k, the previous wait and u, a sample from
// [0, 1). Only [Decorrelated] jitter reads previous; before the first retry it
// is the initial delay, and anything less counts as that. The result is never
// negative and never above MaxDelay.
//
// Live calls, the rules about schedules and retrygen explain all use it.
func (p *Policy) Delay(k int, previous time.Duration, u float64) time.Duration {
	if p.Jitter == NoJitter {
		return p.BaseDelay(k)
	}
	low, high := p.band(k, previous)
	// high−low may round up to 2^63 as a float64; compare before converting.
	step := u * float64(high-low)
	if !(step < float64(high-low)) {
		return high
	}
	return low + time.Duration(max(step, 0))
}

// DelayBounds returns the least and the greatest wait that jitter makes of
// [Policy.BaseDelay] before retry k.
func (p *Policy) DelayBounds(k int) (least, greatest time.Duration) {
	previous := p.initialDelay()
	if p.Jitter == Decorrelated {
		for range min(max(k, 1)-1, 64) {
			_, previous = p.band(k, previous)
		}
	}
	return p.band(k, previous)
}

// BaseDelay returns the wait before retry k without jitter: the strategy's
// delay, capped at MaxDelay.
func (p *Policy) BaseDelay(k int) time.Duration {
	k = max(k, 1)
	d0, limit := p.initialDelay(), p.maxDelay()
	var d time.Duration
	switch p.Backoff {
	case Fixed:
		d = d0
	case Linear:
		d = addSaturated(d0, mulSaturated(max(p.Increment, 0), uint64(k-1)))
	case Exponential:
		d = d0
		if k > 1 && d0 > 0 {
			d = fromFloat(float64(d0) * math.Pow(p.base(), float64(k-1)))
		}
	case Fibonacci:
		d = mulSaturated(d0, fibonacci(k))
	case Custom:
		d = limit
		if k <= len(p.Delays) {
			d = max(p.Delays[k-1], 0)
		}
	default:
		d = limit
	}
	return min(d, limit)
}

// band returns the closed interval that the wait before retry k is drawn from.
func (p *Policy) band(k int, previous time.Duration) (low, high time.Duration) {
	limit := p.maxDelay()
	if p.Jitter == Decorrelated {
		d0 := p.initialDelay()
		return min(d0, limit), min(mulSaturated(max(previous, d0), 3), limit)
	}
	d := p.BaseDelay(k)
	switch p.Jitter {
	case Full:
		return 0, d
	case Equal:
		return d / 2, d
	case Proportional:
		spread := fromFloat(float64(d) * p.jitterFactor())
		return d - min(spread, d), min(addSaturated(d, spread), limit)
	case Additive:
		return d, min(addSaturated(d, fromFloat(float64(d)*p.jitterFactor())), limit)
	}
	return d, d
}

// fromFloat rounds nanoseconds to the nearest Duration, saturating. A NaN, as
// a factor of infinity times zero makes, is no wait at all.
func fromFloat(ns float64) time.Duration {
	switch {
	case ns >= math.MaxInt64:
		return forever
	case ns > 0:
		return time.Duration(math.Round(ns))
	}
	return 0
}

// addSaturated adds two Durations that are not negative.
func addSaturated(a, b time.Duration) time.Duration {
	if a > forever-b {
		return forever
	}
	return a + b
}

// mulSaturated multiplies a Duration that is not negative.
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
