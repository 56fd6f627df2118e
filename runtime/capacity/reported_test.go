package capacity

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The tests of this file are about what users of other libraries have reported. Those about
// fairness, bounds and canceled waits are with the tests of each type, and those about
// limits that learn from overload are in TestSimulation.

// A limiter with defaults waits: App-vNext/Polly#810, where an undocumented queue of 0
// surprised users.
func TestDefaultsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(LimiterPolicy{Limit: 1})
		l.TryAcquire()
		time.AfterFunc(400*time.Millisecond, l.Release)
		if err := l.Acquire(t.Context()); err != nil {
			t.Errorf("a wait of 400ms: %v", err)
		}
		r := NewRate(RatePolicy{Events: 10})
		for range 6 {
			if err := r.Wait(t.Context()); err != nil {
				t.Errorf("a wait of 100ms: %v", err)
			}
		}
	})
}

// A spike of twice the limit is absorbed: failsafe-go/failsafe-go#76.
func TestSpike(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(LimiterPolicy{Limit: 20})
		var refused atomic.Int64
		for range 3 {
			var spike sync.WaitGroup
			for range 40 {
				spike.Go(func() {
					if l.Acquire(t.Context()) != nil {
						refused.Add(1)
						return
					}
					time.Sleep(50 * time.Millisecond)
					l.Release()
				})
			}
			spike.Wait()
		}
		if n := refused.Load(); n != 0 {
			t.Errorf("%d of 120 were refused", n)
		}
	})
}

// 60 per minute admit one per second, and 60 at once only with a burst: App-vNext/Polly#937.
func TestSixtyPerMinute(t *testing.T) {
	for _, tt := range []struct{ burst, atOnce, inMinute int }{{1, 1, 60}, {60, 60, 119}} {
		synctest.Test(t, func(t *testing.T) {
			r := NewRate(RatePolicy{Events: 60, Per: time.Minute, Burst: tt.burst, MaxWait: NoWait})
			start, admitted := time.Now(), 0
			for r.Allow() {
				admitted++
			}
			if admitted != tt.atOnce {
				t.Errorf("burst %d: %d at once, want %d", tt.burst, admitted, tt.atOnce)
			}
			for time.Since(start) < time.Minute-time.Second {
				time.Sleep(10 * time.Millisecond)
				if r.Allow() {
					admitted++
				}
			}
			if admitted != tt.inMinute {
				t.Errorf("burst %d: %d in a minute, want %d", tt.burst, admitted, tt.inMinute)
			}
		})
	}
}

// The limit of a healthy service does not fall in order to measure something:
// envoyproxy/envoy#18152 and #8337, where calls were refused meanwhile.
func TestNoProbing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(LimiterPolicy{Target: time.Second, MaxWait: NoWait})
		limit := l.Limit()
		for range 10_000 { // 100 seconds with 10 attempts in progress
			time.Sleep(10 * time.Millisecond)
			if !l.TryAcquire() {
				t.Fatal("refused")
			}
			began := time.Now()
			time.AfterFunc(100*time.Millisecond, func() { l.Done(began, Success) })
			if l.Limit() < limit {
				t.Fatalf("the limit has fallen from %d to %d", limit, l.Limit())
			}
			limit = l.Limit()
		}
		time.Sleep(time.Second)
	})
}

// A caller that cancels slow attempts does not hide that they are slow, and one that
// cancels fast ones, or gets errors that have nothing to do with load, changes nothing.
func TestNeutralAttempts(t *testing.T) {
	for _, tt := range []struct {
		took  time.Duration
		falls bool
	}{{10 * time.Millisecond, false}, {150 * time.Millisecond, true}} {
		synctest.Test(t, func(t *testing.T) {
			l := NewLimiter(LimiterPolicy{Target: 100 * time.Millisecond})
			for range 100 {
				for range 10 {
					l.TryAcquire()
				}
				began := time.Now()
				time.Sleep(tt.took)
				for range 10 {
					l.Done(began, Neutral)
				}
			}
			if falls := l.Limit() < 20; falls != tt.falls || l.Limit() > 20 {
				t.Errorf("attempts canceled after %v: the limit is %d after 20", tt.took, l.Limit())
			}
		})
	}
}

// An attempt that comes while others wait does not take a slot that has just become free:
// compare the overtaking in huggingface/go-huggingface#60.
func TestRateIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRate(RatePolicy{Events: 1, MaxWait: time.Minute})
		r.Allow()
		go r.Wait(t.Context())
		synctest.Wait()
		r.state.Store(0) // the slot is free, but the timer has not fired yet
		if r.Allow() {
			t.Error("an attempt has overtaken one that waits")
		}
		time.Sleep(time.Second)
	})
}

// Limits that outlive a testing/synctest bubble, such as limits in package variables, work in
// the next one and outside, although the clock goes back there.
func TestClockGoesBack(t *testing.T) {
	l := NewLimiter(LimiterPolicy{Target: 50 * time.Millisecond, Limit: 100})
	r := NewRate(RatePolicy{Events: 1000, MaxWait: NoWait})
	th := NewThrottle(ThrottlePolicy{MinCalls: 1, MaxShare: 1})
	use := func(t *testing.T) {
		for range 2 {
			began := time.Now()
			time.Sleep(300 * time.Millisecond)
			for range 10 {
				l.TryAcquire()
				l.Done(began, Success)
			}
		}
		if age := time.Since(l.begun) - time.Duration(l.adaptive.from.Load()); age != 0 {
			t.Errorf("the last window of the limit has ended %v ago", age)
		}
		r.Allow()
		time.Sleep(2 * time.Millisecond)
		if !r.Allow() {
			t.Error("the rate admits no attempt")
		}
		th.Report(Overload)
		th.Report(Overload)
		if th.Share() == 0 {
			t.Error("the throttle refuses nothing")
		}
	}
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			use(t)
			time.Sleep(time.Hour)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(24 * time.Hour)
		use(t)
	})
	synctest.Test(t, use)
}
