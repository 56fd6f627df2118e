package retry

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// captures runs one call of op under p in virtual time, and returns what was
// captured, and the observed events.
func captures(t *testing.T, p Policy, derive func(context.Context) (context.Context, context.CancelFunc),
	op func(context.Context) error) (all []Timeout, events []EventKind) {
	t.Helper()
	p.Name, p.Capture = "build", true
	synctest.Test(t, func(t *testing.T) {
		ctx := WithObserver(t.Context(), func(_ context.Context, e Event) {
			events = append(events, e.Kind)
			if e.Kind == EventCapture && (e.Err != nil || e.Timeout != all[len(all)-1].Limit) {
				t.Errorf("event %+v after %+v", e, all[len(all)-1])
			}
		})
		ctx = WithCapture(ctx, func(_ context.Context, c Timeout) error {
			c.Err = nil
			all = append(all, c)
			return nil
		})
		if derive != nil {
			var cancel context.CancelFunc
			ctx, cancel = derive(ctx)
			defer cancel()
		}
		_, err := Do(ctx, &p, func(ctx context.Context) (struct{}, error) { return struct{}{}, op(ctx) })
		if err == nil {
			t.Error("the call succeeds")
		}
	})
	return all, events
}

func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestCapture: every limit on time that ends an attempt or the call is captured,
// with the time that it allowed, and with what the policy decided.
func TestCapture(t *testing.T) {
	once := Schedule{MaxAttempts: 1, InitialDelay: time.Second}
	within := func(d time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
		return func(ctx context.Context) (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, d) }
	}
	for _, c := range []struct {
		name   string
		policy Policy
		derive func(context.Context) (context.Context, context.CancelFunc)
		op     func(context.Context) error
		want   []Timeout
	}{
		{"the timeout of the call", Policy{Schedule: once, Scope: "step", Timeout: time.Minute}, nil, hang, []Timeout{
			{Scope: "step", Limit: time.Minute, Elapsed: time.Minute, Action: ActionFail},
		}},
		{"attempts, and then the call",
			Policy{AttemptTimeout: 4 * time.Second, Timeout: 10 * time.Second, Schedule: Schedule{InitialDelay: time.Second}},
			nil, hang, []Timeout{
				{Limit: 4 * time.Second, Elapsed: 4 * time.Second, Action: ActionRetry},
				{Limit: 4 * time.Second, Elapsed: 4 * time.Second, Retries: 1, Action: ActionFail}, // 1s left, 2s to wait
			}},
		{"the last attempt",
			Policy{AttemptTimeout: time.Second, Timeout: time.Minute, Schedule: Schedule{MaxAttempts: 1, Escalate: true}},
			nil, hang, []Timeout{{Limit: time.Second, Elapsed: time.Second, Action: ActionEscalate}}},
		{"the caller's deadline", Policy{Timeout: time.Minute}, within(5 * time.Second), hang, []Timeout{
			{Limit: 5 * time.Second, Elapsed: 5 * time.Second, Action: ActionFail},
		}},
		{"no time for a wait", Policy{Timeout: 1500 * time.Millisecond}, nil, func(context.Context) error {
			time.Sleep(100 * time.Millisecond)
			return errFailed
		}, []Timeout{
			{Limit: 1500 * time.Millisecond, Elapsed: 1200 * time.Millisecond, Retries: 1, Action: ActionFail},
		}},
		{"a timeout given at run time",
			Policy{Schedule: once, Scope: "step", Timeout: time.Minute, HardLimit: 2 * time.Minute},
			func(ctx context.Context) (context.Context, context.CancelFunc) {
				return WithScopeTimeout(ctx, "step", time.Hour), func() {}
			}, hang, []Timeout{
				{Scope: "step", Limit: 2 * time.Minute, Elapsed: 2 * time.Minute, Action: ActionFail},
			}},
		{"a cancellation", Policy{Timeout: time.Minute}, func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		}, hang, nil},
		{"errors", Policy{Timeout: time.Minute, Schedule: Schedule{MaxAttempts: 2}}, nil,
			func(context.Context) error { return context.DeadlineExceeded }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i := range c.want {
				c.want[i].Policy = "build"
			}
			if got, events := captures(t, c.policy, c.derive, c.op); !slices.Equal(got, c.want) {
				t.Errorf("got %+v, want %+v; events %v", got, c.want, events)
			}
		})
	}
}

// TestCaptureOrder: a timeout is captured before the retry or the stop is
// reported, and a clamped timeout is reported once.
func TestCaptureOrder(t *testing.T) {
	p := Policy{
		Scope: "step", HardLimit: time.Minute, AttemptTimeout: time.Second,
		Schedule: Schedule{MaxAttempts: 2, InitialDelay: time.Second},
	}
	_, events := captures(t, p, func(ctx context.Context) (context.Context, context.CancelFunc) {
		return WithScopeTimeout(ctx, "step", time.Hour), func() {}
	}, hang)
	want := []EventKind{EventTimeoutClamped, EventCapture, EventRetry, EventCapture, EventStop}
	if !slices.Equal(events, want) {
		t.Errorf("events %v, want %v", events, want)
	}
}

// TestCaptureWithoutRecorder: it is reported, and only if the policy asks for it.
func TestCaptureWithoutRecorder(t *testing.T) {
	for _, capture := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var reported []error
			ctx := WithObserver(t.Context(), func(_ context.Context, e Event) {
				if e.Kind == EventCapture {
					reported = append(reported, e.Err)
				}
			})
			p := Policy{Name: "build", Timeout: time.Second, Schedule: Schedule{MaxAttempts: 1}, Capture: capture}
			_, err := Do(ctx, &p, func(ctx context.Context) (int, error) { return 0, hang(ctx) })
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v", err)
			}
			if capture && !slices.Equal(reported, []error{errNoCapture}) || !capture && reported != nil {
				t.Errorf("capture %v: reported %v", capture, reported)
			}
		})
	}
}

// TestCaptureCost: a policy that captures costs its successes nothing.
func TestCaptureCost(t *testing.T) {
	ctx := WithCapture(t.Context(), func(context.Context, Timeout) error { return errors.New("unexpected") })
	cost := func(p *Policy) float64 {
		return testing.AllocsPerRun(100, func() {
			call := p.Begin()
			defer call.End()
			if call.Attempt(ctx) == nil {
				t.Error("no context")
			}
		})
	}
	for _, p := range []Policy{{}, {Timeout: time.Minute}} {
		capturing := p
		capturing.Capture = true
		if got, want := cost(&capturing), cost(&p); got != want {
			t.Errorf("timeout %v: %v allocations, without capture %v", p.Timeout, got, want)
		}
	}
}
