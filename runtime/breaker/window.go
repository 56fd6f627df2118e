package breaker

import (
	"sync/atomic"
	"time"
)

// buckets is the number of parts of a window.
const buckets = 10

// A window counts the samples of a closed breaker: the last
// [Policy.WindowCalls], or those within the last [Policy.Window]. The
// latter uses the same memory for any number of samples: it is a ring of buckets,
// and each of them counts the samples of a tenth of the time.
//
// Successes are counted without a lock. One that is counted while the window
// moves to the next bucket may count in either.
type window struct {
	generation uint64        // of the breaker
	slowCall   time.Duration // of the policy
	last       *lastCalls    // the samples, or nil: those of a time, in the fields below
	start      time.Time     // of the window
	width      time.Duration // of a bucket

	head   atomic.Int64 // number of the current bucket, from the start of the window
	_      [64]byte     // head is read more often than written: keep it off the cache line of a bucket
	bucket [buckets]bucket
}

// A bucket has the counts of a tenth of the window.
type bucket struct{ calls, failed, slow atomic.Int64 }

// newWindow returns an empty window that starts now.
func newWindow(p *Policy, generation uint64, now time.Time) *window {
	w := &window{generation: generation, slowCall: p.SlowCall, start: now, width: max(p.Window/buckets, 1)}
	if p.WindowCalls > 0 {
		w.last = newLastCalls(p.WindowCalls)
	}
	return w
}

// loadWindow returns the window of a snapshot. If the snapshot is of the future by
// more than the length of the window, because another clock wrote it, the window
// is empty.
func loadWindow(p *Policy, s *Snapshot, now time.Time) *window {
	if p.WindowCalls > 0 {
		w := newWindow(p, s.Generation, now)
		w.last.load(s.Calls)
		return w
	}
	if s.WindowFrom.IsZero() || s.WindowFrom.Sub(now) > p.Window {
		return newWindow(p, s.Generation, now)
	}
	w := newWindow(p, s.Generation, s.WindowFrom)
	w.start = s.WindowFrom.Add(-(buckets - 1) * w.width)
	w.head.Store(buckets - 1)
	counts := s.Window[max(len(s.Window)-buckets, 0):]
	for i, c := range counts {
		b := &w.bucket[buckets-len(counts)+i]
		b.calls.Store(c[0])
		b.failed.Store(c[1])
		b.slow.Store(c[2])
	}
	return w
}

// save returns the fields of a snapshot: the start of the current bucket, and
// the counts of the buckets from the first that is not empty.
func (w *window) save() (from time.Time, counts [][3]int64) {
	head := w.head.Load()
	for i := max(head-buckets+1, 0); i <= head; i++ {
		b := &w.bucket[i%buckets]
		c := [3]int64{b.calls.Load(), b.failed.Load(), b.slow.Load()}
		if c[0] > 0 || len(counts) > 0 {
			counts = append(counts, c)
		}
	}
	return w.start.Add(time.Duration(head) * w.width), counts
}

// succeeded counts a success without a lock, and reports true. It counts nothing
// and reports false if the attempt was slow or the current bucket has ended.
func (w *window) succeeded(p *Permit) bool {
	if w.last != nil {
		if w.slowCall > 0 && time.Since(p.Started) > w.slowCall {
			return false
		}
		w.last.add(sampled)
		return true
	}
	at, head := time.Since(w.start), w.head.Load()
	if at >= time.Duration(head+1)*w.width || w.slowCall > 0 && at-p.Started.Sub(w.start) > w.slowCall {
		return false
	}
	w.bucket[head%buckets].calls.Add(1)
	return true
}

// count counts a sample. The caller holds the lock of the breaker.
func (w *window) count(now time.Time, failed, slow bool) {
	if w.last != nil {
		w.last.add(sampleBits(failed, slow))
		return
	}
	head := w.head.Load()
	// Clear the buckets before head moves to them: nothing counts in them yet.
	for last := int64(now.Sub(w.start) / w.width); head < last; {
		head = max(head, last-buckets) + 1
		b := &w.bucket[head%buckets]
		b.calls.Store(0)
		b.failed.Store(0)
		b.slow.Store(0)
	}
	w.head.Store(head)
	b := &w.bucket[head%buckets]
	b.calls.Add(1)
	if failed {
		b.failed.Add(1)
	}
	if slow {
		b.slow.Add(1)
	}
}

// totals returns the counts of the window.
func (w *window) totals() (calls, failed, slow int64) {
	if w.last != nil {
		return w.last.calls(), w.last.failed.Load(), w.last.slow.Load()
	}
	for i := range w.bucket {
		b := &w.bucket[i]
		calls, failed, slow = calls+b.calls.Load(), failed+b.failed.Load(), slow+b.slow.Load()
	}
	return calls, failed, slow
}

// steady reports whether another success changes nothing that matters: the window
// is full of successes, whose order is the same after one more.
func (w *window) steady() bool {
	return w.last != nil && w.slowCall == 0 && w.last.failed.Load() == 0 && w.last.full()
}

// exceeded returns the reason of the rate of p that is reached, or "".
func (w *window) exceeded(p *Policy) ChangeReason {
	calls, failed, slow := w.totals()
	reached := func(n int64, rate float64) bool {
		// Dividing keeps equality exact: 3/10 equals the constant 0.3.
		return rate > 0 && float64(n)/float64(calls) >= rate
	}
	switch {
	case calls < int64(p.MinCalls):
		return ""
	case reached(failed, p.FailureRate):
		return ChangeFailureRate
	case reached(slow, p.SlowRate):
		return ChangeSlowRate
	}
	return ""
}
