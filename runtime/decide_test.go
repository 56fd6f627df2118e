package retry

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
)

// expired is a context whose deadline has passed and whose Err does not show it
// yet, as a context is when the deadline of a connection fires first.
type expired struct {
	context.Context
	deadline time.Time
}

func (c expired) Deadline() (time.Time, bool) { return c.deadline, true }

func TestPassedDeadlineIsTheEnd(t *testing.T) {
	b := breaker.New(breaker.Policy{Failures: 1})
	ctx := expired{t.Context(), time.Now()}
	calls := 0
	_, err := DoWith(ctx, &Policy{Name: "read"}, Shared{Breaker: b}, func(context.Context) (int, error) {
		calls++
		return 0, os.ErrDeadlineExceeded
	})
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Reason != ErrDeadline || !errors.Is(err, os.ErrDeadlineExceeded) ||
		!errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want reason %q", err, ErrDeadline)
	}
	if calls != 1 || b.State() != breaker.Closed {
		t.Errorf("%d calls, the breaker is %v; want one call, closed", calls, b.State())
	}
}

// A connection whose deadline is that of the context, many times: whichever of
// the two timers fires first, the breaker must not open.
func TestDeadlineOfConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Policy{Failures: 1})
		for range 300 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := DoWith(ctx, &Policy{Name: "read"}, Shared{Breaker: b}, func(ctx context.Context) (int, error) {
				deadline, _ := ctx.Deadline()
				time.Sleep(time.Until(deadline))
				return 0, os.ErrDeadlineExceeded
			})
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("got %v, want the end of the context", err)
			}
		}
		if got := b.State(); got != breaker.Closed {
			t.Errorf("the breaker is %v, want closed", got)
		}
	})
}

func TestRefusalOfInnerBreaker(t *testing.T) {
	inner := breaker.New(breaker.Policy{Name: "inner", Failures: 1})
	fail := func(context.Context) (int, error) { return 0, Permanent(errFailed) }
	inner.Restore(breaker.Snapshot{State: breaker.Open, OpenUntil: time.Now().Add(time.Hour)})

	for _, tt := range []struct {
		name     string
		policy   Policy
		attempts int
	}{
		{"not named", Policy{Name: "outer", Nested: true, Schedule: Schedule{InitialDelay: None}}, 1},
		{"named",
			Policy{Name: "outer", Nested: true, Schedule: Schedule{InitialDelay: None}, RetryOn: []Class{ClassBreakerOpen}}, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			outer := breaker.New(breaker.Policy{Name: "outer", Failures: 1})
			attempts := 0
			_, err := DoWith(t.Context(), &tt.policy, Shared{Breaker: outer}, func(ctx context.Context) (int, error) {
				attempts++
				return DoWith(ctx, &Policy{Name: "inner"}, Shared{Breaker: inner}, fail)
			})
			if !errors.Is(err, ErrBreakerOpen) || attempts != tt.attempts {
				t.Errorf("%d attempts, %v; want %d", attempts, err, tt.attempts)
			}
			if got := outer.State(); got != breaker.Closed {
				t.Errorf("the outer breaker is %v, want closed", got)
			}
		})
	}
}

// After the attempt's own timeout an error is a timeout, even if the operation
// returns context.Canceled.
func TestOwnTimeoutIsNotCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Policy{Name: "read", AttemptTimeout: time.Second, AbortOn: []Class{ClassCanceled}}
		var classes []Class
		ctx := WithObserver(t.Context(), func(_ context.Context, e Event) { classes = append(classes, e.Class) })
		_, err := Do(ctx, &p, func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, context.Canceled
		})
		want := []Class{ClassTimeout, ClassTimeout, ClassTimeout}
		if e, ok := errors.AsType[*Error](err); !ok || e.Reason != ErrAttempts || !slices.Equal(classes, want) {
			t.Errorf("got %v, classes %v; want %v", err, classes, want)
		}
	})
}

func TestObserversCompose(t *testing.T) {
	var calls []string
	ctx := WithObserver(t.Context(), func(_ context.Context, e Event) { calls = append(calls, "outer "+e.Kind.String()) })
	ctx = WithObserver(ctx, func(_ context.Context, e Event) { calls = append(calls, "inner "+e.Kind.String()) })
	p := Policy{Name: "read", Schedule: Schedule{MaxAttempts: 2, InitialDelay: None}}
	_, _ = Do(ctx, &p, func(context.Context) (int, error) { return 0, errFailed })
	want := []string{"inner retry", "outer retry", "inner stop", "outer stop"}
	if !slices.Equal(calls, want) {
		t.Errorf("got %v, want %v", calls, want)
	}
}

// An error about which the policy did nothing is returned unchanged.
func TestNothingDecided(t *testing.T) {
	fail := func(context.Context) (int, error) { return 0, io.ErrUnexpectedEOF }
	for _, tt := range []struct {
		name   string
		policy Policy
		bare   bool
	}{
		{"one attempt", Policy{Schedule: Schedule{MaxAttempts: 1}}, true},
		{"one attempt, escalates", Policy{Schedule: Schedule{MaxAttempts: 1, Escalate: true}}, false},
		{"permanent", Policy{RetryOn: []Class{ClassRateLimit}}, true},
		{"no time", Policy{Timeout: time.Millisecond}, false},
		{"two attempts", Policy{Schedule: Schedule{MaxAttempts: 2, InitialDelay: None}}, false},
	} {
		_, err := Do(t.Context(), &tt.policy, fail)
		if bare := err == io.ErrUnexpectedEOF; bare != tt.bare || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: got %#v, unchanged: %v, want %v", tt.name, err, bare, tt.bare)
		}
	}
	if _, err := Do(withAttemptNumber(t.Context(), 2), new(Policy), fail); err != io.ErrUnexpectedEOF {
		t.Errorf("inside of a retry: got %#v, want io.ErrUnexpectedEOF itself", err)
	}
}

// MaxElapsed counts from the first failure or refusal, not from the start.
func TestMaxElapsedStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Policy{
			Name: "read", Schedule: Schedule{MaxAttempts: 10, Backoff: BackoffFixed}, MaxElapsed: 3 * time.Second,
		}
		attempts := 0
		start := time.Now()
		_, err := Do(t.Context(), &p, func(context.Context) (int, error) {
			if attempts++; attempts == 1 {
				time.Sleep(time.Minute)
			}
			return 0, errFailed
		})
		if !errors.Is(err, ErrElapsed) || attempts != 4 || time.Since(start) != time.Minute+3*time.Second {
			t.Errorf("%d attempts in %v, %v", attempts, time.Since(start), err)
		}

		b := breaker.New(breaker.Policy{OpenFor: time.Hour})
		b.Restore(breaker.Snapshot{State: breaker.Open, OpenUntil: time.Now().Add(time.Hour)})
		p.RetryOn = []Class{ClassBreakerOpen}
		start = time.Now()
		_, err = DoWith(t.Context(), &p, Shared{Breaker: b}, func(context.Context) (int, error) { return 0, nil })
		if !errors.Is(err, ErrElapsed) || !errors.Is(err, ErrBreakerOpen) || time.Since(start) != 3*time.Second {
			t.Errorf("refused for %v, %v", time.Since(start), err)
		}
	})
}

// A decision depends on its arguments only: repeated, it is the same.
func TestDecideIsPure(t *testing.T) {
	p := Policy{
		Name:        "read",
		Schedule:    Schedule{MaxAttempts: 9, Jitter: JitterDecorrelated, MaxDelay: time.Minute},
		DelayBudget: time.Hour, MaxElapsed: time.Hour,
		PerError: []Override{{Class: ClassTimeout, Schedule: Schedule{MaxAttempts: 4, Backoff: BackoffFixed}}},
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var s CallState
	for i, err := range []error{errFailed, ErrTimeout, errFailed, After(errFailed, time.Second), ErrTimeout} {
		f, in := Failure{Err: err}, Inputs{Now: now, Sample: 0.25 * float64(i%4)}
		again, other := p.Decide(s, f, in)
		var v Verdict
		if s, v = p.Decide(s, f, in); again != s || other != v {
			t.Fatalf("failure %d: decided %+v and %+v", i, v, other)
		}
		if limited := i == 4; limited != (v.Reason == ErrAttempts) {
			t.Errorf("failure %d: reason %q", i, v.Reason)
		}
		now = now.Add(v.Wait)
	}
	if s.Attempts != 5 || s.Waited != now.Sub(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)) {
		t.Errorf("the state is %+v", s)
	}
}

// A nil *Budget is no budget, also in the interface.
func TestNilBudget(t *testing.T) {
	var none *budget.Budget
	p := Policy{Name: "read", Schedule: Schedule{InitialDelay: None}}
	for _, failures := range []int{0, 1} {
		left := failures
		_, err := DoWith(t.Context(), &p, Shared{Budget: none}, func(context.Context) (int, error) {
			if left--; left >= 0 {
				return 0, errFailed
			}
			return 1, nil
		})
		if err != nil {
			t.Errorf("%d failures: %v", failures, err)
		}
	}
}
