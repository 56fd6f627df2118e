package bench

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eapache/go-resiliency/semaphore"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"github.com/failsafe-go/failsafe-go/adaptivethrottler"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/ratelimiter"
	uber "go.uber.org/ratelimit"
	xsync "golang.org/x/sync/semaphore"
	xtime "golang.org/x/time/rate"

	"github.com/retrygen/retrygen/runtime/capacity"
)

// A limitLibrary is a library that limits attempts. Each function returns one attempt, which is
// admitted and ends at once; it is nil if the library cannot do that. The libraries are called
// in the cheapest way that they have: without the executors of failsafe-go, for example.
type limitLibrary struct {
	name      string
	fixed     func() func(context.Context) // permits are free
	inTurn    func() func(context.Context) // one permit, work while it is held
	adaptive  func() func(context.Context)
	rate      func() func(context.Context) // slots are free
	healthy   func() func(context.Context) // a throttle that has seen no failure
	throttled func() func(context.Context) // one that has, but refuses nothing
}

// permits is the number that is free, and events a rate that no attempt reaches.
const (
	permits = 100
	events  = 1_000_000_000
)

var limitLibraries = []limitLibrary{
	{
		name: "retrygen",
		fixed: func() func(context.Context) {
			l := capacity.NewLimiter(capacity.LimiterPolicy{Limit: permits})
			return func(ctx context.Context) { _ = l.Acquire(ctx); l.Release() }
		},
		inTurn: func() func(context.Context) {
			l := capacity.NewLimiter(capacity.LimiterPolicy{Limit: 1, Queue: 100, MaxWait: time.Minute})
			return func(ctx context.Context) { _ = l.Acquire(ctx); work(); l.Release() }
		},
		adaptive: func() func(context.Context) {
			l := capacity.NewLimiter(capacity.LimiterPolicy{Target: time.Second, Limit: permits})
			return func(ctx context.Context) { _ = l.Acquire(ctx); l.Done(time.Now(), capacity.Success) }
		},
		rate: func() func(context.Context) {
			r := capacity.NewRate(capacity.RatePolicy{Events: events, Burst: events})
			return func(ctx context.Context) { _ = r.Wait(ctx) }
		},
		healthy:   func() func(context.Context) { return retrygenThrottle(new(capacity.Throttle)) },
		throttled: func() func(context.Context) { return retrygenThrottle(failing()) },
	},
	{
		name: "failsafe-go",
		fixed: func() func(context.Context) {
			b := bulkhead.NewBuilder[int](permits).Build()
			return func(ctx context.Context) { _ = b.AcquirePermit(ctx); b.ReleasePermit() }
		},
		inTurn: func() func(context.Context) {
			b := bulkhead.NewBuilder[int](1).Build()
			return func(ctx context.Context) {
				_ = b.AcquirePermitWithMaxWait(ctx, time.Minute)
				work()
				b.ReleasePermit()
			}
		},
		adaptive: func() func(context.Context) {
			l := adaptivelimiter.NewBuilder[int]().WithLimits(permits, permits, permits).Build()
			return func(ctx context.Context) {
				if p, err := l.AcquirePermit(ctx); err == nil {
					p.Record()
				}
			}
		},
		rate: func() func(context.Context) {
			r := ratelimiter.NewSmoothBuilder[int](events, time.Second).Build()
			return func(ctx context.Context) { _ = r.AcquirePermitWithMaxWait(ctx, time.Second) }
		},
		healthy: func() func(context.Context) { return failsafeThrottle(adaptivethrottler.NewWithDefaults[int]()) },
		throttled: func() func(context.Context) {
			t := adaptivethrottler.NewWithDefaults[int]()
			t.RecordFailure()
			return failsafeThrottle(t)
		},
	},
	{
		name: "failsafe-go-executor",
		fixed: func() func(context.Context) {
			return executed(bulkhead.NewBuilder[int](permits).Build())
		},
		adaptive: func() func(context.Context) {
			return executed(adaptivelimiter.NewBuilder[int]().WithLimits(permits, permits, permits).Build())
		},
		rate: func() func(context.Context) {
			r := ratelimiter.NewSmoothBuilder[int](events, time.Second).WithMaxWaitTime(time.Second).Build()
			return executed(r)
		},
		healthy: func() func(context.Context) { return executed(adaptivethrottler.NewWithDefaults[int]()) },
	},
	{
		name: "x-sync-semaphore",
		fixed: func() func(context.Context) {
			s := xsync.NewWeighted(permits)
			return func(ctx context.Context) { _ = s.Acquire(ctx, 1); s.Release(1) }
		},
		inTurn: func() func(context.Context) {
			s := xsync.NewWeighted(1)
			return func(ctx context.Context) { _ = s.Acquire(ctx, 1); work(); s.Release(1) }
		},
	},
	{
		name: "eapache-resiliency",
		fixed: func() func(context.Context) {
			s := semaphore.New(permits, time.Second)
			return func(context.Context) { _ = s.Acquire(); s.Release() }
		},
		inTurn: func() func(context.Context) {
			s := semaphore.New(1, time.Minute)
			return func(context.Context) { _ = s.Acquire(); work(); s.Release() }
		},
	},
	{
		name: "netflix-gradient2-port",
		adaptive: func() func(context.Context) {
			n := &netflix{limit: permits, algorithm: new(gradient2)}
			return func(context.Context) {
				if n.enter() {
					n.leave(time.Now(), true)
				}
			}
		},
	},
	{
		name: "x-time-rate",
		rate: func() func(context.Context) {
			l := xtime.NewLimiter(events, events)
			return func(ctx context.Context) { _ = l.Wait(ctx) }
		},
	},
	{
		name: "uber-ratelimit",
		rate: func() func(context.Context) {
			l := uber.New(events)
			return func(context.Context) { l.Take() }
		},
	},
}

func retrygenThrottle(t *capacity.Throttle) func(context.Context) {
	return func(context.Context) {
		if t.Admit() {
			t.Report(capacity.Success)
		}
	}
}

// failing returns a throttle that has seen a failure, which it remembers.
func failing() *capacity.Throttle {
	t := capacity.NewThrottle(capacity.ThrottlePolicy{Window: time.Hour})
	t.Report(capacity.Overload)
	return t
}

func failsafeThrottle(t adaptivethrottler.AdaptiveThrottler[int]) func(context.Context) {
	return func(context.Context) {
		if t.TryAcquirePermit() {
			t.RecordSuccess()
		}
	}
}

// executed is how the README of failsafe-go calls a function under a policy.
func executed(p failsafe.Policy[int]) func(context.Context) {
	e := failsafe.With(p)
	return func(ctx context.Context) {
		_, _ = e.WithContext(ctx).Get(func() (int, error) { return fetch(ctx, in) })
	}
}

var worked atomic.Int64

// work takes about half a microsecond.
func work() {
	for range 100 {
		worked.Add(1)
	}
}

// BenchmarkLimits times attempts under limits with 1 and 8 goroutines, and 16 that wait in turn.
func BenchmarkLimits(b *testing.B) {
	for _, sc := range []struct {
		name       string
		of         func(limitLibrary) func() func(context.Context)
		goroutines []int
	}{
		{"fixed", func(l limitLibrary) func() func(context.Context) { return l.fixed }, []int{1, 8}},
		{"adaptive", func(l limitLibrary) func() func(context.Context) { return l.adaptive }, []int{1, 8}},
		{"inTurn", func(l limitLibrary) func() func(context.Context) { return l.inTurn }, []int{16}},
		{"rate", func(l limitLibrary) func() func(context.Context) { return l.rate }, []int{1, 8}},
		{"healthy", func(l limitLibrary) func() func(context.Context) { return l.healthy }, []int{1, 8}},
		{"throttled", func(l limitLibrary) func() func(context.Context) { return l.throttled }, []int{1, 8}},
	} {
		for _, n := range sc.goroutines {
			for _, l := range limitLibraries {
				of := sc.of(l)
				if of == nil {
					continue
				}
				b.Run(fmt.Sprintf("%s/%d/%s", sc.name, n, l.name), func(b *testing.B) {
					attempt, ctx := of(), b.Context()
					defer meter(b)()
					parallel(b.N, n, func() { attempt(ctx) })
				})
			}
		}
	}
}

// parallel calls f n times, in a number of goroutines.
func parallel(n, goroutines int, f func()) {
	var all sync.WaitGroup
	for i := range goroutines {
		all.Go(func() {
			for range (n + i) / goroutines {
				f()
			}
		})
	}
	all.Wait()
}

// A netflix is a port of the limiters of Netflix/concurrency-limits: a counter of requests in
// progress, and an algorithm that sees the durations under a lock.
type netflix struct {
	inUse atomic.Int64

	mu        sync.Mutex
	limit     float64
	algorithm interface {
		next(limit float64, took time.Duration, inUse int64, answered bool, now time.Time) float64
	}
}

func (n *netflix) enter() bool {
	n.mu.Lock()
	limit := int64(n.limit)
	n.mu.Unlock()
	if n.inUse.Add(1) <= limit {
		return true
	}
	n.inUse.Add(-1)
	return false
}

func (n *netflix) leave(began time.Time, answered bool) {
	inUse, now := n.inUse.Add(-1)+1, time.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.limit = min(max(n.algorithm.next(n.limit, now.Sub(began), inUse, answered, now), 2), 1000)
}

// gradient2 has the constants of Gradient2Limit in a WindowedLimit: windows of a second with
// at least 10 samples, a long average of 600 windows, a tolerance of 1.5, a queue of 4, and a
// smoothing of 0.2.
type gradient2 struct {
	ends    time.Time
	sum     time.Duration
	samples int
	most    int64

	long    float64
	windows int
}

func (g *gradient2) next(limit float64, took time.Duration, inUse int64, _ bool, now time.Time) float64 {
	g.sum += took
	g.samples++
	g.most = max(g.most, inUse)
	if now.Before(g.ends) || g.samples < 10 {
		return limit
	}
	short, most := float64(g.sum)/float64(g.samples), float64(g.most)
	g.ends, g.sum, g.samples, g.most = now.Add(time.Second), 0, 0, 0
	if g.windows++; g.windows <= 10 {
		g.long += (short - g.long) / float64(g.windows)
	} else {
		g.long += (short - g.long) * 2 / 601
	}
	if g.long > 2*short {
		g.long *= 0.95
	}
	if most < limit/2 {
		return limit
	}
	gradient := max(0.5, min(1, 1.5*g.long/short))
	return limit*0.8 + (limit*gradient+4)*0.2
}

// vegas has the constants of VegasLimit, which sees each sample.
type vegas struct {
	least  time.Duration // the duration without a queue
	probes float64
}

func (v *vegas) next(limit float64, took time.Duration, inUse int64, answered bool, _ time.Time) float64 {
	step := max(1, math.Log10(limit))
	if v.probes++; v.probes >= 30*limit*0.75 {
		v.probes, v.least = 0, took
		return limit
	}
	if v.least == 0 || took < v.least {
		v.least = took
		return limit
	}
	queue := math.Ceil(limit * (1 - float64(v.least)/float64(took)))
	switch {
	case !answered:
		return limit - step
	case float64(inUse)*2 < limit:
		return limit
	case queue <= step:
		return limit + 6*step
	case queue < 3*step:
		return limit + step
	case queue > 6*step:
		return limit - step
	}
	return limit
}
