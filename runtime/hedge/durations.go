package hedge

import (
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

const (
	steps    = 8            // buckets per power of two
	buckets  = 48 * steps   // up to 2⁵¹ ns, which is 26 days
	interval = 64           // samples between two estimates, and before the first
	halfSize = 8 * interval // samples of a half of the histogram
)

// durations estimates a quantile of the last 512 to 1,024 durations that were added. It
// is a histogram with eight buckets per power of two, so that the estimate is at most an
// eighth too high. It consists of two halves: when the younger one is full, the older
// one is emptied and becomes the younger one. Samples that are added meanwhile may be
// lost.
type durations struct {
	counts [2][buckets]atomic.Uint32
	added  [2]atomic.Uint32
	young  atomic.Uint32 // 0 or 1
	cached atomic.Int64  // the estimate, or 0

	mu sync.Mutex // of estimate
}

// quantile returns the last estimate, or 0 if there is none.
func (d *durations) quantile() time.Duration { return time.Duration(d.cached.Load()) }

// add adds a duration, and estimates the quantile q after each interval.
func (d *durations) add(v time.Duration, q float64) {
	half := d.young.Load()
	d.counts[half][bucketOf(v)].Add(1)
	if n := d.added[half].Add(1); n%interval == 0 {
		d.estimate(half, n, q)
	}
}

// estimate stores the quantile q. half had n samples a moment ago.
//
//go:noinline
func (d *durations) estimate(half, n uint32, q float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var counts [buckets]uint32
	var total uint32
	for i := range counts {
		counts[i] = d.counts[0][i].Load() + d.counts[1][i].Load()
		total += counts[i]
	}
	rank := uint32(math.Ceil(float64(total) * q))
	var sum uint32
	for i, count := range counts {
		if sum += count; sum >= rank {
			d.cached.Store(int64(upper(i)))
			break
		}
	}
	if n < halfSize || d.young.Load() != half {
		return
	}
	old := 1 - half
	for i := range d.counts[old] {
		d.counts[old][i].Store(0)
	}
	d.added[old].Store(0)
	d.young.Store(old)
}

// bucketOf returns the number of the bucket of v. Durations below 8ns share the first.
func bucketOf(v time.Duration) int {
	u := uint64(max(v, steps))
	exponent := bits.Len64(u) - bits.Len64(steps)
	return min(exponent*steps+int(u>>exponent%steps), buckets-1)
}

// upper returns the greatest duration of bucket i. The estimate is this one and not a
// value between the bounds, because durations that are all equal would otherwise
// exceed it.
func upper(i int) time.Duration {
	return time.Duration((uint64(i%steps)+steps+1)<<(i/steps) - 1)
}
