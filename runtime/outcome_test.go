package retry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/breaker"
)

// describe returns an event as text, without the fields that are zero.
func (e Event) describe() string {
	s := fmt.Sprintf("%v %d", e.Kind, e.Attempt)
	add := func(name string, value, zero any) {
		if value != zero {
			s += fmt.Sprintf(" %s=%v", name, value)
		}
	}
	add("class", e.Class, Class(""))
	add("wait", e.Wait, time.Duration(0))
	add("asked", e.RetryAfter, time.Duration(0))
	add("waited", e.Waited, time.Duration(0))
	add("reason", e.Reason, Reason(""))
	if e.Breaker != "" {
		s += fmt.Sprintf(" %s=%v", e.Breaker, e.BreakerState)
	}
	add("left", e.BudgetLeft, -1.0)
	return s
}

// outcome returns the error of a call as text, without the fields that are
// zero.
func outcome(err error) string {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return fmt.Sprint(err)
	}
	s := fmt.Sprintf("%s: attempts=%d waited=%v err=%v", e.Reason, e.Attempts, e.Waited, e.Err)
	if e.RetryAfter != 0 {
		s += fmt.Sprintf(" asked=%v", e.RetryAfter)
	}
	if e.Escalated {
		s += " escalated"
	}
	if e.Cause != nil {
		s += fmt.Sprintf(" cause=%v", e.Cause)
	}
	return s
}

// TestOutcome compares the events and the error of whole calls. A step of a
// call is an error, a duration that the attempt takes, or a func that runs
// during it; an attempt after the last step succeeds.
func TestOutcome(t *testing.T) {
	const s = time.Second
	shut := errors.New("shutting down")
	refused := errors.New("connection refused")
	open := &breaker.Snapshot{State: breaker.Open, OpenUntil: time.Unix(1<<40, 0)}
	waits := []Class{ClassNetwork, ClassRateLimit, ClassBreakerOpen}
	for _, tt := range []struct {
		name    string
		policy  Policy
		breaker *breaker.Snapshot // of a breaker b that opens after 2 failures for 30s, or nil
		cancel  time.Duration     // when the caller cancels; 0: never
		limit   time.Duration     // of the caller's context; 0: none
		steps   []error
		want    string
	}{
		{"two failures", Policy{}, nil, 0, 0, []error{refused, status(503)}, `
			retry 1 class=network wait=1s
			retry 2 class=server_error wait=2s waited=1s
			<nil>`},
		{"exhausted", Policy{Schedule: Schedule{MaxAttempts: 2, Escalate: true}}, nil, 0, 0, []error{refused, refused}, `
			retry 1 class=network wait=1s
			stop 2 class=network waited=1s reason=attempts exhausted
			attempts exhausted: attempts=2 waited=1s err=connection refused escalated`},
		{"permanent at the second attempt", Policy{Schedule: Schedule{Escalate: true}}, nil, 0, 0,
			[]error{refused, status(404)}, `
			retry 1 class=network wait=1s
			stop 2 waited=1s reason=permanent error
			permanent error: attempts=2 waited=1s err=status 404`},
		{"not authorized", Policy{}, nil, 0, 0, []error{status(401)}, `
			stop 1 reason=escalated
			escalated: attempts=1 waited=0s err=status 401 escalated`},
		{"forbidden", Policy{}, nil, 0, 0, []error{refused, status(403)}, `
			retry 1 class=network wait=1s
			stop 2 waited=1s reason=escalated
			escalated: attempts=2 waited=1s err=status 403 escalated`},
		{"canceled during a wait", Policy{Schedule: Schedule{Escalate: true}}, nil, 2 * s, 0, []error{refused, refused}, `
			retry 1 class=network wait=1s
			retry 2 class=network wait=2s waited=1s
			stop 2 class=network waited=1s reason=canceled
			canceled: attempts=2 waited=1s err=connection refused cause=shutting down`},
		{"canceled during an attempt", Policy{}, nil, s, 0, []error{takes{s, refused}}, `
			stop 1 class=network reason=canceled
			canceled: attempts=1 waited=0s err=connection refused cause=shutting down`},
		{"canceled, and the error shows it", Policy{}, nil, s, 0, []error{takes{s, context.Canceled}}, `
			stop 1 class=canceled reason=canceled
			context canceled`},
		{"canceled, and the error shows another end", Policy{}, nil, s, 0, []error{takes{s, context.DeadlineExceeded}}, `
			stop 1 class=timeout reason=canceled
			canceled: attempts=1 waited=0s err=context deadline exceeded cause=shutting down`},
		{"canceled later, and the error shows it", Policy{}, nil, 2 * s, 0, []error{refused, takes{s, context.Canceled}}, `
			retry 1 class=network wait=1s
			stop 2 class=canceled waited=1s reason=canceled
			canceled: attempts=2 waited=1s err=context canceled cause=shutting down`},
		{"past the deadline", Policy{}, nil, 0, s, []error{takes{s, refused}}, `
			stop 1 class=network reason=deadline too near
			deadline too near: attempts=1 waited=0s err=connection refused cause=shutting down`},
		{"past the deadline, and the error shows it", Policy{}, nil, 0, s, []error{takes{s, context.DeadlineExceeded}}, `
			stop 1 class=timeout reason=deadline too near
			context deadline exceeded`},
		{"past the deadline, and the error shows another end", Policy{}, nil, 0, s, []error{takes{s, context.Canceled}}, `
			stop 1 class=canceled reason=deadline too near
			deadline too near: attempts=1 waited=0s err=context canceled cause=shutting down`},
		{"deadline too near", Policy{}, nil, 0, 3 * s, []error{refused, refused}, `
			retry 1 class=network wait=1s
			stop 2 class=network waited=1s reason=deadline too near
			deadline too near: attempts=2 waited=1s err=connection refused cause=context deadline exceeded`},
		{"deadline before the timeout", Policy{Timeout: time.Minute}, nil, 0, 3 * s, []error{refused, refused}, `
			retry 1 class=network wait=1s
			stop 2 class=network waited=1s reason=deadline too near
			deadline too near: attempts=2 waited=1s err=connection refused cause=context deadline exceeded`},
		{"asked to wait", Policy{}, nil, 0, 0, []error{After(refused, 5*s), After(refused, 0)}, `
			retry 1 class=rate_limit wait=5s asked=5s
			retry 2 class=rate_limit wait=2s waited=5s
			<nil>`},
		{"asked, and stopped", Policy{Schedule: Schedule{MaxAttempts: 1, Escalate: true}}, nil, 0, 0,
			[]error{After(refused, 5*s)}, `
			stop 1 class=rate_limit reason=attempts exhausted
			attempts exhausted: attempts=1 waited=0s err=connection refused asked=5s escalated`},
		{"asked what no one can read, and stopped", Policy{Schedule: Schedule{MaxAttempts: 1, Escalate: true}}, nil, 0, 0,
			[]error{After(refused, -1)}, `
			stop 1 class=rate_limit reason=attempts exhausted
			attempts exhausted: attempts=1 waited=0s err=connection refused escalated`},
		{"asked too long, without the time for the delay", Policy{DelayBudget: s / 2}, nil, 0, 0,
			[]error{After(refused, 5*s)}, `
			stop 1 class=rate_limit reason=delay budget exhausted
			delay budget exhausted: attempts=1 waited=0s err=connection refused asked=5s`},
		{"asked less than the delay, without the time", Policy{DelayBudget: s / 2}, nil, 0, 0, []error{After(refused, s)}, `
			stop 1 class=rate_limit reason=delay budget exhausted
			delay budget exhausted: attempts=1 waited=0s err=connection refused asked=1s`},

		{"failures open the breaker", Policy{}, &breaker.Snapshot{}, 0, 0, []error{refused, refused}, `
			retry 1 class=network wait=1s b=closed
			stop 2 class=network waited=1s reason=breaker open b=open
			breaker open: attempts=2 waited=1s err=connection refused cause=breaker b is open and admits calls again in 30s`},
		{"escalates with the breaker open", Policy{Schedule: Schedule{Escalate: true}}, open, 0, 0, nil, `
			stop 0 reason=breaker open b=open
			breaker open: attempts=0 waited=0s err=<nil> escalated cause=breaker b is open and admits calls again in 30s`},
		{"a refusal without an error is of no class", Policy{PerError: []Override{{ClassAny, Schedule{Escalate: true}}}},
			open, 0, 0, nil, `
			stop 0 reason=breaker open b=open
			breaker open: attempts=0 waited=0s err=<nil> cause=breaker b is open and admits calls again in 30s`},
		{"refused by the breaker", Policy{}, open, 0, 0, nil, `
			stop 0 reason=breaker open b=open
			breaker open: attempts=0 waited=0s err=<nil> cause=breaker b is open and admits calls again in 30s`},
		{"refused by an escalated breaker", Policy{}, &breaker.Snapshot{State: breaker.Escalated}, 0, 0, nil, `
			stop 0 reason=breaker open b=escalated
			breaker open: attempts=0 waited=0s err=<nil> escalated cause=breaker b is escalated and admits no call until Reset`},
		{"canceled before it starts", Policy{}, open, 1, 0, nil, `
			stop 0 reason=canceled b=open
			canceled: attempts=0 waited=0s err=<nil> cause=shutting down`},
		{"one attempt, refused", Policy{RetryOn: waits, Schedule: Schedule{MaxAttempts: 1}}, open, 0, 0, nil, `
			stop 0 class=breaker_open reason=attempts exhausted b=open
			attempts exhausted: attempts=0 waited=0s err=breaker b is open and admits calls again in 30s cause=breaker b is open and admits calls again in 30s`},
		{"canceled while refused", Policy{RetryOn: waits}, open, 2 * s, 0, nil, `
			retry 0 class=breaker_open wait=1s b=open
			retry 0 class=breaker_open wait=2s waited=1s b=open
			stop 0 class=breaker_open waited=1s reason=canceled b=open
			canceled: attempts=0 waited=1s err=breaker b is open and admits calls again in 29s cause=shutting down`},
		{"a wait longer than the breaker is open",
			Policy{Schedule: Schedule{MaxAttempts: 4, Backoff: BackoffFixed, InitialDelay: 30*s + 1, MaxDelay: None}},
			&breaker.Snapshot{}, 0, 0, []error{refused, refused, refused}, `
			retry 1 class=network wait=30.000000001s b=closed
			retry 2 class=network wait=30.000000001s waited=30.000000001s b=open
			retry 3 class=network wait=30.000000001s waited=1m0.000000002s b=open
			<nil>`},
		{"a wait as long as the breaker is open", Policy{Schedule: Schedule{Backoff: BackoffFixed, InitialDelay: 30 * s}},
			&breaker.Snapshot{Failures: 1}, 0, 0, []error{refused}, `
			stop 1 class=network reason=breaker open b=open
			breaker open: attempts=1 waited=0s err=connection refused cause=breaker b is open and admits calls again in 30s`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got strings.Builder
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				switch {
				case tt.cancel == 1:
					cancel(shut)
				case tt.cancel > 0:
					time.AfterFunc(tt.cancel, func() { cancel(shut) })
				}
				if tt.limit > 0 {
					limited, stop := context.WithDeadlineCause(ctx, time.Now().Add(tt.limit), shut)
					defer stop()
					ctx = limited
				}
				ctx = WithObserver(ctx, func(_ context.Context, e Event) { fmt.Fprintln(&got, e.describe()) })
				var b *breaker.Breaker
				if tt.breaker != nil {
					b = breaker.New(breaker.Policy{Name: "b", Failures: 2})
					b.Restore(*tt.breaker)
				}
				attempts := 0
				err := protect(ctx, b, nil, tt.policy, func(context.Context) error {
					if attempts++; attempts > len(tt.steps) {
						return nil
					}
					if step, ok := tt.steps[attempts-1].(takes); ok {
						time.Sleep(step.time)
						synctest.Wait()
						return step.error
					}
					return tt.steps[attempts-1]
				})
				got.WriteString(outcome(err))
				if want := strings.TrimSpace(strings.ReplaceAll(tt.want, "\n\t\t\t", "\n")); got.String() != want {
					t.Errorf("got:\n%s\nwant:\n%s", got.String(), want)
				}
			})
		})
	}
}

// takes is the error of an attempt that takes a time.
type takes struct {
	time time.Duration
	error
}
