package retry

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// operate does what a vector says to a breaker.
func operate(t *testing.T, b *Breaker, op string) {
	t.Helper()
	if wait, ok := strings.CutPrefix(op, "wait "); ok {
		d, err := time.ParseDuration(wait)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(d)
		return
	}
	pass, ok := b.admit(time.Now())
	if !ok {
		t.Fatalf("%s: the breaker is %v", op, b.State())
	}
	if op == "fail" {
		b.record(pass, failed)
	} else {
		b.record(pass, succeeded)
	}
}

// opened returns a breaker that has just opened.
func opened(t *testing.T, p BreakerPolicy) *Breaker {
	t.Helper()
	b := NewBreaker(p)
	for range b.policy.Failures {
		operate(t, b, "fail")
	}
	return b
}

// protect makes one call of op under a breaker and a budget.
func protect(ctx context.Context, b *Breaker, budget RetryBudget, p Policy, op func(context.Context) error) error {
	_, err := DoWith(ctx, &p, Shared{Breaker: b, Budget: budget}, func(ctx context.Context) (struct{}, error) { return struct{}{}, op(ctx) })
	return err
}

// A panic or Goexit in a probe gives the leave back: failsafe-go refuses an
// hour later.
func TestProbeThatNeverReturns(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("probe") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := opened(t, BreakerPolicy{})
				time.Sleep(31 * time.Second)
				var wait sync.WaitGroup
				wait.Add(1)
				go func() {
					defer wait.Done()
					defer func() { _ = recover() }()
					_ = protect(t.Context(), b, nil, Policy{Schedule: Schedule{MaxAttempts: 1}}, func(context.Context) error { end(); return nil })
				}()
				wait.Wait()
				if err := protect(t.Context(), b, nil, Policy{}, func(context.Context) error { return nil }); err != nil || b.State() != StateClosed {
					t.Errorf("got %v, %v; want the next probe to close the breaker", err, b.State())
				}
			})
		})
	}
}

// A probe that hangs lapses: gobreaker blocks a day later.
func TestProbeThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, BreakerPolicy{})
		time.Sleep(31 * time.Second)
		hung, ok := b.admit(time.Now())
		if _, second := b.admit(time.Now()); !ok || second {
			t.Fatalf("leave for one probe: %v, and for another: %v", ok, second)
		}
		time.Sleep(31 * time.Second)
		next, ok := b.admit(time.Now())
		if !ok {
			t.Fatal("a probe that hangs wedges the breaker")
		}
		if b.record(hung, succeeded); b.State() != StateHalfOpen {
			t.Error("a probe that has lapsed counts")
		}
		if b.record(next, succeeded); b.State() != StateClosed {
			t.Error("the next probe does not count")
		}
	})
}

// What was admitted before the breaker opened says nothing about it now.
func TestStaleResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBreaker(BreakerPolicy{})
		stale, _ := b.Ready()
		for range 3 {
			operate(t, b, "fail")
		}
		if b.Succeed(stale); b.State() != StateOpen {
			t.Error("a stale success closes the breaker")
		}
		time.Sleep(31 * time.Second)
		if b.State(); b.record(permit{pass: stale}, failed) != StateHalfOpen {
			t.Error("a stale failure opens it again")
		}
	})
}

// The end of the caller's context neither opens the breaker nor closes it.
func TestCallersEndIsNeutral(t *testing.T) {
	b := NewBreaker(BreakerPolicy{Failures: 1})
	ctx, cancel := context.WithCancel(t.Context())
	err := protect(ctx, b, nil, Policy{}, func(ctx context.Context) error { cancel(); return ctx.Err() })
	if !errors.Is(err, context.Canceled) || b.State() != StateClosed || b.Save().Failures != 0 {
		t.Errorf("got %v, %+v", err, b.Save())
	}
}

func TestAttemptTimeoutCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBreaker(BreakerPolicy{Failures: 3, Count: []Class{ClassTimeout}})
		p := Policy{AttemptTimeout: time.Second, Schedule: Schedule{InitialDelay: None}}
		err := protect(t.Context(), b, nil, p, func(ctx context.Context) error { <-ctx.Done(); return errFailed })
		if !errors.Is(err, ErrAttempts) || b.State() != StateOpen {
			t.Errorf("got %v, breaker %v", err, b.State())
		}
	})
}

func TestPermanentErrorsAreNeutral(t *testing.T) {
	b := NewBreaker(BreakerPolicy{Failures: 1})
	if err := protect(t.Context(), b, nil, Policy{}, func(context.Context) error { return status(404) }); err != status(404) || b.State() != StateClosed {
		t.Errorf("got %v, breaker %v", err, b.State())
	}
}

func TestOpenBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, BreakerPolicy{})
		start, calls := time.Now(), 0
		op := func(context.Context) error { calls++; return nil }
		err := protect(t.Context(), b, nil, Policy{Name: "read"}, op)
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Reason != ErrBreakerOpen || e.Attempts != 0 || calls != 0 || time.Since(start) != 0 || err.Error() != "read: breaker open" {
			t.Errorf("got %v after %d calls and %v", err, calls, time.Since(start))
		}
	})
}

// An open breaker is waited for where its class is retried, from the first
// attempt on. Refusals use up attempts, but no budget.
func TestOpenBreakerIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, BreakerPolicy{}) // for 30s
		p := Policy{Name: "read", Schedule: Schedule{Backoff: BackoffFixed, InitialDelay: 20 * time.Second, MaxAttempts: 2}, RetryOn: []Class{ClassNetwork, ClassBreakerOpen}}
		budget := NewBudget(BudgetPolicy{Burst: 1, MinPerSecond: NoRefill})
		start, calls := time.Now(), 0
		op := func(ctx context.Context) error {
			if calls++; AttemptNumber(ctx) != calls {
				t.Errorf("call %d says that it is attempt %d", calls, AttemptNumber(ctx))
			}
			if calls == 1 {
				return errors.New("connection refused")
			}
			return nil
		}
		err := protect(t.Context(), b, budget, p, op)
		if e, ok := errors.AsType[*Error](err); !ok || e.Reason != ErrAttempts || e.Attempts != 0 || calls != 0 || !errors.Is(err, ErrBreakerOpen) || time.Since(start) != 20*time.Second {
			t.Errorf("got %v after %d calls and %v", err, calls, time.Since(start))
		}
		p.MaxAttempts = 6
		b = opened(t, BreakerPolicy{})
		start = time.Now()
		err = protect(t.Context(), b, budget, p, op)
		// Refused twice, admitted after 40s, refused again, admitted after 80s.
		if err != nil || calls != 2 || b.State() != StateClosed || time.Since(start) != 80*time.Second {
			t.Errorf("got %v after %d calls and %v, breaker %v", err, calls, time.Since(start), b.State())
		}
		if left := budget.Left(); left >= 1 {
			t.Errorf("%v retries left: the one after a failure costs one", left)
		}
	})
}

// The limits of the call hold while it waits for a breaker.
func TestWaitForBreakerHasLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		escalated := NewBreaker(BreakerPolicy{})
		escalated.Restore(BreakerSnapshot{State: StateEscalated})
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		for name, tt := range map[string]struct {
			ctx     context.Context
			breaker *Breaker
			policy  Policy
			is      error
			waited  time.Duration
		}{
			"timeout":   {t.Context(), opened(t, BreakerPolicy{}), Policy{Timeout: 10 * time.Second}, ErrDeadline, 9 * time.Second},
			"elapsed":   {t.Context(), opened(t, BreakerPolicy{}), Policy{MaxElapsed: 10 * time.Second}, ErrElapsed, 10 * time.Second},
			"budget":    {t.Context(), opened(t, BreakerPolicy{}), Policy{DelayBudget: 10 * time.Second}, ErrDelayBudget, 10 * time.Second},
			"escalated": {t.Context(), escalated, Policy{Timeout: 10 * time.Second}, ErrEscalated, 0},
			"canceled":  {canceled, opened(t, BreakerPolicy{}), Policy{}, context.Canceled, 0},
		} {
			p := tt.policy
			p.MaxAttempts, p.Backoff, p.InitialDelay, p.RetryOn = Unlimited, BackoffFixed, time.Second, []Class{ClassAny, ClassBreakerOpen}
			start := time.Now()
			err := protect(tt.ctx, tt.breaker, nil, p, func(context.Context) error { return nil })
			if _, ok := errors.AsType[*Error](err); !ok || !errors.Is(err, tt.is) || time.Since(start) != tt.waited {
				t.Errorf("%s: %v after %v", name, err, time.Since(start))
			}
		}
	})
}

// What a policy does not retry may be the service's fault.
func TestBreakerCountsByDefault(t *testing.T) {
	p := Policy{RetryOn: []Class{ClassNetwork}, Classes: []ErrorClass{{Class: "mine", Is: []error{errFailed}, Action: ActionFail}}}
	for err, want := range map[error]bool{
		errors.New("connection refused"):     true,
		status(503):                          true,
		errors.New("timed out"):              true,
		errors.New("no such row"):            false,
		status(404):                          false,
		Permanent(status(503)):               false,
		fmt.Errorf("timeout: %w", errFailed): false,
	} {
		b := NewBreaker(BreakerPolicy{Failures: 1})
		_ = protect(t.Context(), b, nil, p, func(context.Context) error { return err })
		if got := b.State() == StateOpen; got != want {
			t.Errorf("%v: the breaker is %v", err, b.State())
		}
	}
}

// A call whose own failure opens the breaker stops, with its own error.
func TestBreakerOpensInside(t *testing.T) {
	b := NewBreaker(BreakerPolicy{Failures: 2})
	err := protect(t.Context(), b, nil, Policy{Schedule: Schedule{MaxAttempts: 5, InitialDelay: None}}, func(context.Context) error { return errFailed })
	if e, ok := errors.AsType[*Error](err); !ok || e.Reason != ErrBreakerOpen || e.Attempts != 2 || !errors.Is(err, errFailed) {
		t.Errorf("got %v", err)
	}
}

func TestBreakerOpenIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, calls := NewBreaker(BreakerPolicy{Failures: 1}), 0
		p := Policy{Schedule: Schedule{MaxAttempts: 5, Backoff: BackoffFixed, InitialDelay: 20 * time.Second}, RetryOn: []Class{ClassNetwork, ClassBreakerOpen}}
		err := protect(t.Context(), b, nil, p, func(context.Context) error {
			if calls++; calls == 1 {
				return errors.New("connection refused")
			}
			return nil
		})
		if err != nil || calls != 2 || b.State() != StateClosed {
			t.Errorf("got %v after %d calls, breaker %v", err, calls, b.State())
		}
	})
}

func TestRestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		for _, tt := range []struct {
			saved BreakerSnapshot
			want  BreakerState
			after time.Duration
		}{
			{BreakerSnapshot{State: StateOpen, OpenUntil: now.Add(-time.Minute)}, StateHalfOpen, 0},
			{BreakerSnapshot{State: StateOpen, OpenUntil: now.Add(10 * time.Second)}, StateOpen, 0},
			{BreakerSnapshot{State: StateOpen, OpenUntil: now.Add(time.Hour)}, StateHalfOpen, 31 * time.Second}, // a clock that was wrong
			{BreakerSnapshot{State: StateEscalated, Failures: 5}, StateEscalated, time.Hour},
			{BreakerSnapshot{State: StateClosed, Failures: 2}, StateClosed, 0},
		} {
			b := NewBreaker(BreakerPolicy{})
			b.Restore(tt.saved)
			time.Sleep(tt.after)
			if got := b.State(); got != tt.want {
				t.Errorf("%+v, %v later: %v, want %v", tt.saved, tt.after, got, tt.want)
			}
		}
		b := opened(t, BreakerPolicy{})
		other := NewBreaker(BreakerPolicy{})
		other.Restore(b.Save())
		if b.Save() != other.Save() {
			t.Errorf("saved %+v, restored %+v", b.Save(), other.Save())
		}
	})
}

// The last error of an attempt survives refusals that are retried.
func TestBreakerOpenKeepsTheLastError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBreaker(BreakerPolicy{Failures: 1, OpenFor: time.Hour})
		p := Policy{Schedule: Schedule{MaxAttempts: 4}, RetryOn: []Class{ClassNetwork, ClassBreakerOpen}}
		refused := errors.New("connection refused")
		err := protect(t.Context(), b, nil, p, func(context.Context) error { return refused })
		if e, ok := errors.AsType[*Error](err); !ok || e.Err != refused || e.Reason != ErrAttempts || e.Attempts != 1 || !errors.Is(err, ErrBreakerOpen) {
			t.Errorf("got %v", err)
		}
	})
}

// FuzzBreaker holds the breaker against a model that knows only its text.
func FuzzBreaker(f *testing.F) {
	f.Add([]byte("fffwsfffwfws"), uint8(3), uint8(5), uint8(1))
	f.Add([]byte("ffwawfr"), uint8(2), uint8(0), uint8(2))
	f.Fuzz(func(t *testing.T, ops []byte, failures, escalate, successes uint8) {
		p := BreakerPolicy{Failures: int(failures%5) + 1, EscalateAfter: int(escalate % 9), Successes: int(successes%3) + 1, OpenFor: time.Second}
		if p.EscalateAfter == 0 {
			p.EscalateAfter = 0
		}
		b, now := NewBreaker(p), time.Now()
		state, row, good, openUntil := StateClosed, 0, 0, time.Time{}
		for i, op := range ops {
			if state == StateOpen && now.After(openUntil) {
				state, good = StateHalfOpen, 0
			}
			switch op % 4 {
			case 0, 1:
				pass, ok := b.admit(now)
				if ok != (state == StateClosed || state == StateHalfOpen) {
					t.Fatalf("%d: leave %v in %v", i, ok, state)
				}
				if !ok {
					continue
				}
				if op%4 == 0 {
					b.record(pass, succeeded)
					if good++; state == StateHalfOpen && good < p.Successes {
						continue
					}
					state, row = StateClosed, 0
					continue
				}
				recordAt(b, pass, now)
				row++
				switch {
				case p.EscalateAfter > 0 && row >= p.EscalateAfter:
					state = StateEscalated
				case state == StateHalfOpen || row >= p.Failures:
					state, openUntil = StateOpen, now.Add(p.OpenFor)
				}
			case 2:
				now = now.Add(time.Duration(op) * 10 * time.Millisecond)
			case 3:
				pass, ok := b.admit(now) // and never heard of again
				if ok && pass.probe != 0 {
					b.record(pass, neutral)
				}
			}
			if b.state != state && !(b.state == StateOpen && now.After(b.openUntil)) && !(b.state == StateHalfOpen && state == StateOpen) {
				t.Fatalf("%d: state %v, want %v", i, b.state, state)
			}
		}
	})
}

// recordAt records a failure at a time.
func recordAt(b *Breaker, pass permit, now time.Time) {
	b.record(pass, failed)
	if b.state == StateOpen {
		b.openUntil = now.Add(b.policy.OpenFor)
	}
}

// TestBreakerRaces lets goroutines do everything at once.
func TestBreakerRaces(t *testing.T) {
	b, budget := NewBreaker(BreakerPolicy{OpenFor: time.Microsecond}), NewBudget(BudgetPolicy{Burst: 10})
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 500 {
				_ = protect(t.Context(), b, budget, Policy{Schedule: Schedule{InitialDelay: None}}, func(context.Context) error {
					if rand.IntN(3) == 0 {
						return errFailed
					}
					return nil
				})
				if left := budget.Left(); left < 0 || left > 10 {
					t.Errorf("%v retries are left of 10", left)
				}
			}
			b.Save()
		})
	}
	wait.Wait()
	for range 3 {
		b.Reset()
		operate(t, b, "success")
	}
	if got := b.State(); got != StateClosed {
		t.Errorf("the breaker is %v", got)
	}
}

// The budget limits sequential retries, and says so before the wait: in both
// failsafe-go does otherwise.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := NewBudget(BudgetPolicy{Name: "client", Ratio: 0.5, MinPerSecond: NoRefill, Burst: 2})
		p, calls := Policy{Schedule: Schedule{MaxAttempts: 10}}, 0
		start := time.Now()
		err := protect(t.Context(), nil, budget, p, func(context.Context) error { calls++; return errFailed })
		if !errors.Is(err, ErrBudget) || !errors.Is(err, errFailed) || calls != 3 || time.Since(start) != 3*time.Second {
			t.Errorf("%v after %d calls and %v", err, calls, time.Since(start))
		}
		for range 2 {
			_ = protect(t.Context(), nil, budget, p, func(context.Context) error { return nil })
		}
		if got := budget.Left(); got != 1 {
			t.Errorf("%v retries are left after two successes at 0.5", got)
		}
		// A permanent error and an exhausted call take nothing.
		_ = protect(t.Context(), nil, budget, Policy{Schedule: Schedule{MaxAttempts: 1}}, func(context.Context) error { return errFailed })
		_ = protect(t.Context(), nil, budget, p, func(context.Context) error { return Permanent(errFailed) })
		if got := budget.Left(); got != 1 {
			t.Errorf("%v retries are left, want 1", got)
		}
	})
}

// What cannot be counted is not taken for less than nothing.
func TestBudgetOfAnySize(t *testing.T) {
	for burst, want := range map[float64]error{1e13: nil, math.MaxFloat64: nil, math.Inf(1): nil, 1: nil, 0.5: ErrBudget, -3: ErrBudget, math.Inf(-1): ErrBudget} {
		b := NewBudget(BudgetPolicy{Burst: burst, Ratio: burst})
		if err := b.Withdraw(); err != want {
			t.Errorf("a burst of %v: got %v, want %v", burst, err, want)
		}
		if b.Deposit(); b.Left() < 0 {
			t.Errorf("a burst of %v: %v are left", burst, b.Left())
		}
	}
	if err := NewBudget(BudgetPolicy{Burst: math.NaN()}).Withdraw(); err != ErrBudget {
		t.Errorf("got %v", err)
	}
}

func TestBudgetRefills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(BudgetPolicy{MinPerSecond: 2, Burst: 3})
		for range 3 {
			if err := b.Withdraw(); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Withdraw(); err != ErrBudget {
			t.Errorf("got %v, want %v", err, ErrBudget)
		}
		time.Sleep(500 * time.Millisecond)
		if err := b.Withdraw(); err != nil {
			t.Errorf("half a second later: %v", err)
		}
		time.Sleep(500 * time.Millisecond)
		if b.Left() != 1 {
			t.Errorf("%v are left half a second after that, want 1", b.Left())
		}
		time.Sleep(time.Hour)
		if b.Withdraw(); b.Left() != 2 {
			t.Errorf("%v are left an hour later, want 2", b.Left())
		}
	})
}

// An inner wrapped call inside of a retry is tried once, as a part of it: three
// in three are five calls. A nested one has attempts of its own, around which
// one that is not nested is inside of a retry all the same.
func TestNested(t *testing.T) {
	for _, tt := range []struct {
		name   string
		nested []bool // by level, from the outermost
		limit  time.Duration
		want   []int
	}{
		{"once", []bool{false, false}, 0, []int{1, 2, 3, 2, 3}},
		{"nested", []bool{false, true}, 0, []int{1, 2, 3, 1, 2, 3, 1, 2, 3}},
		{"nested under a limit", []bool{false, true}, time.Minute, []int{1, 2, 3, 1, 2, 3, 1, 2, 3}},
		{"once in nested", []bool{false, true, false}, 0, []int{1, 2, 3, 2, 3, 1, 2, 3, 1, 2, 3}},
	} {
		var got []int
		op := func(ctx context.Context) error { got = append(got, AttemptNumber(ctx)); return errFailed }
		for _, nested := range slices.Backward(tt.nested) {
			inner, p := op, Policy{Schedule: Schedule{InitialDelay: None}, Nested: nested, Timeout: tt.limit}
			op = func(ctx context.Context) error { return protect(ctx, nil, nil, p, inner) }
		}
		if err := op(t.Context()); !slices.Equal(got, tt.want) || !errors.Is(err, errFailed) {
			t.Errorf("%s: attempts %d and %v, want %d", tt.name, got, err, tt.want)
		}
	}
}

func TestIdempotencyKey(t *testing.T) {
	ctx := EnsureIdempotencyKey(t.Context())
	key := IdempotencyKey(ctx)
	if len(key) != 32 || IdempotencyKey(markAttempt(ctx, 2)) != key || IdempotencyKey(EnsureIdempotencyKey(ctx)) != key {
		t.Errorf("the key is %q at first, then %q", key, IdempotencyKey(markAttempt(ctx, 2)))
	}
	if other := IdempotencyKey(EnsureIdempotencyKey(t.Context())); other == key {
		t.Error("two calls have one key")
	}
	if got := IdempotencyKey(EnsureIdempotencyKey(WithIdempotencyKey(t.Context(), "mine"))); got != "mine" {
		t.Errorf("got %q, want mine", got)
	}
	if got := IdempotencyKey(WithIdempotencyKey(t.Context(), "")); got != "" {
		t.Errorf("an empty key is %q", got)
	}
	if n := testing.AllocsPerRun(100, func() { EnsureIdempotencyKey(context.Background()) }); n != 1 {
		t.Errorf("a key costs %v allocations, want 1", n)
	}
}

func TestAttempts(t *testing.T) {
	p := Policy{Schedule: Schedule{MaxAttempts: 4, InitialDelay: None}}
	for _, tt := range []struct{ failures, rounds int }{{0, 1}, {2, 3}, {9, 4}} {
		var err error
		rounds := 0
		for a := range p.Attempts(t.Context()) {
			defer func(number int) {
				if a.Number() != number {
					t.Errorf("round %d is number %d in the end", number, a.Number())
				}
			}(rounds + 1)
			if rounds++; a.Number() != rounds || AttemptNumber(a.Context()) != rounds {
				t.Errorf("round %d is number %d, in its context %d", rounds, a.Number(), AttemptNumber(a.Context()))
			}
			if rounds <= tt.failures {
				err = a.Done(errFailed)
			} else {
				err = a.Done(nil)
			}
		}
		if rounds != tt.rounds || (err == nil) != (tt.failures < 4) || err != nil && !errors.Is(err, ErrAttempts) {
			t.Errorf("%d failures: %d rounds, %v", tt.failures, rounds, err)
		}
	}
	rounds := 0
	for range p.Attempts(t.Context()) {
		rounds++
	}
	if rounds != 1 {
		t.Errorf("%d rounds without Done, want 1", rounds)
	}
}

// A budget that is asked often gets what flows in slowly.
func TestBudgetTrickles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(BudgetPolicy{MinPerSecond: 0.5, Burst: 1})
		if err := b.Withdraw(); err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			time.Sleep(time.Microsecond)
			_ = b.Withdraw()
		}
		time.Sleep(2 * time.Second)
		if err := b.Withdraw(); err != nil {
			t.Errorf("after two seconds: %v, with %v left", err, b.Left())
		}
	})
}

func TestNilBudgetIsNone(t *testing.T) {
	var none *Budget
	ctx := WithObserver(t.Context(), func(Event) {})
	if err := protect(ctx, nil, none, Policy{Schedule: Schedule{InitialDelay: None}}, func(context.Context) error { return errFailed }); err == nil {
		t.Error("no error")
	}
}

func TestClampIsToldOnce(t *testing.T) {
	clamps := 0
	ctx := WithObserver(WithScopeTimeout(t.Context(), "s", time.Hour), func(e Event) {
		if e.Timeout > 0 {
			clamps++
		}
	})
	p := Policy{Scope: "s", HardLimit: time.Minute, AttemptTimeout: time.Second, Schedule: Schedule{InitialDelay: None}}
	_, _ = drive(ctx, &p, func(context.Context) error { return errFailed })
	if clamps != 1 {
		t.Errorf("%d events of clamps in three attempts, want 1", clamps)
	}
}

func TestRestoreOfNoState(t *testing.T) {
	b := NewBreaker(BreakerPolicy{})
	if b.Restore(BreakerSnapshot{State: 9}); b.State() != StateClosed {
		t.Errorf("the breaker is %v", b.State())
	}
}
