package retry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
)

func TestLog(t *testing.T) {
	for want, e := range map[string]Event{
		`level=INFO msg=retry policy=p wait=1s call=7 attempt=1 class=network breaker=b breaker_state=open budget_left=0 err=failed`: {
			Policy: "p", Call: 7, Attempt: 1, Err: errFailed, Class: ClassNetwork, Wait: time.Second,
			Breaker: "b", BreakerState: breaker.Open,
		},
		`level=INFO msg=retry policy=p wait=0s call=7 attempt=2`: {Policy: "p", Call: 7, Attempt: 2, BudgetLeft: -1},
		`level=WARN msg="retries stopped" policy=p reason="attempts exhausted" call=7 attempt=3`: {
			Kind: EventStop, Policy: "p", Call: 7, Attempt: 3, Reason: ErrAttempts, BudgetLeft: -1,
		},
		`level=WARN msg="retries stopped" policy=p reason="permanent error" call=7 attempt=1 class=none err=failed`: {
			Kind: EventStop, Policy: "p", Call: 7, Attempt: 1, Err: errFailed, Reason: ErrPermanent, BudgetLeft: -1,
		},
		`level=WARN msg="retries stopped" policy=p reason="retry-after too long" retry_after=1m0s call=7 attempt=1` +
			` class=rate_limit err=failed`: {
			Kind: EventStop, Policy: "p", Call: 7, Attempt: 1, Err: errFailed, Class: ClassRateLimit, Reason: ErrRetryAfter,
			RetryAfter: time.Minute, BudgetLeft: -1,
		},
		`level=WARN msg="timeout clamped to the hard limit" policy=p timeout=1m0s`: {
			Kind: EventTimeoutClamped, Policy: "p", Timeout: time.Minute, BudgetLeft: -1,
		},
		`level=WARN msg="timeout captured" policy=p timeout=1m0s call=7 attempt=1`: {
			Kind: EventCapture, Policy: "p", Call: 7, Attempt: 1, Timeout: time.Minute, BudgetLeft: -1,
		},
		`level=WARN msg="timeout not captured" policy=p timeout=1m0s call=7 attempt=1 class=none err=failed`: {
			Kind: EventCapture, Policy: "p", Call: 7, Attempt: 1, Timeout: time.Minute, Err: errFailed, BudgetLeft: -1,
		},
	} {
		var out bytes.Buffer
		Log(slog.New(slog.NewTextHandler(&out, nil)))(t.Context(), e)
		if _, got, _ := strings.Cut(strings.TrimSpace(out.String()), " "); got != want { // without the time
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// An observer is called with the context that the call was given, which may be
// derived from that with the observer.
func TestObserverContext(t *testing.T) {
	type key struct{}
	var got []any
	observed := WithObserver(t.Context(), func(ctx context.Context, _ Event) { got = append(got, ctx.Value(key{})) })
	ctx := context.WithValue(observed, key{}, "request")
	p := Policy{Schedule: Schedule{MaxAttempts: 2, InitialDelay: None}, Scope: "flow", Timeout: 2, HardLimit: 1}
	_, _ = Do(ctx, &p, func(context.Context) (int, error) { return 0, errFailed })
	if len(got) < 2 || slices.ContainsFunc(got, func(v any) bool { return v != "request" }) {
		t.Errorf("the observer was called in contexts with %q, want the caller's", got)
	}
}

// The names of values, and of values that are none.
func TestNames(t *testing.T) {
	for value, want := range map[fmt.Stringer]string{
		BackoffExponential: "exponential", BackoffCustom: "custom", BackoffCustom + 1: "unknown backoff",
		JitterNone: "none", JitterAdditive: "additive", JitterAdditive + 1: "unknown jitter",
		ActionDefault: "as policy", ActionEscalate: "escalate", ActionEscalate + 1: "unknown action",
		EventRetry: "retry", EventTimeoutClamped: "timeout clamped", EventCapture: "capture",
		EventHedge: "hedge", EventHedge + 1: "unknown",
	} {
		if got := value.String(); got != want {
			t.Errorf("%#v is %q, want %q", value, got, want)
		}
	}
}

// The events of a call share its number, and show its budget.
func TestEventsOfCall(t *testing.T) {
	p := Policy{Schedule: Schedule{InitialDelay: None}}
	calls := map[uint64]int{}
	var left []float64
	ctx := WithObserver(t.Context(), func(_ context.Context, e Event) {
		calls[e.Call]++
		left = append(left, e.BudgetLeft)
	})
	limit := budget.New(budget.Policy{Burst: 10, MinPerSecond: budget.NoRefill})
	for range 2 {
		_ = protect(ctx, nil, limit, p, func(context.Context) error { return errFailed })
	}
	if want := []float64{9, 8, 8, 7, 6, 6}; !slices.Equal(left, want) {
		t.Errorf("retries left are %v, want %v", left, want)
	}
	for range 100 {
		_ = protect(ctx, nil, nil, p, func(context.Context) error { return errFailed })
	}
	for call, events := range calls {
		if call == 0 || events != 3 {
			t.Errorf("call %d has %d events, want 3", call, events)
		}
	}
	if len(calls) != 102 {
		t.Errorf("%d numbers of 102 calls", len(calls))
	}
}

func TestErrorText(t *testing.T) {
	for want, e := range map[string]Error{
		"p: attempts exhausted after 3 attempts and 1.235s of waiting: failed": {
			Policy: "p", Reason: ErrAttempts, Attempts: 3, Waited: 1234567 * time.Microsecond, Err: errFailed,
		},
		"canceled after 1 attempt and 999.999µs of waiting: failed": {
			Reason: ErrCanceled, Attempts: 1, Waited: 999999, Err: errFailed,
		},
		"canceled after 2 attempts and 1ms of waiting: failed": {
			Reason: ErrCanceled, Attempts: 2, Waited: time.Millisecond + 1, Err: errFailed,
		},
		"p: canceled": {Policy: "p", Reason: ErrCanceled},
	} {
		if got := e.Error(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestLongWaitText: the text of ErrRetryAfter has the wait that the error asks for,
// and what the limit that it exceeds allows.
func TestLongWaitText(t *testing.T) {
	failOver := func(limit time.Duration) Schedule {
		return Schedule{RetryAfter: RetryAfter{Max: limit, FailOver: true}}
	}
	for want, p := range map[string]Policy{
		"(10m0s, above max 1m0s)":               {Schedule: failOver(time.Minute)},
		"(10m0s, above max 5m0s)":               {Schedule: failOver(0)},
		"(10m0s, 20s left until the deadline)":  {Timeout: 20 * time.Second},
		"(10m0s, 1m0s left of max elapsed)":     {MaxElapsed: time.Minute},
		"(10m0s, 29s left of the delay budget)": {DelayBudget: 30 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			first := true
			_, err := Do(t.Context(), &p, func(context.Context) (int, error) {
				if first && p.DelayBudget > 0 {
					first = false
					return 0, errFailed
				}
				return 0, After(errFailed, 10*time.Minute)
			})
			if !errors.Is(err, ErrRetryAfter) || !strings.Contains(err.Error(), "retry-after too long "+want) {
				t.Errorf("got %q, want %q", err, want)
			}
		})
	}
}

// TestErrorIs compares what an error is and is not.
func TestErrorIs(t *testing.T) {
	all := []error{errFailed, ErrAttempts, ErrCanceled, ErrEscalated, ErrDeadline, context.Canceled,
		context.DeadlineExceeded, io.EOF}
	for i, tt := range []struct {
		err     Error
		is      []error
		timeout bool
	}{
		{Error{Reason: ErrAttempts, Err: errFailed}, []error{errFailed, ErrAttempts}, false},
		{Error{Reason: ErrAttempts, Err: errFailed, Escalated: true}, []error{errFailed, ErrAttempts, ErrEscalated}, false},
		{Error{Reason: ErrEscalated, Err: errFailed, Escalated: true}, []error{errFailed, ErrEscalated}, false},
		{Error{Reason: ErrCanceled, Cause: io.EOF}, []error{ErrCanceled, context.Canceled, io.EOF}, false},
		{Error{Reason: ErrDeadline, Err: errFailed}, []error{errFailed, ErrDeadline, context.DeadlineExceeded}, true},
		{Error{Reason: ErrAttempts, Err: ErrAttemptTimeout}, []error{ErrAttempts, context.DeadlineExceeded}, true},
		{Error{Reason: ErrAttempts, Err: notTimeout{}}, []error{ErrAttempts}, false},
		{Error{Reason: ErrBreakerOpen, Cause: Refusal{State: breaker.Escalated}}, []error{ErrEscalated}, false},
	} {
		for _, target := range all {
			if got, want := errors.Is(&tt.err, target), slices.Contains(tt.is, target); got != want {
				t.Errorf("%d: errors.Is(%v, %v) is %v, want %v", i, &tt.err, target, got, want)
			}
		}
		if got := tt.err.Timeout(); got != tt.timeout {
			t.Errorf("%d: %v is a timeout: %v, want %v", i, &tt.err, got, tt.timeout)
		}
		if list := tt.err.Unwrap(); slices.Contains(list, nil) || len(list) > 4 {
			t.Errorf("%d: unwraps to %v", i, list)
		}
	}
	if list := (&Error{Reason: ErrEscalated, Err: errFailed, Escalated: true}).Unwrap(); len(list) != 2 {
		t.Errorf("unwraps to %v, want the error and the reason", list)
	}
}

// notTimeout is an error with a method Timeout that returns false.
type notTimeout struct{}

func (notTimeout) Error() string { return "no timeout" }
func (notTimeout) Timeout() bool { return false }

func TestMarks(t *testing.T) {
	if Permanent(nil) != nil || After(nil, time.Second) != nil {
		t.Error("a mark of nil is an error")
	}
	for err, want := range map[error]time.Duration{After(errFailed, -5): -1, After(errFailed, -1): -1,
		After(errFailed, 0): 0} {
		if f := new(Policy).inspect(err); f.after != want || err.Error() != "failed" {
			t.Errorf("%v asks for %v, want %v", err, f.after, want)
		}
	}
}
