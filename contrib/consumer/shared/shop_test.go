package shared

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/contrib/hyperscale"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/job"
)

// fail returns a callee that fails n times, and counts its calls.
func fail(n int64, err error) (func(context.Context) error, *atomic.Int64) {
	calls := new(atomic.Int64)
	return func(context.Context) error {
		if calls.Add(1) <= n {
			return err
		}
		return nil
	}, calls
}

func TestBreakerOpensAndFallsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		DefaultShared = NewShared()
		var calls *atomic.Int64
		callee, calls = fail(100, Status(503))
		if got, err := RetryGuarded(t.Context(), "a", 1, 2); got != "cached a" || err != nil || calls.Load() != 4 {
			t.Errorf("got %q, %v after %d calls", got, err, calls.Load())
		}
		RetryGuarded(t.Context(), "a")
		if got := DefaultShared.UpstreamBreaker.State(); got != breaker.Open || calls.Load() != 5 {
			t.Errorf("the breaker is %v after %d calls", got, calls.Load())
		}
		RetryGuarded(t.Context(), "a")
		if calls.Load() != 5 {
			t.Errorf("%d calls, though the breaker is open", calls.Load())
		}
		_, err := NewRetryStore(nil, nil).Get(t.Context(), "b")
		if !errors.Is(err, retry.ErrBreakerOpen) {
			t.Errorf("got %v, want the breaker to be shared", err)
		}
		time.Sleep(31 * time.Second)
		callee, calls = fail(0, nil)
		if got, err := RetryGuarded(t.Context(), "a"); got != "a" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		if got := DefaultShared.UpstreamBreaker.State(); got != breaker.Closed {
			t.Errorf("the breaker is %v after a success", got)
		}
	})
}

func TestSharesAreSpent(t *testing.T) {
	DefaultShared = NewShared()
	var calls *atomic.Int64
	for range 5 {
		callee, calls = fail(100, Status(503))
		if err := RetryShare(); !errors.Is(err, retry.ErrAttempts) || calls.Load() != 3 {
			t.Errorf("%v after %d calls", err, calls.Load())
		}
	}
	callee, calls = fail(100, Status(503))
	if err := RetryShare(); !errors.Is(err, retry.ErrBudget) || !errors.Is(err, Status(503)) || calls.Load() != 1 {
		t.Errorf("%v after %d calls, want no retry", err, calls.Load())
	}
	callee, _ = fail(0, nil)
	for range 5 {
		RetryShare()
	}
	if got := DefaultShared.ClientBudget.Left(); got != 1 {
		t.Errorf("%v retries are left, want 1", got)
	}
}

func TestLimitedAndShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		DefaultShared = NewShared()
		callee = func(ctx context.Context) error {
			if at, ok := ctx.Deadline(); !ok || time.Until(at) != 2*time.Minute {
				t.Errorf("deadline %v, want in 2m", at)
			}
			return nil
		}
		if got, err := RetryLimited(t.Context()); got != 2 || err != nil {
			t.Errorf("got %v, %v", got, err)
		}
		callee = func(ctx context.Context) error {
			if at, _ := ctx.Deadline(); time.Until(at) != 3*time.Minute {
				t.Errorf("deadline in %v, want 3m", time.Until(at))
			}
			return nil
		}
		RetryLimited(retry.WithScopeTimeout(t.Context(), "llm_call", time.Hour))
	})
}

func TestKeyIsTheSameForAllAttempts(t *testing.T) {
	keys := map[string]int{}
	callee = func(ctx context.Context) error {
		keys[retry.IdempotencyKey(ctx)]++
		if retry.AttemptNumber(ctx) < 3 {
			return Status(503)
		}
		return nil
	}
	if err := RetryTimed(t.Context()); err != nil || len(keys) != 1 || keys[""] != 0 {
		t.Errorf("keys %v, error %v; want one key", keys, err)
	}
}

func TestClasses(t *testing.T) {
	for _, tt := range []struct {
		err   error
		calls int64
		is    error
	}{
		{Status(409), 5, retry.ErrEscalated},
		{ErrDial, 3, retry.ErrAttempts},
		{io.ErrUnexpectedEOF, 3, retry.ErrAttempts},
		{&ValidationError{"name"}, 1, nil},
		{Status(403), 1, retry.ErrEscalated},
		{errors.New("connection refused"), 1, nil},
		{retry.After(Status(409), time.Hour), 1, retry.ErrRetryAfter},
	} {
		var calls *atomic.Int64
		callee, calls = fail(100, tt.err)
		err := RetryClasses(t.Context())
		if calls.Load() != tt.calls || tt.is != nil && !errors.Is(err, tt.is) || tt.is == nil && err != tt.err {
			t.Errorf("%v: %d calls, %v; want %d, %v", tt.err, calls.Load(), err, tt.calls, tt.is)
		}
	}
}

func TestGroup(t *testing.T) {
	imp := NewImport("job-1")
	var calls *atomic.Int64
	callee, calls = fail(100, Status(503))
	if _, err := imp.RunShard(t.Context(), "a", 1); !errors.Is(err, retry.ErrAttempts) || calls.Load() != 4 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
	c := &Client{callee}
	if err := imp.ClientRun(c, t.Context(), "b"); !errors.Is(err, job.ErrBudget) || calls.Load() != 6 {
		t.Errorf("%v after %d calls, want the job's budget spent", err, calls.Load())
	}
	if err := NewExport("job-2").Write(t.Context(), "a"); !errors.Is(err, job.ErrBudget) || calls.Load() != 7 {
		t.Errorf("%v after %d calls, want no retry", err, calls.Load())
	}
	// Both the environment and the job change the limits.
	limits, err := hyperscale.Budget(*imp.Policy().Budget, func(string) (string, bool) { return "9", true })
	if err != nil {
		t.Fatal(err)
	}
	imp = NewImport("job-3")
	imp.SetBudget(job.NewBudget(limits.Request(1, 0)))
	if _, err := imp.RunShard(t.Context(), "a", 1); !errors.Is(err, job.ErrBudget) || calls.Load() != 9 {
		t.Errorf("%v after %d calls, want one retry", err, calls.Load())
	}
	callee, _ = fail(0, nil)
	units := []string{"a", "b", "c"}
	out, err := job.Run(t.Context(), imp.Group, units, func(ctx context.Context, unit string) (int, error) {
		return imp.RunShard(ctx, unit, len(unit))
	}, nil)
	if err != nil || !out.Success || len(out.Results) != 3 {
		t.Errorf("got %+v, %v", out, err)
	}
}

func TestAllocations(t *testing.T) {
	DefaultShared = NewShared()
	callee = func(context.Context) error { return nil }
	ctx, c := context.Background(), &Client{callee}
	store := NewRetryStore(getter{}, nil)
	for name, f := range map[string]func(){
		"breaker": func() { RetryGuarded(ctx, "a") },
		"budget":  func() { RetryShare() },
		"both":    func() { c.RetryGet(ctx, "a") },
		"store":   func() { store.Get(ctx, "a") },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

type getter struct{}

func (getter) Get(context.Context, string) (int, error) { return 0, nil }
func (getter) Put(context.Context, string, int) error   { return nil }
func (getter) Close() error                             { return nil }
