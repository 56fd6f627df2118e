package capacity

import (
	"sync"
	"sync/atomic"
	"time"
)

// An adaptive has the counts of the current window of a [Limiter] with a Target. It
// starts no goroutine: the first attempt that ends after a window computes the next limit.
type adaptive struct {
	// calls has the number of attempts in its low bits, and the sum of their
	// durations in microseconds above: enough for 16 million attempts, and for 12 days.
	calls    atomic.Uint64
	overload atomic.Int64
	most     atomic.Int64 // permits in use
	from     atomic.Int64 // when the window began, in nanoseconds since Limiter.begun

	mu    sync.Mutex
	limit float64
}

const callBits = 24

// Done returns the permit of an attempt that has just ended, and counts the sample for an
// adaptive limit. began is the time when the attempt began. A neutral attempt that has
// taken longer than the Target counts as slow. Otherwise, callers that cancel attempts
// because of an overload would hide the overload.
func (l *Limiter) Done(began time.Time, s Sample) {
	a := l.adaptive
	if a == nil {
		l.Release()
		return
	}
	took := time.Since(began)
	// An update of most that another goroutine overwrites is one of many.
	if n := l.limit.Load() - l.freePermits(); n > a.most.Load() {
		a.most.Store(n)
	}
	switch {
	case s == Overload:
		a.overload.Add(1)
		a.calls.Add(1)
	case s == Success || took > l.policy.Load().Target:
		a.calls.Add(uint64(max(took.Microseconds(), 0))<<callBits | 1)
	}
	l.Release()
	if a.ends(began.Sub(l.begun) + took) {
		l.adapt()
	}
}

// ends reports whether a window is over. A time before its begin comes from another
// clock, as in a testing/synctest bubble: such a window would never end.
func (a *adaptive) ends(at time.Duration) bool {
	return uint64(int64(at)-a.from.Load()) >= uint64(window)
}

// adapt changes the limit after a window.
//
//go:noinline
func (l *Limiter) adapt() {
	a := l.adaptive
	if !a.mu.TryLock() {
		return
	}
	defer a.mu.Unlock()
	at := time.Since(l.begun)
	if !a.ends(at) || a.calls.Load()&(1<<callBits-1) < windowCalls {
		return
	}
	calls := a.calls.Swap(0)
	w := Window{
		Calls:    int(calls & (1<<callBits - 1)),
		Overload: int(a.overload.Swap(0)),
		InUse:    int(a.most.Swap(0)),
	}
	if n := w.Calls - w.Overload; n > 0 {
		w.Mean = time.Duration(calls>>callBits) * time.Microsecond / time.Duration(n)
	}
	a.from.Store(int64(at))
	a.limit = l.policy.Load().Next(a.limit, w)
	if limit := int64(a.limit); limit != l.limit.Load() {
		l.setLimit(limit)
	}
}
