package capacity

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestUpdateLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(LimiterPolicy{Name: "db", Limit: 1, MaxWait: time.Minute})
		l.TryAcquire()
		waited := make(chan error)
		go func() { waited <- l.Acquire(t.Context()) }()
		synctest.Wait()
		if err := l.Update(LimiterPolicy{Name: "db", Limit: 3}); err != nil {
			t.Fatal(err)
		}
		if err := <-waited; err != nil {
			t.Errorf("the attempt that waited: %v", err)
		}
		if !l.TryAcquire() || l.TryAcquire() {
			t.Error("the limit is not 3")
		}
		if err := l.Update(LimiterPolicy{Name: "db", Limit: 1}); err != nil {
			t.Fatal(err)
		}
		if got := l.InUse(); got != 3 {
			t.Errorf("%d permits in use, want 3", got)
		}
		l.Release()
		l.Release()
		if l.TryAcquire() {
			t.Error("a permit above the limit")
		}
		l.Release()
		if !l.TryAcquire() {
			t.Error("no permit")
		}
		if err := l.Update(LimiterPolicy{Name: "db", Target: time.Second}); !errors.Is(err, ErrAdaptive) {
			t.Errorf("adaptive: %v", err)
		}
		if err := l.Update(LimiterPolicy{Name: "other", Limit: 1}); err == nil {
			t.Error("another name is accepted")
		}
	})
}

func TestUpdateRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRate(RatePolicy{Name: "api", Events: 1, Per: time.Hour, MaxWait: 2 * time.Hour})
		r.Allow()
		waited := make(chan error)
		go func() { waited <- r.Wait(t.Context()) }()
		synctest.Wait()
		if err := r.Update(RatePolicy{Name: "api", Events: 1, Per: time.Second}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := <-waited; err != nil || time.Since(began) > time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := r.Update(RatePolicy{Name: "api", Events: 0}); err == nil {
			t.Error("no events are accepted")
		}
		if err := r.Wait(ctx); err == nil {
			t.Error("the default MaxWait is shorter than the second")
		}
	})
}

func TestUpdateSharedRate(t *testing.T) {
	r := NewSharedRate(RatePolicy{Name: "api", Events: 1})
	if err := r.Update(RatePolicy{Name: "api", Events: 2}); !errors.Is(err, ErrShared) {
		t.Errorf("got %v, want %v", err, ErrShared)
	}
}

func TestUpdateThrottle(t *testing.T) {
	throttle := NewThrottle(ThrottlePolicy{Name: "api"})
	for range 100 {
		throttle.Report(Overload)
	}
	if throttle.Share() == 0 {
		t.Fatal("nothing is refused")
	}
	if err := throttle.Update(ThrottlePolicy{Name: "api", MinCalls: 1000}); err != nil {
		t.Fatal(err)
	}
	if got := throttle.Share(); got != 0 {
		t.Errorf("share %v below MinCalls", got)
	}
	if err := throttle.Update(ThrottlePolicy{Name: "api", MinCalls: 1}); err != nil {
		t.Fatal(err)
	}
	if throttle.Share() == 0 {
		t.Error("the counts are gone")
	}
	if err := throttle.Update(ThrottlePolicy{Name: "api", Window: time.Hour}); err != nil || throttle.Share() != 0 {
		t.Errorf("%v, share %v after the window has changed", err, throttle.Share())
	}
}
