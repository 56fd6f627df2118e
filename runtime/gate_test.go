package retry

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/capacity"
)

// gated calls op under p through a gate.
func gated(ctx context.Context, g capacity.Gate, p Policy, op func(context.Context) error) error {
	_, err := DoWith(ctx, &p, Shared{Gate: g}, func(ctx context.Context) (int, error) { return 0, op(ctx) })
	return err
}

func succeeds(context.Context) error { return nil }

// occupied returns a gate with a limiter whose only permit is in use for a time.
func occupied(p capacity.LimiterPolicy, d time.Duration) capacity.Gate {
	p.Limit = 1
	l := capacity.NewLimiter(p)
	l.TryAcquire()
	time.AfterFunc(d, l.Release)
	return capacity.Gate{Limiter: l}
}

// TestRefused: a refused call makes no attempt, and says what has refused it.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		partner := capacity.RatePolicy{Name: "partner", Events: 1, Per: 3 * time.Second, MaxWait: capacity.NoWait}
		rate := capacity.NewRate(partner)
		rate.Allow()
		throttle := capacity.NewThrottle(capacity.ThrottlePolicy{Name: "search", MaxShare: 1, MinCalls: 1})
		for range 1000 {
			throttle.Report(capacity.Overload)
		}
		for name, tt := range map[string]struct {
			gate   capacity.Gate
			reason Reason
			class  Class
			text   string
		}{
			"limiter": {
				occupied(capacity.LimiterPolicy{Name: "db", MaxWait: capacity.NoWait}, time.Hour), ErrLimited, ClassLimited,
				"p: concurrency limit db is reached: no permit is free",
			},
			"rate": {capacity.Gate{Rate: rate}, ErrRateLimited, ClassRateLimited,
				"p: rate limit partner is reached and admits an attempt in 3s"},
			"throttle": {capacity.Gate{Throttle: throttle}, ErrThrottled, ClassThrottled,
				"p: throttle search has refused the attempt: the service fails too often"},
		} {
			var seen Event
			ctx := WithObserver(t.Context(), func(_ context.Context, e Event) { seen = e })
			err := gated(ctx, tt.gate, Policy{Name: "p"}, func(context.Context) error { panic("an attempt") })
			e, ok := errors.AsType[*Error](err)
			if !ok || !errors.Is(err, tt.reason) || e.Attempts != 0 || e.Error() != tt.text {
				t.Errorf("%s: got %v", name, err)
			}
			if _, ok := errors.AsType[capacity.Refusal](err); !ok || seen.Reason != tt.reason || seen.Attempt != 0 {
				t.Errorf("%s: got %#v, %+v", name, err, seen)
			}
			// A call that retries refusals ends for a different reason, and is still known as refused.
			retried := Policy{Name: "p", Schedule: Schedule{MaxAttempts: 1}, RetryOn: []Class{tt.class}}
			err = gated(t.Context(), tt.gate, retried, func(context.Context) error { panic("an attempt") })
			if !errors.Is(err, ErrAttempts) || !errors.Is(err, tt.reason) {
				t.Errorf("%s: got %v, want an error that matches %v and %v", name, err, ErrAttempts, tt.reason)
			}
			// A caller of the call does not try again by default, and may do so by the class.
			outer := Policy{RetryUnknown: true, RetryOn: nil}
			if outer.Retries(err) {
				t.Errorf("%s: an outer policy retries it", name)
			}
			if outer.RetryOn = []Class{tt.class}; !outer.Retries(err) {
				t.Errorf("%s: an outer policy does not retry class %s", name, tt.class)
			}
			if outer.RetryOn = []Class{ClassRateLimit, ClassTransient}; outer.Retries(err) {
				t.Errorf("%s: the refusal passes for one of the server", name)
			}
		}
	})
}

// TestWaitAtGate: waits count against the limits of the call, and are not part of an attempt.
func TestWaitAtGate(t *testing.T) {
	const ms = time.Millisecond
	retried := Policy{Schedule: Schedule{MaxAttempts: 2, InitialDelay: time.Second}, RetryOn: []Class{ClassLimited}}
	for name, tt := range map[string]struct {
		policy Policy
		limits capacity.LimiterPolicy
		held   time.Duration // by another call
		ends   time.Duration // when the call ends
		reason Reason
	}{
		"succeeds":           {Policy{}, capacity.LimiterPolicy{}, 300 * ms, 400 * ms, ""},
		"gives up":           {Policy{}, capacity.LimiterPolicy{}, time.Second, 500 * ms, ErrLimited},
		"attempt timeout":    {Policy{AttemptTimeout: 150 * ms}, capacity.LimiterPolicy{}, 300 * ms, 400 * ms, ""},
		"timeout":            {Policy{Timeout: 200 * ms}, capacity.LimiterPolicy{}, time.Second, 200 * ms, ErrDeadline},
		"timeout in attempt": {Policy{Timeout: 350 * ms}, capacity.LimiterPolicy{}, 300 * ms, 350 * ms, ErrDeadline},
		"retried":            {retried, capacity.LimiterPolicy{}, 1200 * ms, 1600 * ms, ""},
		"exhausted":          {retried, capacity.LimiterPolicy{MaxWait: capacity.NoWait}, time.Hour, 1000 * ms, ErrAttempts},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				err := gated(t.Context(), occupied(tt.limits, tt.held), tt.policy, func(ctx context.Context) error {
					select {
					case <-time.After(100 * time.Millisecond):
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				})
				if got := time.Since(begun); got != tt.ends {
					t.Errorf("the call ended after %v, want %v", got, tt.ends)
				}
				if tt.reason == "" && err != nil || tt.reason != "" && !errors.Is(err, tt.reason) {
					t.Errorf("got %v, want %v", err, tt.reason)
				}
			})
		})
	}
}

// TestPermitIsHeldByAttempt: an attempt holds a permit, and nothing else does: not a backoff,
// a panic, a cancellation, or a call whose breaker opened while it waited.
func TestPermitIsHeldByAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := capacity.NewLimiter(capacity.LimiterPolicy{Limit: 1})
		g := capacity.Gate{Limiter: l, Rate: capacity.NewRate(capacity.RatePolicy{Events: 1000, Burst: 100})}
		free := func(what string) {
			t.Helper()
			if l.InUse() != 0 {
				t.Errorf("%s: a permit is in use", what)
			}
		}
		ctx := WithObserver(t.Context(), func(_ context.Context, e Event) { free("between attempts") })
		err := gated(ctx, g, Policy{RetryUnknown: true}, func(context.Context) error {
			if l.InUse() != 1 {
				t.Error("an attempt holds no permit")
			}
			return errFailed
		})
		if !errors.Is(err, ErrAttempts) {
			t.Errorf("got %v", err)
		}
		func() {
			defer func() { _ = recover() }()
			_ = gated(t.Context(), g, Policy{}, func(context.Context) error { panic("op") })
		}()
		free("panic")
		ctx, cancel := context.WithCancel(t.Context())
		_ = gated(ctx, g, Policy{}, func(ctx context.Context) error { cancel(); return ctx.Err() })
		free("canceled")

		b := breaker.New(breaker.Policy{Failures: 1})
		l.TryAcquire()
		var wait sync.WaitGroup
		wait.Go(func() {
			op := func(context.Context) (int, error) { panic("an attempt") }
			_, err = DoWith(t.Context(), &Policy{}, Shared{Breaker: b, Gate: g}, op)
		})
		synctest.Wait()
		b.ForceOpen()
		l.Release()
		wait.Wait()
		if free("opened"); !errors.Is(err, ErrBreakerOpen) {
			t.Errorf("got %v, want the refusal of the breaker", err)
		}
	})
}

// TestOpenBreakerTakesNoTurn: a breaker that is open refuses before the rate is asked.
func TestOpenBreakerTakesNoTurn(t *testing.T) {
	b := breaker.New(breaker.Policy{})
	b.ForceOpen()
	g := capacity.Gate{Rate: capacity.NewRate(capacity.RatePolicy{Events: 1, Per: time.Hour})}
	op := func(context.Context) (int, error) { panic("an attempt") }
	if _, err := DoWith(t.Context(), &Policy{}, Shared{Breaker: b, Gate: g}, op); !errors.Is(err, ErrBreakerOpen) {
		t.Errorf("got %v", err)
	}
	if !g.Rate.Allow() {
		t.Error("the refused attempt has taken a turn of the rate")
	}
}

// TestRetryWaitsForTurn: a retried refusal by a rate waits until the rate admits an attempt.
func TestRetryWaitsForTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := capacity.Gate{Rate: capacity.NewRate(capacity.RatePolicy{Events: 1, Per: time.Minute, MaxWait: capacity.NoWait})}
		g.Rate.Allow()
		begun := time.Now()
		p := Policy{Schedule: Schedule{InitialDelay: time.Second}, RetryOn: []Class{ClassRateLimited}}
		if err := gated(t.Context(), g, p, succeeds); err != nil || time.Since(begun) != time.Minute {
			t.Errorf("got %v after %v, want success after a minute", err, time.Since(begun))
		}
	})
}

// TestRefusalInEvent: the event of a retry after a refusal has the refusal, and no breaker that
// the call has as well.
func TestRefusalInEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []Event
		ctx := WithObserver(t.Context(), func(_ context.Context, e Event) { seen = append(seen, e) })
		g := occupied(capacity.LimiterPolicy{Name: "db", MaxWait: capacity.NoWait}, 500*time.Millisecond)
		p := Policy{Name: "p", Schedule: Schedule{InitialDelay: time.Second}, RetryOn: []Class{ClassLimited}}
		s := Shared{Gate: g, Breaker: breaker.New(breaker.Policy{Name: "up"})}
		_, err := DoWith(ctx, &p, s, func(context.Context) (int, error) { return 0, nil })
		if err != nil || len(seen) != 1 {
			t.Fatalf("got %v, and %d events", err, len(seen))
		}
		e := seen[0]
		want := capacity.Refusal{By: capacity.ByLimiter, Name: "db"}
		if e.Kind != EventRetry || e.Err != want || e.Class != ClassLimited || e.Attempt != 0 || e.AdmitsIn != 0 {
			t.Errorf("got %+v", e)
		}
	})
}

// TestThrottleCounts: an error that shows no overload is an answer of the service.
func TestThrottleCounts(t *testing.T) {
	for name, tt := range map[string]struct {
		err       error
		throttled bool
	}{
		"success":             {nil, false},
		"not found":           {status(404), false},
		"unavailable":         {status(503), true},
		"rate limited":        {status(429), true},
		"unknown":             {errors.New("odd"), false},
		"canceled":            {context.Canceled, false},
		"refused in the call": {&Error{Reason: ErrLimited}, false},
	} {
		th := capacity.NewThrottle(capacity.ThrottlePolicy{})
		for range 100 {
			_ = gated(t.Context(), capacity.Gate{Throttle: th}, Policy{Schedule: Schedule{MaxAttempts: 1}},
				func(context.Context) error { return tt.err })
		}
		if got := th.Share() > 0; got != tt.throttled {
			t.Errorf("%s: throttled is %v, want %v", name, got, tt.throttled)
		}
	}
}

// TestAdaptiveSamples: an adaptive limit falls after slow answers and timeouts, not after
// errors that come fast.
func TestAdaptiveSamples(t *testing.T) {
	for name, tt := range map[string]struct {
		err   error
		takes time.Duration
		falls bool
	}{
		"fast":      {nil, 10 * time.Millisecond, false},
		"slow":      {nil, 300 * time.Millisecond, true},
		"timeout":   {nil, time.Minute, true},
		"overload":  {status(503), 20 * time.Millisecond, true},
		"not found": {status(404), 20 * time.Millisecond, false},
		"internal":  {status(500), 20 * time.Millisecond, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := capacity.NewLimiter(capacity.LimiterPolicy{Target: 200 * time.Millisecond})
				p := Policy{Schedule: Schedule{MaxAttempts: 1}, AttemptTimeout: time.Second}
				var wait sync.WaitGroup
				for range l.Limit() {
					wait.Go(func() {
						for range 20 {
							_ = gated(t.Context(), capacity.Gate{Limiter: l}, p, func(ctx context.Context) error {
								select {
								case <-time.After(tt.takes):
									return tt.err
								case <-ctx.Done():
									return ctx.Err()
								}
							})
						}
					})
				}
				wait.Wait()
				if falls := l.Limit() < 20; falls != tt.falls {
					t.Errorf("the limit is %d, falling %v", l.Limit(), tt.falls)
				}
			})
		})
	}
}
