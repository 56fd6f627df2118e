package retry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
)

// errFailed is a failure of class server_error, which policies retry by default.
var errFailed error = opinion{retryable: true}

// An opinion is an error that says whether the client would repeat the call.
type opinion struct{ retryable bool }

func (o opinion) Error() string   { return "failed" }
func (o opinion) Retryable() bool { return o.retryable }

func TestSuccessNeverEntersTheRuntime(t *testing.T) {
	p := &Policy{Name: "read"}
	allocs := testing.AllocsPerRun(100, func() {
		if _, err := fetch(t.Context(), p, 0); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("a success allocates %v times, want 0", allocs)
	}
}

func TestOneFailureAllocatesNothing(t *testing.T) {
	p := &Policy{Name: "read", Schedule: Schedule{InitialDelay: None}}
	for name, ctx := range map[string]context.Context{"background": context.Background(), "worker": t.Context()} {
		allocs := testing.AllocsPerRun(100, func() {
			if _, err := fetch(ctx, p, 1); err != nil {
				t.Fatal(err)
			}
		})
		if allocs != 0 {
			t.Errorf("one failure under context %s allocates %v times, want 0", name, allocs)
		}
	}
}

// Calls share the mark of a retry under their own context only.
func TestMarkOfRetry(t *testing.T) {
	type key struct{}
	type uncomparable struct {
		context.Context
		_ []int
	}
	var list []context.Context
	for i := range 3 {
		ctx := context.WithValue(t.Context(), key{}, i)
		list = append(list, ctx, uncomparable{Context: ctx})
	}
	for range 3 {
		for i, ctx := range list {
			for number := 1; number <= 4; number++ {
				marked := withAttemptNumber(ctx, number)
				if AttemptNumber(marked) != number || marked.Value(key{}) != i/2 {
					t.Errorf("attempt %d under context %d is number %d under %v", number, i/2, AttemptNumber(marked),
						marked.Value(key{}))
				}
			}
		}
	}
}

// Attempts of any number have their number, whatever the type of the context.
func TestMarksOfBackground(t *testing.T) {
	for number := 1; number <= 10; number++ {
		if got := AttemptNumber(withAttemptNumber(context.Background(), number)); got != number {
			t.Errorf("attempt %d is number %d", number, got)
		}
	}
	type uncomparable struct {
		context.Context
		_ []int
	}
	for range 100 {
		if got := AttemptNumber(withAttemptNumber(uncomparable{Context: t.Context()}, 2)); got != 2 {
			t.Fatalf("attempt 2 is number %d", got)
		}
	}
}

// The results of the last attempt are returned with its error.
func TestValueOfFailure(t *testing.T) {
	p := Policy{Schedule: Schedule{InitialDelay: None}}
	calls := 0
	v, err := Do(t.Context(), &p, func(context.Context) (int, error) { calls++; return calls, errFailed })
	if v != 3 || !errors.Is(err, errFailed) {
		t.Errorf("got %d, %v; want 3 and an error", v, err)
	}
}

// fetch is a generated wrapper around an operation that fails a number of
// times.
func fetch(ctx context.Context, p *Policy, failures int) (int, error) {
	v, err := operation(ctx, &failures)
	if err == nil {
		return v, nil
	}
	call := p.Begin()
	for {
		if err = call.Next(ctx, err); err != nil {
			return v, err
		}
		if v, err = operation(call.Attempt(ctx), &failures); err == nil {
			return v, nil
		}
	}
}

//go:noinline
func operation(_ context.Context, failures *int) (int, error) {
	if *failures > 0 {
		*failures--
		return 0, errFailed
	}
	return 42, nil
}

func BenchmarkSuccess(b *testing.B) {
	p, ctx := &Policy{Name: "read"}, b.Context()
	b.Run("direct", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			failures := 0
			operation(ctx, &failures)
		}
	})
	b.Run("wrapped", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			fetch(ctx, p, 0)
		}
	})
}

// guarded is a generated wrapper with a breaker and a budget.
func guarded(ctx context.Context, p *Policy, b *breaker.Breaker, limit *budget.Budget, failures int) (int, error) {
	var v int
	var err error
	pass, ready := b.Ready()
	if ready {
		if v, err = operation(ctx, &failures); err == nil {
			b.Succeed(pass)
			limit.Deposit()
			return v, nil
		}
	}
	call := p.BeginAdmitted(Shared{Breaker: b, Budget: limit}, pass)
	defer call.End()
	if ready {
		err = call.Next(ctx, err)
	} else {
		err = call.Admit(ctx)
	}
	for ; err == nil; err = call.Next(ctx, err) {
		if v, err = operation(call.Attempt(ctx), &failures); err == nil {
			call.Succeed()
			return v, nil
		}
	}
	return v, err
}

func BenchmarkGuarded(b *testing.B) {
	p, ctx := &Policy{Name: "read"}, context.Background()
	breaker, limit := breaker.New(breaker.Policy{}), budget.New(budget.Policy{})
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			guarded(ctx, p, breaker, limit, 0)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.SetParallelism(4)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				guarded(ctx, p, breaker, limit, 0)
			}
		})
	})
	b.Run("parallel-direct", func(b *testing.B) {
		b.SetParallelism(4)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				failures := 0
				operation(ctx, &failures)
			}
		})
	})
}

func BenchmarkOneFailure(b *testing.B) {
	p := &Policy{Name: "read", Schedule: Schedule{InitialDelay: None}}
	for name, ctx := range map[string]context.Context{"background": context.Background(), "worker": b.Context()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				fetch(ctx, p, 1)
			}
		})
	}
}

func BenchmarkAttemptTimeout(b *testing.B) {
	p := &Policy{Name: "read", AttemptTimeout: time.Minute}
	bench := func(name string, ctx context.Context) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				call := p.Begin()
				call.Attempt(ctx)
				call.End()
			}
		})
	}
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, cancel := context.WithTimeout(b.Context(), time.Minute)
			cancel()
		}
	})
	bench("derived", b.Context())
	tight, cancel := context.WithTimeout(b.Context(), time.Second*30)
	defer cancel()
	bench("caller is tighter", tight)
}

func TestStop(t *testing.T) {
	hint := After(errFailed, time.Hour)
	tests := []struct {
		name     string
		policy   Policy
		deadline time.Duration // of the caller; 0: none
		err      error
		reason   Reason        // "": err comes back as it is
		is       error         // that the result also is
		attempts int           // made
		elapsed  time.Duration // in all
	}{
		{"attempts", Policy{}, 0, errFailed, ErrAttempts, errFailed, 3, 3 * time.Second},
		{"unlimited", Policy{Schedule: Schedule{MaxAttempts: Unlimited, Backoff: BackoffFixed}, DelayBudget: time.Minute}, 0,
			errFailed, ErrDelayBudget, errFailed, 61, time.Minute},
		{"delay budget, equal is allowed", Policy{Schedule: Schedule{MaxAttempts: 9}, DelayBudget: 3 * time.Second}, 0,
			errFailed, ErrDelayBudget, errFailed, 3, 3 * time.Second},
		{"max elapsed", Policy{Schedule: Schedule{MaxAttempts: 9}, MaxElapsed: 3 * time.Second}, 0, errFailed, ErrElapsed,
			errFailed, 3, 3 * time.Second},
		{"caller's deadline is not slept into", Policy{Schedule: Schedule{MaxAttempts: 9}}, 6 * time.Second, errFailed,
			ErrDeadline, context.DeadlineExceeded, 3, 3 * time.Second},
		{"timeout is not slept into", Policy{Schedule: Schedule{MaxAttempts: 9}, Timeout: 6 * time.Second}, 0, errFailed,
			ErrDeadline, context.DeadlineExceeded, 3, 3 * time.Second},
		{"permanent", Policy{}, 0, Permanent(io.EOF), "", io.EOF, 1, 0},
		{"marked inside", Policy{}, 0, fmt.Errorf("get: %w", Permanent(io.EOF)), "", io.EOF, 1, 0},
		{"not found", Policy{}, 0, status(404), "", status(404), 1, 0},
		{"not in retry_on", Policy{RetryOn: []Class{ClassNetwork}}, 0, errFailed, "", errFailed, 1, 0},
		{"abort_on wins", Policy{RetryOn: []Class{ClassAny}, AbortOn: []Class{ClassTimeout}}, 0, os.ErrDeadlineExceeded, "",
			os.ErrDeadlineExceeded, 1, 0},
		{"hint is capped", Policy{Schedule: Schedule{MaxAttempts: 2}}, 0, hint, ErrAttempts, errFailed, 2, 5 * time.Minute},
		{"hint beyond the deadline", Policy{}, time.Minute, hint, ErrRetryAfter, errFailed, 1, 0},
		{"hint beyond the budget", Policy{DelayBudget: time.Minute}, 0, hint, ErrRetryAfter, errFailed, 1, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if tt.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.deadline)
					defer cancel()
				}
				start := time.Now()
				attempts, err := drive(ctx, &tt.policy, func(context.Context) error { return tt.err })
				if !errors.Is(err, tt.is) {
					t.Errorf("err = %v, want one that is %v", err, tt.is)
				}
				e, wrapped := errors.AsType[*Error](err)
				if wrapped != (tt.reason != "") || wrapped && e.Reason != tt.reason {
					t.Errorf("err = %#v, want reason %q", err, tt.reason)
				}
				if wrapped && !errors.Is(err, tt.reason) {
					t.Errorf("errors.Is(err, %q) is false", tt.reason)
				}
				if elapsed := time.Since(start); attempts != tt.attempts || elapsed != tt.elapsed {
					t.Errorf("%d attempts in %v, want %d in %v", attempts, elapsed, tt.attempts, tt.elapsed)
				}
			})
		})
	}
}

func TestUnchanged(t *testing.T) {
	for _, err := range []error{io.EOF, Permanent(io.EOF)} {
		_, got := drive(t.Context(), &Policy{AbortOn: []Class{ClassAny}}, func(context.Context) error { return err })
		if got != io.EOF {
			t.Errorf("got %#v, want io.EOF itself", got)
		}
	}
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("shutting down")
		time.AfterFunc(1500*time.Millisecond, func() { cancel(cause) })
		start := time.Now()
		attempts, err := drive(ctx, &Policy{}, func(context.Context) error { return errFailed })
		if attempts != 2 || time.Since(start) != 1500*time.Millisecond {
			t.Errorf("%d attempts in %v, want 2 in 1.5s", attempts, time.Since(start))
		}
		for _, want := range []error{errFailed, ErrCanceled, cause} {
			if !errors.Is(err, want) {
				t.Errorf("err = %v, want one that is %v", err, want)
			}
		}
	})
}

// A context that has ended wins over a wait of any length, none included.
func TestCancelBeatsWait(t *testing.T) {
	for _, delay := range []time.Duration{None, 1, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			ctx = WithObserver(ctx, func(context.Context, Event) { cancel() })
			start := time.Now()
			attempts, err := drive(ctx, &Policy{Schedule: Schedule{InitialDelay: delay}}, func(context.Context) error {
				return errFailed
			})
			if attempts != 1 || time.Since(start) > 1 || !errors.Is(err, context.Canceled) || !errors.Is(err, errFailed) {
				t.Errorf("delay %v: %d attempts in %v, error %v", delay, attempts, time.Since(start), err)
			}
		})
	}
}

func TestAttemptTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Policy{RetryOn: []Class{ClassTimeout}, AttemptTimeout: time.Second, Schedule: Schedule{Backoff: BackoffFixed}}
		start := time.Now()
		// The callee hides why it failed: the contexts tell.
		attempts, err := drive(t.Context(), &p, func(ctx context.Context) error {
			<-ctx.Done()
			if cause := context.Cause(ctx); cause != ErrAttemptTimeout || !errors.Is(cause, context.DeadlineExceeded) {
				t.Errorf("cause = %v, want %v", cause, ErrAttemptTimeout)
			}
			return errFailed
		})
		if attempts != 3 || time.Since(start) != 5*time.Second || !errors.Is(err, ErrAttempts) {
			t.Errorf("%d attempts in %v, error %v; want 3 in 5s, %v", attempts, time.Since(start), err, ErrAttempts)
		}
	})
}

func TestTimeoutAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Policy{Timeout: 5 * time.Second, Schedule: Schedule{MaxAttempts: 9}}
		start := time.Now()
		var seen context.Context
		attempts, err := drive(t.Context(), &p, func(ctx context.Context) error {
			if at, _ := ctx.Deadline(); !at.Equal(start.Add(5 * time.Second)) {
				t.Errorf("the context ends at %v, want %v", at, start.Add(5*time.Second))
			}
			seen = ctx
			if time.Since(start) < time.Second {
				return errFailed
			}
			<-ctx.Done()
			return ctx.Err()
		})
		if attempts != 2 || time.Since(start) != 5*time.Second || !errors.Is(err, ErrDeadline) {
			t.Errorf("%d attempts in %v, error %v; want 2 in 5s, %v", attempts, time.Since(start), err, ErrDeadline)
		}
		if seen.Err() == nil {
			t.Error("the context outlives the call")
		}
	})
}

// A panic in the callee goes through, and leaves no context open.
func TestPanic(t *testing.T) {
	var seen context.Context
	func() {
		defer func() {
			if recover() != "boom" {
				t.Error("the panic was lost")
			}
		}()
		drive(t.Context(), &Policy{AttemptTimeout: time.Hour}, func(ctx context.Context) error {
			seen = ctx
			panic("boom")
		})
	}()
	if seen.Err() == nil {
		t.Error("the attempt's context outlives the panic")
	}
}

// FuzzDelay holds the delay function to its promises: never negative, never
// above the cap, inside its band, and, for strategies that grow, never shorter
// than the one before.
func FuzzDelay(f *testing.F) {
	f.Add(uint8(0), uint8(1), int64(1e9), int64(3e10), int64(0), 2.0, 0.3, 65, 0.5)
	f.Add(uint8(3), uint8(4), int64(1e9), int64(-1), int64(0), 0.0, 0.0, 200, 0.999)
	f.Fuzz(func(t *testing.T, strategy, jitter uint8, initial, limit, increment int64, base, factor float64, k int,
		u float64) {
		p := Policy{
			Schedule: Schedule{
				Backoff:      Backoff(strategy),
				Jitter:       Jitter(jitter),
				InitialDelay: time.Duration(initial),
				MaxDelay:     time.Duration(limit),
				Increment:    time.Duration(increment),
				Base:         base,
				JitterFactor: factor,
			},
		}
		u = math.Abs(math.Mod(u, 1)) // NaN stays, as a random source never would
		d := p.delay(k, time.Duration(initial), u)
		least, _, greatest := p.Bounds(k, 0)
		if d < 0 || least < 0 || greatest < least || greatest > p.maxDelay() || d > p.maxDelay() {
			t.Errorf("%+v: Delay(%d) = %v in %v to %v", p, k, d, least, greatest)
		}
		if p.Jitter != JitterDecorrelated && (d < least || d > greatest) {
			t.Errorf("%+v: Delay(%d) = %v outside of %v to %v", p, k, d, least, greatest)
		}
		if grows := p.Backoff != BackoffCustom && !(p.base() < 1); grows && k > 0 && k < math.MaxInt &&
			p.baseDelay(k+1) < p.baseDelay(k) {
			t.Errorf("%+v: delay %d is %v, delay %d %v", p, k, p.baseDelay(k), k+1, p.baseDelay(k+1))
		}
	})
}

// TestContexts follows the contexts of attempts: which are derived, with which
// cause they end, and when.
func TestContexts(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name    string
		policy  Policy
		outer   time.Duration // of the caller; 0: none
		derived bool          // the context of the first attempt is not the caller's
		during  bool          // it is alive while the call waits
		cause   error         // with which it ends
	}{
		{"no limit", Policy{}, 0, false, true, nil},
		{"attempt", Policy{AttemptTimeout: 5 * s}, 0, true, false, context.Canceled},
		{"call", Policy{Timeout: 20 * s}, 0, true, true, context.Canceled},
		{"both", Policy{AttemptTimeout: 5 * s, Timeout: 20 * s}, 0, true, false, context.Canceled},
		{"hard limit", Policy{HardLimit: 20 * s}, 0, true, true, context.Canceled},
		{"caller's is longer", Policy{AttemptTimeout: 5 * s}, 5*s + 1, true, false, context.Canceled},
		{"caller's is equal", Policy{AttemptTimeout: 5 * s}, 5 * s, false, true, nil},
		{"caller's is shorter", Policy{AttemptTimeout: 5 * s}, 5*s - 1, false, true, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			if tt.outer > 0 {
				limited, cancel := context.WithTimeout(ctx, tt.outer)
				defer cancel()
				ctx = limited
			}
			tt.policy.InitialDelay = None
			call := tt.policy.Begin()
			released := 0
			call.BeforeWait(func() { released++ })
			first := call.Attempt(ctx)
			if derived := first != ctx; derived != tt.derived {
				t.Errorf("%s: the context is derived: %v", tt.name, derived)
			}
			var during bool
			observed := WithObserver(ctx, func(_ context.Context, e Event) { during = first.Err() == nil })
			if err := call.Next(observed, errFailed); err != nil || during != tt.during || released != 1 {
				t.Errorf("%s: %v; during the wait the context lives: %v; BeforeWait was called %d times", tt.name, err, during,
					released)
			}
			second := call.Attempt(ctx)
			if second.Err() != nil || AttemptNumber(second) != 2 {
				t.Errorf("%s: attempt %d begins with %v", tt.name, AttemptNumber(second), second.Err())
			}
			call.End()
			call.End()
			for i, c := range []context.Context{first, second} {
				if got := context.Cause(c); got != tt.cause {
					t.Errorf("%s: after the call context %d has cause %v, want %v", tt.name, i+1, got, tt.cause)
				}
			}
		})
	}
}

// The cause of a context is the limit that ended it.
func TestCauseOfLimit(t *testing.T) {
	for _, tt := range []struct {
		attempt, call time.Duration
		want          error
	}{{1, 0, ErrAttemptTimeout}, {0, 1, ErrTimeout}, {1, 2, ErrAttemptTimeout}, {2, 1, ErrTimeout}, {1, 1, ErrTimeout}} {
		synctest.Test(t, func(t *testing.T) {
			p := Policy{AttemptTimeout: tt.attempt * time.Second, Timeout: tt.call * time.Second}
			call := p.Begin()
			defer call.End()
			ctx := call.Attempt(t.Context())
			<-ctx.Done()
			if got := context.Cause(ctx); got != tt.want {
				t.Errorf("limits %ds and %ds: %v, want %v", tt.attempt, tt.call, got, tt.want)
			}
		})
	}
}

// An attempt that fails within its limit is no timeout, and one that fails at
// its limit is one, even if its timer fires before that of its context.
func TestLimitOfAttempt(t *testing.T) {
	p := Policy{AttemptTimeout: time.Second, RetryOn: []Class{ClassTimeout}}
	for took, want := range map[time.Duration]error{time.Second - 1: errFailed, time.Second: nil} {
		for range 100 {
			synctest.Test(t, func(t *testing.T) {
				call := p.Begin()
				defer call.End()
				call.Attempt(t.Context())
				time.Sleep(took)
				if err := call.Next(t.Context(), errFailed); err != want {
					t.Fatalf("after %v: %v, want %v", took, err, want)
				}
			})
		}
	}
}

// TestGenerated makes calls as generated code does, one after the other.
func TestGenerated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Policy{})
		limit := budget.New(budget.Policy{Burst: 5, Ratio: 1, MinPerSecond: budget.NoRefill})
		p := &Policy{Schedule: Schedule{InitialDelay: None, MaxAttempts: 2}}
		for i, tt := range []struct {
			failures int
			sleep    time.Duration // before
			err      error
			state    breaker.State
			row      int     // of failures
			left     float64 // of the budget
		}{
			{0, 0, nil, breaker.Closed, 0, 5},
			{1, 0, nil, breaker.Closed, 0, 5},
			{2, 0, ErrAttempts, breaker.Closed, 2, 4},
			{0, 0, nil, breaker.Closed, 0, 5}, // ends the row
			{2, 0, ErrAttempts, breaker.Closed, 2, 4},
			{1, 0, ErrBreakerOpen, breaker.Open, 3, 4},
			{0, 0, ErrBreakerOpen, breaker.Open, 3, 4},
			{1, 30*time.Second + 1, ErrBreakerOpen, breaker.Open, 4, 4},
			{0, 30*time.Second + 1, nil, breaker.Closed, 0, 5},
			{1, 0, nil, breaker.Closed, 0, 5},
		} {
			time.Sleep(tt.sleep)
			v, err := guarded(t.Context(), p, b, limit, tt.failures)
			if !errors.Is(err, tt.err) || (err == nil) != (v == 42) {
				t.Errorf("call %d: %v, %v; want %v", i, v, err, tt.err)
			}
			if got := b.Save(); got.State != tt.state || got.Failures != tt.row || limit.Left() != tt.left {
				t.Errorf("call %d: %+v with %v retries left; want %+v", i, got, limit.Left(), tt)
			}
		}
	})
}
