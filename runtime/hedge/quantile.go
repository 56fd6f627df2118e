package hedge

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// samples is the number of durations before the first estimate.
	samples = 64
	// gain is how much an estimate changes. A longer duration raises it by 1/17 for the
	// quantile 0.95, and 19 shorter ones lower it by as much. If durations become ten
	// times as long, it follows within 40 longer ones, and a halving takes 220 calls.
	gain = 1.0 / 16
	// unseen is the greatest factor by which a duration that was cut short is taken to
	// be longer than what was seen of it.
	unseen = 1.5
)

// A quantile is a running estimate of a quantile q of durations. Every duration above it
// raises it and every other one lowers it, by steps whose sizes are as q to 1-q: it rests
// where the share q is below it (Robbins and Monro, 1951). It therefore needs to know only
// whether a duration is longer, which is also known of requests that were canceled. A
// histogram would take these for short: it follows slowly when a service becomes slow,
// and its buckets alone move the share of hedges between 0 and 5 %.
type quantile struct {
	bits atomic.Uint64 // the estimate in nanoseconds, a float64; 0 if there is none

	mu    sync.Mutex
	first []time.Duration // until there are enough for an estimate
}

// get returns the estimate, or 0 if there is none.
func (e *quantile) get() time.Duration {
	return time.Duration(math.Float64frombits(e.bits.Load()))
}

// reset forgets all durations.
func (e *quantile) reset() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.first = nil
	e.bits.Store(0)
}

// add takes the duration d into account. If cut is true, it was cut short, and would
// have been longer. Goroutines that add at the same moment may lose a duration.
func (e *quantile) add(d time.Duration, cut bool, q float64) {
	bits := e.bits.Load()
	if bits == 0 {
		e.begin(d, q)
		return
	}
	value := math.Float64frombits(bits)
	seen := float64(d)
	if cut {
		seen *= unseen
	}
	switch {
	case seen > value:
		value *= 1 + gain*q
	case cut:
		return // longer or shorter, nobody knows
	default:
		value = max(value*(1-gain*(1-q)), 1)
	}
	e.bits.CompareAndSwap(bits, math.Float64bits(value))
}

// begin collects the first durations.
//
//go:noinline
func (e *quantile) begin(d time.Duration, q float64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.bits.Load() != 0 {
		return
	}
	if e.first = append(e.first, d); len(e.first) < samples {
		return
	}
	slices.Sort(e.first)
	value := e.first[int(math.Ceil(q*samples))-1]
	e.bits.Store(math.Float64bits(max(float64(value), 1)))
	e.first = nil
}
