package capacity

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestGateWithout(t *testing.T) {
	var g Gate
	p, err := g.Enter(t.Context(), time.Time{})
	if err != nil {
		t.Error(err)
	}
	g.Leave(p, Success, Success)
	if p, ok := g.TryEnter(); !ok {
		t.Error("a gate without limits admits no hedge")
	} else {
		g.GiveBack(p)
	}
	g.Leave(Pass{}, Overload, Overload)
}

func TestGateEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	g := Gate{Limiter: NewLimiter(LimiterPolicy{Limit: 1}), Rate: NewRate(RatePolicy{Events: 1})}
	if _, err := g.Enter(ctx, time.Time{}); err != context.Canceled {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	idle(t, g.Limiter)
	if !g.Rate.Allow() {
		t.Error("the slot is taken")
	}
}

// A refusal by the limiter gives the slot of the rate back.
func TestGateGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := Gate{
			Rate:    NewRate(RatePolicy{Events: 1, MaxWait: NoWait}),
			Limiter: NewLimiter(LimiterPolicy{Limit: 1, MaxWait: 100 * time.Millisecond}),
		}
		g.Limiter.TryAcquire()
		if _, err := g.Enter(t.Context(), time.Time{}); !refusedBy(err, ByLimiter) {
			t.Errorf("got %v, want a refusal by the limiter", err)
		}
		if _, ok := g.TryEnter(); ok {
			t.Error("a hedge is admitted above the limit")
		}
		g.Limiter.Release()
		p, err := g.Enter(t.Context(), time.Time{})
		if err != nil {
			t.Fatalf("the slot was not given back: %v", err)
		}
		if _, err := g.Enter(t.Context(), time.Time{}); !refusedBy(err, ByRate) {
			t.Errorf("got %v, want a refusal by the rate", err)
		}
		g.GiveBack(p)
		if p, err = g.Enter(t.Context(), time.Time{}); err != nil {
			t.Errorf("after GiveBack: %v", err)
		}
		g.Leave(p, Success, Success)
		idle(t, g.Limiter)
	})
}

func TestGateDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := Gate{
			Rate:    NewRate(RatePolicy{Events: 1, Burst: 9, MaxWait: 10 * time.Second}),
			Limiter: NewLimiter(LimiterPolicy{Limit: 1, MaxWait: time.Second}),
		}
		start := time.Now()
		p, _ := g.Enter(t.Context(), start.Add(time.Minute))
		if _, err := g.Enter(t.Context(), start.Add(300*time.Millisecond)); err != context.DeadlineExceeded {
			t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
		}
		if d := time.Since(start); d != 300*time.Millisecond {
			t.Errorf("returned after %v, want 300ms", d)
		}
		time.AfterFunc(200*time.Millisecond, func() { g.Leave(p, Success, Success) })
		p, err := g.Enter(t.Context(), start.Add(time.Minute))
		if err != nil || p.Queued != 200*time.Millisecond {
			t.Errorf("%v after %v, want nil after 200ms", err, p.Queued)
		}
		g.Leave(p, Success, Success)
		for g.Rate.Allow() {
		}
		before := time.Now()
		if _, err := g.Enter(t.Context(), before.Add(100*time.Millisecond)); err != context.DeadlineExceeded {
			t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
		}
		if time.Since(before) != 0 {
			t.Errorf("a wait for the rate that would reach the deadline has started")
		}
		idle(t, g.Limiter)
	})
}

func TestGateThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := Gate{Throttle: NewThrottle(ThrottlePolicy{Name: "search", MaxShare: 1, MinCalls: 1})}
		for range 1000 {
			if p, err := g.Enter(t.Context(), time.Time{}); err == nil {
				g.Leave(p, Overload, Overload)
			}
		}
		all := g.Throttle.state.sum.all
		if _, ok := g.TryEnter(); ok || g.Throttle.state.sum.all != all {
			t.Error("a hedge is admitted, or counted, while the throttle refuses attempts")
		}
		var err error
		for err == nil {
			_, err = g.Enter(t.Context(), time.Time{})
		}
		if want := (Refusal{By: ByThrottle, Name: "search"}); err != want {
			t.Errorf("got %v, want %v", err, want)
		}
	})
}
