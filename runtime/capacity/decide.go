package capacity

import (
	"math"
	"time"
)

// The constants of adaptive limits. A simulation of five disturbances under 1, 4 and
// 16 independent limiters chose them: see TestSimulation.
const (
	window        = 250 * time.Millisecond
	windowCalls   = 10   // a window with fewer attempts goes on
	decrease      = 0.9  // factor after a window that shows overload
	increase      = 0.2  // times the square root of the limit, after any other window
	tolerateShare = 0.02 // of attempts that show overload
)

// A Window holds the measurements that determine an adaptive limit. It covers at least
// 250ms and at least 10 attempts that ended in that time.
type Window struct {
	Calls    int           // attempts that ended
	Overload int           // attempts with the sample Overload
	Mean     time.Duration // mean duration of the other attempts
	InUse    int           // the largest number of permits in use at the same time
}

// IsOver reports whether the window is long enough and contains enough attempts to decide
// on the limit. length is the time for which the window has lasted.
func (w *Window) IsOver(length time.Duration) bool { return length >= window && w.Calls >= windowCalls }

// Next returns the new limit after a window if the policy has a Target. The limit falls
// to nine tenths of the permits that were in use if the mean duration exceeds the Target
// or more than 2 % of the attempts show overload. It rises by 0.2·√limit if neither is
// the case and at least half of the permits were in use.
//
// Next does not compare durations with earlier durations. So even a long overload does
// not become the normal state, and a service that becomes slower but stays below the
// Target still receives all its calls.
func (p LimiterPolicy) Next(limit float64, w Window) float64 {
	p = p.Effective()
	switch {
	case w.Mean > p.Target, float64(w.Overload) > tolerateShare*float64(w.Calls):
		limit = min(limit, float64(w.InUse)) * decrease
	case 2*float64(w.InUse) >= limit:
		limit += increase * math.Sqrt(limit)
	}
	return min(max(limit, float64(p.Min)), float64(p.Max))
}

// Take takes a slot of the rate if one is free at now, and returns the new state.
// Otherwise it returns the time until a slot is free.
//
// The state is a single time, called the "theoretical arrival time" in the Generic Cell
// Rate Algorithm. It is the time at which all taken slots would have been used up if each
// had waited for its turn. The zero time means that no slot is taken. If a state is more
// than Burst slots in the future, it comes from a different clock, and Take reduces it to
// that limit.
func (p RatePolicy) Take(state, now time.Time) (next time.Time, wait time.Duration) {
	g := p.Effective().spacing()
	tat, wait := g.take(int64(max(state.Sub(now), -1)), 0)
	return now.Add(time.Duration(tat)), wait
}

// Reserve takes the next slot of a rate that several processes share. It returns the new
// state and how long the attempt has to wait for its slot. If the wait is longer than
// MaxWait, the slot is not taken and the state does not change. A state that is later
// than MaxWait allows comes from a different clock. Reserve always reduces it to the
// state of a full queue.
func (p RatePolicy) Reserve(state, now time.Time) (next time.Time, wait time.Duration, ok bool) {
	p = p.Effective()
	g := p.spacing()
	longest := min(max(p.MaxWait, 0), math.MaxInt64/2) // so that no sum overflows
	tat := max(state.Sub(now), 0)
	if most := time.Duration(g.burst) + longest; tat > most {
		tat, state = most, now.Add(most)
	}
	wait = max(tat+time.Duration(g.interval-g.burst), 0)
	if wait > longest {
		return state, wait, false
	}
	return now.Add(tat + time.Duration(g.interval)), wait, true
}

// Interval returns the time between two slots, rounded up.
func (p RatePolicy) Interval() time.Duration { return time.Duration(p.Effective().spacing().interval) }

// A spacing has the numbers of a rate in nanoseconds.
type spacing struct {
	interval int64 // between two slots
	burst    int64 // the time of Burst slots
}

// spacing returns the numbers of an effective policy. The interval is rounded up, so
// that the rate is never exceeded.
func (p RatePolicy) spacing() spacing {
	interval := (int64(p.Per)-1)/int64(p.Events) + 1
	return spacing{interval: interval, burst: interval * min(int64(p.Burst), math.MaxInt64/4/interval)}
}

// take is [RatePolicy.Take] with times in nanoseconds.
func (g spacing) take(tat, now int64) (next int64, wait time.Duration) {
	next = max(tat, now) + g.interval
	if next-g.burst <= now {
		return next, 0
	}
	tat = min(tat, now+g.burst)
	return tat, time.Duration(tat + g.interval - g.burst - now)
}

// Share returns the share of attempts that a throttle refuses, from 0 to MaxShare.
// requests is the number of requests in the throttle's window, and accepts is how many of
// them the service has accepted.
func (p ThrottlePolicy) Share(requests, accepts float64) float64 {
	p = p.Effective()
	return p.share(requests, accepts)
}

// share is Share of an effective policy.
func (p *ThrottlePolicy) share(requests, accepts float64) float64 {
	if requests < float64(p.MinCalls) {
		return 0
	}
	return min(max((requests-p.K*accepts)/(requests+1), 0), p.MaxShare)
}
