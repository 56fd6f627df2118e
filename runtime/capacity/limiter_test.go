package capacity

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// idle fails the test unless all permits of l are free and nobody waits.
func idle(t *testing.T, l *Limiter) {
	t.Helper()
	if n := l.free.Load(); n != l.limit.Load() || l.queue.len != 0 || l.queue.first != nil || l.queue.timer != nil {
		t.Errorf("%d of %d permits are free, %d attempts wait, timer %v", n, l.limit.Load(), l.queue.len, l.queue.timer)
	}
}

// refusedBy reports whether err is a refusal of a kind.
func refusedBy(err error, kind Kind) bool {
	r, ok := errors.AsType[Refusal](err)
	return ok && r.By == kind
}

func TestZeroLimiter(t *testing.T) {
	var l Limiter
	if err := l.Acquire(t.Context()); l.TryAcquire() || !refusedBy(err, ByLimiter) {
		t.Errorf("a zero Limiter admits an attempt: %v", err)
	}
}

func TestNewLimiterPanics(t *testing.T) {
	for _, p := range []LimiterPolicy{
		{}, {Limit: -1}, {Limit: 1, MaxWait: -2}, {Limit: 1, Queue: -1}, {Target: -1}, {Limit: 1 << 31},
		{Target: time.Second, Min: 10, Max: 5}, {Target: time.Second, Limit: 1}, {Target: time.Second, Limit: 2000},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("NewLimiter(%+v) does not panic", p)
				}
			}()
			NewLimiter(p)
		}()
	}
}

func TestReleaseWithoutPermitPanics(t *testing.T) {
	l := NewLimiter(LimiterPolicy{Limit: 1})
	defer func() {
		if recover() == nil || l.Limit() != 1 || !l.TryAcquire() || l.TryAcquire() {
			t.Error("Release of a permit that nobody has does not panic, or adds one")
		}
	}()
	l.Release()
}

// TestLimiterUnderLoad has many goroutines, whose contexts end at any time, share few permits.
func TestLimiterUnderLoad(t *testing.T) {
	for _, goroutines := range []int{32, 10_000} {
		l := NewLimiter(LimiterPolicy{Limit: 7, Queue: 1000})
		var in, most, refused atomic.Int64
		var all sync.WaitGroup
		for i := range goroutines {
			all.Go(func() {
				r := rand.New(rand.NewPCG(1, uint64(i)))
				for range 20_000 / goroutines {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.IntN(300))*time.Microsecond)
					if err := l.Acquire(ctx); err != nil {
						refused.Add(1)
						cancel()
						continue
					}
					if n := in.Add(1); n > most.Load() {
						most.Store(n)
					}
					if r.IntN(4) == 0 {
						runtime.Gosched()
					}
					in.Add(-1)
					l.Release()
					cancel()
				}
			})
		}
		all.Wait()
		if most.Load() > 7 {
			t.Errorf("%d goroutines: %d in progress", goroutines, most.Load())
		}
		idle(t, l)
	}
}

func TestLimiterIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(LimiterPolicy{Limit: 1, MaxWait: time.Minute, Queue: 10})
		_ = l.Acquire(t.Context())
		var order []int
		for i := range 5 {
			time.Sleep(time.Second)
			go func() {
				if l.Acquire(t.Context()) == nil {
					order = append(order, i)
					time.Sleep(time.Second)
					l.Release()
				}
			}()
		}
		time.Sleep(10 * time.Second)
		l.Release()
		if l.TryAcquire() {
			t.Error("a new attempt has overtaken those that wait")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := []int{0, 1, 2, 3, 4}; !slices.Equal(order, want) {
			t.Errorf("admitted %v, want %v", order, want)
		}
		idle(t, l)
	})
}

func TestLimiterResizedUnderLoad(t *testing.T) {
	l := NewLimiter(LimiterPolicy{Target: time.Second, Limit: 5, Queue: 1000, Max: 9})
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 2000 {
				if l.Acquire(t.Context()) == nil {
					l.Release()
				}
			}
		})
	}
	all.Go(func() {
		for i := range 2000 {
			l.setLimit(1 + int64(i)%9)
		}
	})
	all.Wait()
	idle(t, l)
}

func TestLimiterWaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(LimiterPolicy{Name: "db", Limit: 1, MaxWait: 100 * time.Millisecond})
		_ = l.Acquire(t.Context())
		start := time.Now()
		var first error
		go func() { first = l.Acquire(t.Context()) }()
		synctest.Wait()
		if err := l.Acquire(t.Context()); !refusedBy(err, ByLimiter) || time.Since(start) != 0 {
			t.Errorf("full queue: %v after %v, want a refusal at once", err, time.Since(start))
		}
		if l.Queued() != 1 || l.InUse() != 1 {
			t.Errorf("%d wait and %d are in use, want 1 and 1", l.Queued(), l.InUse())
		}
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if !refusedBy(first, ByLimiter) {
			t.Errorf("got %v after MaxWait, want a refusal", first)
		}
		l.Release()
		idle(t, l)
		if !l.TryAcquire() {
			t.Error("an attempt that stopped waiting has taken the permit") // failsafe-lib/failsafe#393
		}
	})
}
