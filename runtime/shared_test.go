package retry

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// protect makes one call of op under a breaker and a budget.
func protect(ctx context.Context, b *Breaker, budget RetryBudget, p Policy, op func(context.Context) error) error {
	_, err := DoWith(ctx, &p, Shared{Breaker: b, Budget: budget}, func(ctx context.Context) (struct{}, error) { return struct{}{}, op(ctx) })
	return err
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

// Numbers that make no sense add nothing; those that are too great fill the
// budget at once.
func TestBudgetOfAnyRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			perSecond, ratio float64
			left             float64 // after a deposit and an hour
		}{
			{NoRefill, 0.5, 0.5},
			{-3, 0.5, 0.5},
			{math.NaN(), 0.5, 0.5},
			{math.Inf(-1), 0.5, 0.5},
			{NoRefill, math.NaN(), 0},
			{NoRefill, -0.5, 0},
			{NoRefill, math.Inf(-1), 0},
			{NoRefill, 1e-7, 0},
			{NoRefill, math.Inf(1), 2},
			{math.Inf(1), -1, 2},
			{math.MaxFloat64, -1, 2},
			{1.0 / 3600, -1, 1},
		} {
			b := NewBudget(BudgetPolicy{Burst: 2, MinPerSecond: tt.perSecond, Ratio: tt.ratio})
			for range 2 {
				if err := b.Withdraw(); err != nil {
					t.Errorf("%+v: %v", tt, err)
				}
			}
			// No time has passed.
			if err := b.Withdraw(); err != ErrBudget {
				t.Errorf("%+v: got %v for a third retry", tt, err)
			}
			b.Deposit()
			time.Sleep(time.Hour)
			if got := b.Left(); math.Abs(got-tt.left) > 2.0/token {
				t.Errorf("%+v: %v retries are left", tt, got)
			}
		}
	})
}

// However often a budget is asked, it adds its rate: no more, no less.
func TestBudgetAddsItsRate(t *testing.T) {
	for _, perSecond := range []float64{0.7, 300, 1500.5, 1e6} {
		b := NewBudget(BudgetPolicy{MinPerSecond: perSecond, Burst: 1e12})
		b.missing.Store(b.capacity)
		const step, steps = 1999, 1000
		for i := range int64(steps) {
			for range 3 { // of which two are of the same time
				b.refill((i + 1) * step)
			}
		}
		got, want := float64(b.capacity-b.missing.Load()), perSecond*token/1e9*step*steps
		if got > want || got < want*0.99 {
			t.Errorf("%v per second: %v tokens, want %v", perSecond, got, want)
		}
	}
}

// The smallest unit is added as soon as it is due.
func TestBudgetAddsOneToken(t *testing.T) {
	b := NewBudget(BudgetPolicy{MinPerSecond: 1, Burst: 1})
	for now, want := range map[int64]int64{999: 0, 1000: 1} {
		b.refilled.Store(0)
		b.missing.Store(b.capacity)
		if b.refill(now); b.capacity-b.missing.Load() != want {
			t.Errorf("%d tokens after %dns, want %d", b.capacity-b.missing.Load(), now, want)
		}
	}
}

// Time that has filled the budget is used up.
func TestBudgetSavesNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(BudgetPolicy{MinPerSecond: 1, Burst: 2})
		for range 3 {
			if !b.Full() {
				t.Errorf("%v retries are left, want 2", b.Left())
			}
			for want := range 3 {
				if err := b.Withdraw(); (err == nil) != (want < 2) || b.Full() {
					t.Errorf("retry %d: %v", want+1, err)
				}
			}
			time.Sleep(time.Hour)
			b.Left()
		}
	})
}

func TestTokens(t *testing.T) {
	const most = math.MaxInt64 / 2
	edge := float64(1<<62) / token // whose tokens are one more than that
	if edge*token != 1<<62 {
		t.Fatalf("%v tokens, want 1<<62", edge*token)
	}
	for n, want := range map[float64]int64{
		0: 0, -1: 0, 1e-7: 0, 1e-6: 1, 1: token, 2.5: 2_500_000, 4e12: 4e18, edge: most, 2 * edge: most, math.Inf(1): most,
	} {
		if got := tokens(n); got != want {
			t.Errorf("%v retries are %d tokens, want %d", n, got, want)
		}
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
