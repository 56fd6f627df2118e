package hedge_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/hedge"
)

type key struct{}

// begin returns the context of the first request of a race, the hedge of which never
// starts, and the race.
func begin(ctx context.Context) (context.Context, *hedge.Race) {
	race := new(hedge.Race)
	return race.Begin(ctx, hedge.New(hedge.Policy{After: time.Hour}), func() {}), race
}

// The context of the first request behaves as one of context.WithCancel, in particular
// whether Done was called before or not.
func TestFirstContext(t *testing.T) {
	cause := errors.New("cause")
	for _, watched := range []bool{false, true} {
		caller, cancel := context.WithCancelCause(context.WithValue(t.Context(), key{}, "value"))
		caller, stop := context.WithTimeout(caller, time.Hour)
		defer stop()
		ctx, race := begin(caller)
		if watched {
			ctx.Done()
		}
		want, _ := caller.Deadline()
		if got, ok := ctx.Deadline(); !ok || !got.Equal(want) {
			t.Errorf("watched %v: deadline %v, want %v", watched, got, want)
		}
		if got := ctx.Value(key{}); got != "value" || hedge.Is(ctx) {
			t.Errorf("watched %v: value %v, second %v", watched, got, hedge.Is(ctx))
		}
		if ctx.Err() != nil || context.Cause(ctx) != nil {
			t.Errorf("watched %v: ended with %v, cause %v", watched, ctx.Err(), context.Cause(ctx))
		}
		cancel(cause)
		if ctx.Err() != context.Canceled || context.Cause(ctx) != cause {
			t.Errorf("watched %v: ended with %v, cause %v", watched, ctx.Err(), context.Cause(ctx))
		}
		<-ctx.Done()
		race.End(nil)
	}
}

// The context ends with the race, also for those who look at it only then.
func TestFirstContextEnds(t *testing.T) {
	for _, watched := range []bool{false, true} {
		ctx, race := begin(t.Context())
		if watched {
			ctx.Done()
		}
		race.End(nil)
		for range 2 { // without and with Done
			if ctx.Err() != context.Canceled || context.Cause(ctx) != context.Canceled {
				t.Errorf("watched %v: ended with %v, cause %v", watched, ctx.Err(), context.Cause(ctx))
			}
			<-ctx.Done()
		}
	}
}

// Err keeps returning what it has returned first, also if the caller ends later.
func TestFirstContextKeepsError(t *testing.T) {
	caller, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	ended, race := begin(caller)
	race.End(nil)
	if ended.Err() != context.DeadlineExceeded {
		t.Errorf("ended with %v after the deadline", ended.Err())
	}
	synctest.Test(t, func(t *testing.T) {
		caller, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		ctx, race := begin(caller)
		race.End(nil)
		for range 2 {
			if ctx.Err() != context.Canceled {
				t.Errorf("ended with %v", ctx.Err())
			}
			time.Sleep(time.Minute)
		}
	})
}

// Contexts derived from the one of the first request start no goroutine, as they would
// for a context that package context does not know.
func TestDerivedContexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, race := begin(t.Context())
		before := runtime.NumGoroutine()
		derived, cancel := context.WithTimeout(context.WithValue(ctx, key{}, "value"), time.Hour)
		defer cancel()
		called := false
		context.AfterFunc(ctx, func() { called = true })
		if n := runtime.NumGoroutine() - before; n != 0 {
			t.Errorf("%d goroutines started", n)
		}
		race.End(nil)
		if <-derived.Done(); derived.Err() != context.Canceled {
			t.Errorf("ended with %v", derived.Err())
		}
		if synctest.Wait(); !called {
			t.Error("the function of AfterFunc was not called")
		}
	})
}

// The second request has the values and the deadline of the caller, and is marked, and
// so are calls inside it that are hedged as well.
func TestSecondContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hedge.New(hedge.Policy{After: 10 * ms})
		caller, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "value"), time.Second)
		defer cancel()
		_, _ = hedge.Do(caller, h, func(ctx context.Context) (int, error) {
			if !hedge.Is(ctx) {
				return 0, request{takes: time.Minute}.do(ctx)
			}
			deadline, _ := ctx.Deadline()
			if want, _ := caller.Deadline(); ctx.Value(key{}) != "value" || !deadline.Equal(want) {
				t.Errorf("value %v, deadline %v", ctx.Value(key{}), deadline)
			}
			return hedge.Do(ctx, h, func(ctx context.Context) (int, error) {
				if !hedge.Is(ctx) {
					t.Error("a call in the second request is not marked")
				}
				return 0, nil
			})
		})
		if got := h.Counts().Won; got != 1 {
			t.Errorf("%d second requests won", got)
		}
	})
}

// A call whose first request is fast costs three allocations: see the documentation.
func TestAllocations(t *testing.T) {
	for _, p := range []hedge.Policy{{After: time.Hour}, {Quantile: 0.95, AtLeast: time.Hour}} {
		h := hedge.New(p)
		find := func(context.Context) (int, error) { return 42, nil }
		watch := func(ctx context.Context) (int, error) { ctx.Done(); return 42, nil }
		for range 64 { // for the quantile
			_, _ = hedge.Do(t.Context(), h, find)
		}
		for _, test := range []struct {
			name string
			find func(context.Context) (int, error)
			want float64
		}{{"not watching", find, 3}, {"watching", watch, 6}} {
			got := testing.AllocsPerRun(100, func() { _, _ = hedge.Do(t.Context(), h, test.find) })
			if got > test.want {
				t.Errorf("%+v, %s the context: %v allocations, want %v", p, test.name, got, test.want)
			}
		}
	}
}
