package retry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
)

// protect makes one call of op under a breaker and a budget.
func protect(ctx context.Context, b *breaker.Breaker, budget Budget, p Policy, op func(context.Context) error) error {
	_, err := DoWith(ctx, &p, Shared{Breaker: b, Budget: budget}, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, op(ctx)
	})
	return err
}

// The budget limits sequential retries, and says so before the wait: in both
// failsafe-go does otherwise.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := budget.New(budget.Policy{Name: "client", Ratio: 0.5, MinPerSecond: budget.NoRefill, Burst: 2})
		p, calls := Policy{Schedule: Schedule{MaxAttempts: 10}}, 0
		start := time.Now()
		err := protect(t.Context(), nil, limit, p, func(context.Context) error { calls++; return errFailed })
		if !errors.Is(err, ErrBudget) || !errors.Is(err, errFailed) || calls != 3 || time.Since(start) != 3*time.Second {
			t.Errorf("%v after %d calls and %v", err, calls, time.Since(start))
		}
		for range 2 {
			_ = protect(t.Context(), nil, limit, p, func(context.Context) error { return nil })
		}
		if got := limit.Left(); got != 1 {
			t.Errorf("%v retries are left after two successes at 0.5", got)
		}
		// A permanent error and an exhausted call take nothing.
		_ = protect(t.Context(), nil, limit, Policy{Schedule: Schedule{MaxAttempts: 1}}, func(context.Context) error {
			return errFailed
		})
		_ = protect(t.Context(), nil, limit, p, func(context.Context) error { return Permanent(errFailed) })
		if got := limit.Left(); got != 1 {
			t.Errorf("%v retries are left, want 1", got)
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

// Under WithoutRetries, calls are attempted once at every level, whatever their
// policies say, as part of the attempt that the context belongs to.
func TestWithoutRetries(t *testing.T) {
	for _, tt := range []struct {
		name   string
		nested []bool // by level, from the outermost
		want   []int
	}{
		{"one", []bool{false}, []int{1}},
		{"nested", []bool{true}, []int{1}},
		{"inside", []bool{false, false}, []int{1}},
		{"nested inside", []bool{false, true}, []int{1}},
		{"nested inside nested", []bool{true, true, true}, []int{1}},
	} {
		var got []int
		var events []Event
		op := func(ctx context.Context) error { got = append(got, AttemptNumber(ctx)); return errFailed }
		for _, nested := range slices.Backward(tt.nested) {
			inner, p := op, Policy{Schedule: Schedule{InitialDelay: None}, Nested: nested, Timeout: time.Minute}
			op = func(ctx context.Context) error { return protect(ctx, nil, nil, p, inner) }
		}
		ctx := WithObserver(t.Context(), func(_ context.Context, e Event) { events = append(events, e) })
		if err := op(WithoutRetries(ctx)); !slices.Equal(got, tt.want) || err != errFailed {
			t.Errorf("%s: attempts %d and %v, want %d and the error unchanged", tt.name, got, err, tt.want)
		}
		for _, e := range events {
			if e.Kind != EventStop || e.Reason != ErrWithoutRetries {
				t.Errorf("%s: %+v", tt.name, e)
			}
		}
	}
	var got []int
	retried := Policy{Schedule: Schedule{InitialDelay: None}}
	nested := Policy{Schedule: Schedule{InitialDelay: None}, Nested: true}
	_ = protect(t.Context(), nil, nil, retried, func(ctx context.Context) error {
		_ = protect(WithoutRetries(ctx), nil, nil, retried, func(ctx context.Context) error {
			got = append(got, AttemptNumber(ctx))
			return errFailed
		})
		return protect(WithoutRetries(ctx), nil, nil, nested, func(context.Context) error { return errFailed })
	})
	if want := []int{1, 2, 3}; !slices.Equal(got, want) {
		t.Errorf("attempts %d inside a retry, want those of the outer call: %d", got, want)
	}
}

func TestIdempotencyKey(t *testing.T) {
	ctx := EnsureIdempotencyKey(t.Context())
	key := IdempotencyKey(ctx)
	if len(key) != 32 || IdempotencyKey(withAttemptNumber(ctx, 2)) != key ||
		IdempotencyKey(EnsureIdempotencyKey(ctx)) != key {
		t.Errorf("the key is %q at first, then %q", key, IdempotencyKey(withAttemptNumber(ctx, 2)))
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
	for a := range p.Attempts(t.Context()) {
		if err := a.Done(errFailed); err != errFailed {
			t.Errorf("Done of an attempt that is repeated: %v, want its error", err)
		}
		break
	}
	limited, last := Policy{AttemptTimeout: time.Hour}, t.Context()
	for a := range limited.Attempts(t.Context()) {
		last = a.Context()
	}
	if last.Err() == nil {
		t.Error("the context of the last attempt outlives the loop")
	}
	rounds := 0
	for range p.Attempts(t.Context()) {
		rounds++
	}
	if rounds != 1 {
		t.Errorf("%d rounds without Done, want 1", rounds)
	}
}

// The attempts of a loop use a breaker and a budget as those of DoWith do.
func TestAttemptsWith(t *testing.T) {
	p := Policy{Name: "send", Schedule: Schedule{MaxAttempts: 4, InitialDelay: None}}
	send := func(s Shared, failures int) (rounds int, err error) {
		for a, refused := range p.AttemptsWith(t.Context(), s) {
			if refused != nil {
				if a != nil {
					t.Error("a refused attempt is there all the same")
				}
				return rounds, refused
			}
			if rounds++; a.Number() != rounds {
				t.Errorf("round %d is number %d", rounds, a.Number())
			}
			if rounds <= failures {
				err = a.Done(errFailed)
			} else {
				err = a.Done(nil)
			}
		}
		return rounds, err
	}
	b := breaker.New(breaker.Policy{Failures: 3})
	limit := budget.New(budget.Policy{Burst: 3, MinPerSecond: budget.NoRefill})
	shared := Shared{Breaker: b, Budget: limit}
	if rounds, err := send(shared, 2); rounds != 3 || err != nil || b.Save().Failures != 0 || limit.Left() >= 3 {
		t.Errorf("%d rounds, %v: %+v, %v left; want a success and its sample", rounds, err, b.Save(), limit.Left())
	}
	if rounds, err := send(shared, 9); rounds > 3 || err == nil {
		t.Errorf("%d rounds, %v; want the budget or the breaker to end them", rounds, err)
	}
	b.ForceOpen()
	rounds, err := send(shared, 0)
	refusal, ok := errors.AsType[Refusal](err)
	if rounds != 0 || !ok || refusal.State != breaker.ForcedOpen {
		t.Errorf("%d rounds, %v; want a refusal", rounds, err)
	}
	b.Reset()
	for range p.AttemptsWith(t.Context(), shared) {
	}
	if rounds, err := send(Shared{}, 1); rounds != 2 || err != nil {
		t.Errorf("%d rounds, %v without a breaker", rounds, err)
	}
}

// A probe in a loop that is left early gives its place back.
func TestAttemptsWithoutDone(t *testing.T) {
	b, p := breaker.New(breaker.Policy{}), Policy{}
	b.Restore(breaker.Snapshot{State: breaker.HalfOpen})
	for range p.AttemptsWith(t.Context(), Shared{Breaker: b}) {
		break
	}
	if _, ok := b.Admit(); !ok || b.State() != breaker.HalfOpen {
		t.Errorf("the breaker is %v and admits no probe", b.State())
	}
}

func TestNilBudgetIsNone(t *testing.T) {
	var none *budget.Budget
	ctx := WithObserver(t.Context(), func(context.Context, Event) {})
	if err := protect(ctx, nil, none, Policy{Schedule: Schedule{InitialDelay: None}},
		func(context.Context) error { return errFailed }); err == nil {
		t.Error("no error")
	}
}

func TestClampIsToldOnce(t *testing.T) {
	clamps := 0
	ctx := WithObserver(WithScopeTimeout(t.Context(), "s", time.Hour), func(_ context.Context, e Event) {
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

// The reason of a refusal is that of the budget, whichever it is.
func TestReasonOfBudget(t *testing.T) {
	for cause, want := range map[error]Reason{
		ErrBudget: ErrBudget, Reason("mine"): "mine", fmt.Errorf("of the day: %w", Reason("mine")): "mine",
		errFailed:      ErrBudget,
		ErrBreakerOpen: ErrBreakerOpen, // of a breaker that the call does not have
	} {
		err := protect(t.Context(), nil, refusing{cause}, Policy{}, func(context.Context) error { return errFailed })
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Reason != want || e.Cause != cause || e.Waited != 0 {
			t.Errorf("%v: got %+v, want reason %q", cause, e, want)
		}
	}
}

// refusing is a budget of a program.
type refusing struct{ cause error }

func (r refusing) Withdraw() error { return r.cause }
func (refusing) Deposit()          {}
func (refusing) Left() float64     { return 0 }

// TestScopeTimeout compares the deadline of attempts, and the event that
// reports a timeout above the hard limit.
func TestScopeTimeout(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name    string
		policy  Policy
		scope   string // of the timeout that the caller asks for
		asked   time.Duration
		want    time.Duration // 0: none
		clamped time.Duration
	}{
		{"only a hard limit", Policy{HardLimit: 5 * s}, "other", 0, 5 * s, 0},
		{"timeout", Policy{Timeout: 2 * s, HardLimit: 5 * s}, "other", 3 * s, 2 * s, 0},
		{"timeout above the hard limit", Policy{Timeout: 6 * s, HardLimit: 5 * s}, "other", 0, 5 * s, 6 * s},
		{"asked", Policy{Timeout: 2 * s, HardLimit: 5 * s}, "s", 3 * s, 3 * s, 0},
		{"asked for nothing", Policy{Timeout: 2 * s, HardLimit: 5 * s}, "s", 0, 2 * s, 0},
		{"asked for less than nothing", Policy{Timeout: 2 * s, HardLimit: 5 * s}, "s", -1, 2 * s, 0},
		{"asked for the hard limit", Policy{Timeout: 2 * s, HardLimit: 5 * s}, "s", 5 * s, 5 * s, 0},
		{"asked for more", Policy{Timeout: 2 * s, HardLimit: 5 * s}, "s", 5*s + 1, 5 * s, 5*s + 1},
		{"no hard limit", Policy{Timeout: 2 * s}, "s", 3 * s, 2 * s, 0},
		{"attempt within", Policy{AttemptTimeout: s, Timeout: 2 * s}, "other", 0, s, 0},
		{"attempt beyond", Policy{AttemptTimeout: 3 * s, Timeout: 2 * s}, "other", 0, 2 * s, 0},
		{"no limit", Policy{}, "s", 3 * s, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			var events []Event
			ctx := WithObserver(t.Context(), func(_ context.Context, e Event) { events = append(events, e) })
			ctx = WithScopeTimeout(WithScopeTimeout(ctx, "outer", s), tt.scope, tt.asked)
			tt.policy.Name, tt.policy.Scope = "p", "s"
			call := tt.policy.Begin()
			defer call.End()
			deadline, limited := call.Attempt(ctx).Deadline()
			if limited != (tt.want > 0) || limited && time.Until(deadline) != tt.want {
				t.Errorf("%s: the attempt ends at %v, want in %v", tt.name, deadline, tt.want)
			}
			var want []Event
			if tt.clamped > 0 {
				want = []Event{{Kind: EventTimeoutClamped, Policy: "p", Timeout: tt.clamped, BudgetLeft: -1}}
			}
			if !slices.Equal(events, want) {
				t.Errorf("%s: events %+v, want %+v", tt.name, events, want)
			}
		})
	}
	// Without an observer nobody is called.
	p := Policy{Scope: "s", HardLimit: s}
	if got := p.timeout(WithScopeTimeout(t.Context(), "s", time.Hour)); got != s {
		t.Errorf("a timeout of %v, want 1s", got)
	}
	// Contexts of two scopes nest.
	p.HardLimit = time.Hour
	if got := p.timeout(WithScopeTimeout(WithScopeTimeout(t.Context(), "s", s), "outer", 2*s)); got != s {
		t.Errorf("a timeout of %v, want 1s", got)
	}
}

// The text of a random key has all bytes of the key, in order.
func TestKeyText(t *testing.T) {
	ctx := &keyContext{Context: t.Context(), random: [2]uint64{0x0706050403020100, 0x0f0e0d0c0b0a0908}}
	if got, want := IdempotencyKey(ctx), "000102030405060708090a0b0c0d0e0f"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	type other struct{}
	if got := EnsureIdempotencyKey(context.WithValue(t.Context(), other{}, 1)).Value(other{}); got != 1 {
		t.Errorf("a value of the caller is %v", got)
	}
	if got := WithScopeTimeout(context.WithValue(t.Context(), other{}, 1), "s", 1).Value(other{}); got != 1 {
		t.Errorf("a value of the caller is %v", got)
	}
}
