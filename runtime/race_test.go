package retry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/capacity"
	"github.com/retrygen/retrygen/runtime/hedge"
)

// hedged calls request as a generated wrapper does. It adds the values of second requests
// that are not used to unused.
func hedged(
	ctx context.Context, p *Policy, s Shared, h *hedge.Hedge, unused *[]string,
	request func(context.Context) (string, error),
) (value string, err error) {
	call := p.BeginWith(s)
	defer call.End()
	for err = call.Admit(ctx); err == nil; err = call.Next(ctx, err) {
		var race struct {
			Race
			value string
		}
		if unused != nil {
			race.Release = func() { *unused = append(*unused, race.value) }
		}
		first := call.Race(ctx, &race.Race, h, func() {
			race.Again(func(ctx context.Context) (err error) {
				race.value, err = request(ctx)
				return err
			})
		})
		value, err = request(first)
		if call.Settle(ctx, err) == hedge.Second {
			value, err = race.value, nil
		}
		if err == nil {
			call.Succeed()
			return value, nil
		}
	}
	return value, err
}

// A response is what a request returns after a time, unless its context ends before.
type response struct {
	after time.Duration
	err   error
}

// service returns a function that answers the first requests and all other ones.
func service(first, second response) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		r, value := first, "first"
		if hedge.Is(ctx) {
			r, value = second, "second"
		}
		select {
		case <-time.After(r.after):
			return value, r.err
		case <-ctx.Done():
			return value, context.Cause(ctx)
		}
	}
}

// TestHedgedAttempt: what an attempt with a second request returns, and when. The second
// one starts after 50 ms.
func TestHedgedAttempt(t *testing.T) {
	const ms = time.Millisecond
	full := func() Shared {
		l := capacity.NewLimiter(capacity.LimiterPolicy{Limit: 1})
		return Shared{Gate: capacity.Gate{Limiter: l}}
	}
	halfOpen := func() Shared {
		b := breaker.New(breaker.Policy{Failures: 1, OpenFor: time.Second})
		permit, _ := b.Admit()
		b.Record(permit, breaker.Failure)
		time.Sleep(2 * time.Second)
		return Shared{Breaker: b}
	}
	for name, tt := range map[string]struct {
		first, second response
		shared        func() Shared
		timeout       time.Duration // of an attempt
		value         string
		err           error
		ends          time.Duration
		hedges        hedge.Counts
		events        string
	}{
		"fast": {first: response{10 * ms, nil}, value: "first", ends: 10 * ms},
		"second wins": {response{500 * ms, nil}, response{20 * ms, nil}, nil, 0, "second", nil, 70 * ms,
			hedge.Counts{Won: 1}, "hedge won"},
		"first wins": {response{60 * ms, nil}, response{50 * ms, nil}, nil, 0, "first", nil, 60 * ms,
			hedge.Counts{Lost: 1}, "hedge lost"},
		"second rescues": {response{60 * ms, status(503)}, response{50 * ms, nil}, nil, 0, "second", nil, 100 * ms,
			hedge.Counts{Won: 1}, "hedge won"},
		"not found": {response{60 * ms, status(404)}, response{50 * ms, nil}, nil, 0, "first", status(404), 60 * ms,
			hedge.Counts{Lost: 1}, "hedge lost"},
		"both fail": {response{60 * ms, status(503)}, response{50 * ms, status(500)}, nil, 0, "first", status(503), 100 * ms,
			hedge.Counts{Lost: 1}, "hedge lost"},
		"no permit": {response{500 * ms, nil}, response{20 * ms, nil}, full, 0, "first", nil, 500 * ms,
			hedge.Counts{Refused: 1}, ""},
		"half-open": {response{500 * ms, nil}, response{20 * ms, nil}, halfOpen, 0, "first", nil, 500 * ms,
			hedge.Counts{Refused: 1}, ""},
		"timeout": {response{500 * ms, nil}, response{500 * ms, nil}, nil, 100 * ms, "first", ErrAttemptTimeout, 100 * ms,
			hedge.Counts{Lost: 1}, "hedge lost"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var shared Shared
				if tt.shared != nil {
					shared = tt.shared()
				}
				events := ""
				ctx := WithObserver(t.Context(), func(_ context.Context, e Event) {
					if e.Kind == EventHedge {
						if events = "hedge lost"; e.Won {
							events = "hedge won"
						}
					}
				})
				h := hedge.New(hedge.Policy{After: 50 * ms})
				p := Policy{Schedule: Schedule{MaxAttempts: 1}, AttemptTimeout: tt.timeout}
				begun := time.Now()
				value, err := hedged(ctx, &p, shared, h, nil, service(tt.first, tt.second))
				if got := time.Since(begun); got != tt.ends {
					t.Errorf("the call ended after %v, want %v", got, tt.ends)
				}
				if value != tt.value || !errors.Is(err, tt.err) {
					t.Errorf("got %q, %v; want %q, %v", value, err, tt.value, tt.err)
				}
				if h.Counts() != tt.hedges || events != tt.events {
					t.Errorf("got %+v, %q; want %+v, %q", h.Counts(), events, tt.hedges, tt.events)
				}
				if l := shared.Gate.Limiter; l != nil && l.InUse() != 0 {
					t.Errorf("%d permits are in use", l.InUse())
				}
			})
		})
	}
}

// TestHedgedPanic: a panic of either request reaches the caller when both have ended, and no
// permit is in use.
func TestHedgedPanic(t *testing.T) {
	for _, second := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l := capacity.NewLimiter(capacity.LimiterPolicy{Limit: 2})
			var running atomic.Int64
			func() {
				defer func() {
					if value := recover(); !strings.Contains(fmt.Sprint(value), "a bug") {
						t.Errorf("recovered %v", value)
					}
				}()
				h := hedge.New(hedge.Policy{After: time.Second})
				_, _ = hedged(t.Context(), &Policy{}, Shared{Gate: capacity.Gate{Limiter: l}}, h, nil,
					func(ctx context.Context) (string, error) {
						running.Add(1)
						defer running.Add(-1)
						if hedge.Is(ctx) == second {
							time.Sleep(2 * time.Second)
							panic("a bug")
						}
						time.Sleep(5 * time.Second)
						return "", ctx.Err()
					})
			}()
			if n := running.Load(); n > 0 || l.InUse() != 0 {
				t.Errorf("second %v: %d requests run; %d permits are in use", second, n, l.InUse())
			}
		})
	}
}

// TestReleaseUnused: a result of the second request is released once if it is not used,
// also after a panic of the first request. The requests do not watch their contexts.
func TestReleaseUnused(t *testing.T) {
	for name, tt := range map[string]struct {
		first  func() error // after two seconds
		second error
		unused []string
	}{
		"first succeeds": {func() error { return nil }, nil, []string{"second"}},
		"not found":      {func() error { return status(404) }, nil, []string{"second"}},
		"panics":         {func() error { panic("first") }, nil, []string{"second"}},
		"second is used": {func() error { return status(503) }, nil, nil},
		"second fails":   {func() error { return nil }, status(503), nil},
		"both fail":      {func() error { return status(503) }, status(503), nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var unused []string
				h := hedge.New(hedge.Policy{After: time.Second})
				p := Policy{Schedule: Schedule{MaxAttempts: 1}}
				func() {
					defer func() { _ = recover() }()
					_, _ = hedged(t.Context(), &p, Shared{}, h, &unused, func(ctx context.Context) (string, error) {
						time.Sleep(2 * time.Second)
						if hedge.Is(ctx) {
							return "second", tt.second
						}
						return "first", tt.first()
					})
				}()
				if !slices.Equal(unused, tt.unused) {
					t.Errorf("got %q, want %q", unused, tt.unused)
				}
			})
		})
	}
}
