package retry

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/breaker"
)

// Tests of what other libraries were measured to get wrong. Each names the
// library whose bug it must not repeat. Breakers, budgets and HTTP have
// such tests next to their own.

// always returns an op that takes a while and fails, and the times at which it
// was called.
func always(took time.Duration, err error) (op func(context.Context) error, calls *[]time.Time) {
	calls = new([]time.Time)
	return func(ctx context.Context) error {
		*calls = append(*calls, time.Now())
		time.Sleep(took)
		return err
	}, calls
}

func TestPeers(t *testing.T) {
	for _, tt := range []struct {
		name     string
		policy   Policy
		deadline time.Duration // of the caller; 0: none
		took     time.Duration // by each attempt
		calls    int
		whole    time.Duration // of the call
		reason   Reason
	}{
		{"failsafe-go: an attempt's limit is a deadline", Policy{AttemptTimeout: time.Second}, 0, 0, 3, 3 * time.Second,
			ErrAttempts},
		{"backoff: a long attempt is retried", Policy{MaxElapsed: 15 * time.Minute}, 0, 16 * time.Minute, 2,
			32*time.Minute + time.Second, ErrElapsed},
		{"backoff: the wait does not pass the deadline", Policy{}, 2 * time.Second, 0, 2, time.Second, ErrDeadline},
		{"eapache: an empty list", Policy{Schedule: Schedule{Backoff: BackoffCustom, MaxDelay: time.Second}}, 0, 0, 3,
			2 * time.Second, ErrAttempts},
		{"gax: a timeout under a longer deadline", Policy{Timeout: time.Minute, Schedule: Schedule{MaxAttempts: Unlimited}},
			time.Hour, 0, 6, 31 * time.Second, ErrDeadline},
		{"k8s: a cap takes no attempts away", Policy{Schedule: Schedule{MaxAttempts: 10, MaxDelay: 2 * time.Second}}, 0, 0,
			10, 17 * time.Second, ErrAttempts},
		{"gowrap: the delay begins after the attempt", Policy{Schedule: Schedule{Backoff: BackoffFixed}}, 0, 20 * time.Second,
			3, 62 * time.Second, ErrAttempts},
		{"gowrap: no delay at all", Policy{Schedule: Schedule{InitialDelay: None}}, 0, 0, 3, 0, ErrAttempts},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				if tt.deadline > 0 {
					ctx, cancel = context.WithTimeout(t.Context(), tt.deadline)
				}
				defer cancel()
				op, calls := always(tt.took, errFailed)
				// A policy is data: the second call is like the first.
				for range 2 {
					*calls = nil
					start := time.Now()
					_, err := drive(ctx, &tt.policy, op)
					if len(*calls) != tt.calls || time.Since(start) != tt.whole || !errors.Is(err, tt.reason) ||
						!errors.Is(err, errFailed) {
						t.Errorf("%d calls in %v, %v; want %d in %v, %v", len(*calls), time.Since(start), err, tt.calls, tt.whole,
							tt.reason)
					}
					if tt.deadline > 0 {
						break
					}
				}
			})
		})
	}
}

// failsafe-go's callee sees no deadline, and Canceled.
func TestAttemptContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Policy{AttemptTimeout: time.Second, Schedule: Schedule{MaxAttempts: 1}}
		_, err := drive(t.Context(), &p, func(ctx context.Context) error {
			if at, ok := ctx.Deadline(); !ok || time.Until(at) != time.Second {
				t.Errorf("the deadline is %v, %v", at, ok)
			}
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

// gowrap retried 178 times under a context that had ended.
func TestEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	op, calls := always(0, errFailed)
	_, err := drive(ctx, &Policy{Schedule: Schedule{InitialDelay: None, MaxAttempts: 1000}}, op)
	if !errors.Is(err, errFailed) || !errors.Is(err, context.Canceled) || len(*calls) != 1 {
		t.Errorf("%d calls, %v; want one, and the end of the context in the error", len(*calls), err)
	}
}

// avast reported retries that did not follow.
func TestEventsAreTrue(t *testing.T) {
	retries, ends := 0, 0
	ctx := WithObserver(t.Context(), func(_ context.Context, e Event) {
		if e.Reason == "" {
			retries++
		} else {
			ends++
		}
	})
	op, calls := always(0, errFailed)
	if _, err := drive(ctx, &Policy{Schedule: Schedule{InitialDelay: None}}, op); err == nil || retries != len(*calls)-1 ||
		ends != 1 {
		t.Errorf("%d calls, %d events of retries, %d of ends", len(*calls), retries, ends)
	}
}

// gobreaker calls back under its lock.
func TestObserverMayUseTheBreaker(t *testing.T) {
	b := breaker.New(breaker.Policy{Failures: 2})
	var states []breaker.State
	ctx := WithObserver(t.Context(), func(_ context.Context, e Event) {
		states = append(states, e.BreakerState)
		b.Save()
		b.Reset()
	})
	_ = protect(ctx, b, nil, Policy{Schedule: Schedule{InitialDelay: None}}, func(context.Context) error {
		return errFailed
	})
	if len(states) == 0 {
		t.Error("nothing was observed")
	}
}
