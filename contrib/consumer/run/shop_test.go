package run

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/contrib/consumer/run/api"

	retry "github.com/retrygen/retrygen/runtime"
)

type memory struct{ op api.Op }

func (m memory) Load(ctx context.Context, _ string) (int, error) { return m.op(ctx) }

// A wrapper calls op through one kind of generated code.
type wrapper struct {
	name   string
	bind   func(op api.Op) api.Op
	timed  bool // its policy has limits on time
	nested bool // its policy retries inside of a retry
	deaf   bool // the callee ignores the context
}

var wrappers = []wrapper{
	{name: "function", bind: func(op api.Op) api.Op {
		return func(ctx context.Context) (int, error) { return RetryCall(ctx, op) }
	}},
	{name: "function under limits", timed: true, bind: func(op api.Op) api.Op {
		return func(ctx context.Context) (int, error) { return RetryCallTimed(ctx, op) }
	}},
	{name: "nested function", nested: true, bind: func(op api.Op) api.Op {
		return func(ctx context.Context) (int, error) { return RetryCallNested(ctx, op) }
	}},
	{name: "nested function that shares", nested: true, bind: func(op api.Op) api.Op {
		return func(ctx context.Context) (int, error) { return RetryCallNestedShared(ctx, op) }
	}},
	{name: "function with type parameters", bind: func(op api.Op) api.Op {
		return func(ctx context.Context) (int, error) {
			k, n, err := RetryPair(ctx, "key", op)
			if k != "key" {
				panic(k)
			}
			return n, err
		}
	}},
	{name: "variadic function", bind: func(op api.Op) api.Op {
		return func(ctx context.Context) (int, error) { return RetryVariadic(ctx, op, "one") }
	}},
	{name: "function with named results", deaf: true, bind: func(op api.Op) api.Op {
		return func(ctx context.Context) (int, error) { return RetryNamed(ctx, op) }
	}},
	{name: "method", bind: func(op api.Op) api.Op { return (&Client{op}).RetryDo }},
	{name: "method under limits", timed: true, bind: func(op api.Op) api.Op { return Client{op}.RetryDoTimed }},
	{name: "type", bind: func(op api.Op) api.Op { return NewRetryBox(&Box[int]{op}).Do }},
	{name: "type under limits", timed: true, bind: func(op api.Op) api.Op { return NewRetryBox(&Box[int]{op}).Slow }},
	{name: "interface", bind: func(op api.Op) api.Op { return NewRetryStore(&Box[int]{op}).Do }},
	{name: "interface under limits", timed: true,
		bind: func(op api.Op) api.Op { return NewRetryStore(&Box[int]{op}).Slow }},
	{name: "interface with type parameters", bind: func(op api.Op) api.Op {
		c := NewRetryCache(memory{op})
		return func(ctx context.Context) (int, error) { return c.Load(ctx, "key") }
	}},
	{name: "function of another package", bind: func(op api.Op) api.Op {
		return func(ctx context.Context) (int, error) { return RetryQuery(op, ctx) }
	}},
	{name: "method of another package under limits", timed: true, bind: func(op api.Op) api.Op {
		return func(ctx context.Context) (int, error) { return RetryConnExec(api.Conn{Op: op}, ctx) }
	}},
	{name: "interface of another package", bind: func(op api.Op) api.Op { return NewRetryDoer(&Box[int]{op}).Do }},
	{name: "policy", bind: func(op api.Op) api.Op {
		return func(ctx context.Context) (int, error) { return Free(ctx, op) }
	}},
	{name: "policy under limits", timed: true, bind: func(op api.Op) api.Op {
		return func(ctx context.Context) (int, error) { return FreeTimed(ctx, op) }
	}},
}

// each tests every wrapper in its own bubble, and passes the time since the bubble began.
func each(t *testing.T, f func(t *testing.T, w wrapper, since func() time.Duration)) {
	for _, w := range wrappers {
		t.Run(w.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				f(t, w, func() time.Duration { return time.Since(start) })
			})
		})
	}
}

var errNo = errors.New("no connection")

func TestSuccess(t *testing.T) {
	each(t, func(t *testing.T, w wrapper, since func() time.Duration) {
		calls := 0
		call := w.bind(func(context.Context) (int, error) { calls++; return 7, nil })
		if n, err := call(t.Context()); n != 7 || err != nil || calls != 1 || since() != 0 {
			t.Errorf("got %v, %v after %d calls and %v", n, err, calls, since())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // sooner than any limit
		defer cancel()
		if n := testing.AllocsPerRun(100, func() { call(ctx) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

func TestRetry(t *testing.T) {
	each(t, func(t *testing.T, w wrapper, since func() time.Duration) {
		calls := 0
		n, err := w.bind(func(context.Context) (int, error) {
			if calls++; calls < 3 {
				return -1, errNo
			}
			return 7, nil
		})(t.Context())
		if n != 7 || err != nil || calls != 3 || since() != 2*time.Second {
			t.Errorf("got %v, %v after %d calls and %v", n, err, calls, since())
		}
	})
}

func TestGiveUp(t *testing.T) {
	each(t, func(t *testing.T, w wrapper, since func() time.Duration) {
		calls := 0
		n, err := w.bind(func(context.Context) (int, error) { calls++; return -calls, errNo })(t.Context())
		if n != -3 || !errors.Is(err, retry.ErrAttempts) || !errors.Is(err, errNo) || since() != 2*time.Second {
			t.Errorf("got %v, %v after %v", n, err, since())
		}
	})
}

// TestInsideOfRetry has each wrapper called by another.
func TestInsideOfRetry(t *testing.T) {
	each(t, func(t *testing.T, w wrapper, since func() time.Duration) {
		if w.timed || w.deaf {
			return
		}
		var got []int
		call := w.bind(func(ctx context.Context) (int, error) {
			got = append(got, retry.AttemptNumber(ctx))
			return 0, errNo
		})
		_, err := RetryCall(t.Context(), call)
		want := []int{1, 2, 3, 2, 3}
		if w.nested {
			want = []int{1, 2, 3, 1, 2, 3, 1, 2, 3}
		}
		if !slices.Equal(got, want) || !errors.Is(err, errNo) {
			t.Errorf("attempts %d and %v, want %d", got, err, want)
		}
	})
}

func TestPermanent(t *testing.T) {
	each(t, func(t *testing.T, w wrapper, since func() time.Duration) {
		calls := 0
		_, err := w.bind(func(context.Context) (int, error) { calls++; return 0, retry.Permanent(errNo) })(t.Context())
		if !errors.Is(err, errNo) || calls != 1 || since() != 0 {
			t.Errorf("got %v after %d calls and %v", err, calls, since())
		}
	})
}

// TestCancel ends the caller's context while the wrapper waits.
func TestCancel(t *testing.T) {
	each(t, func(t *testing.T, w wrapper, since func() time.Duration) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(1500*time.Millisecond, cancel)
		calls := 0
		_, err := w.bind(func(context.Context) (int, error) { calls++; return 0, errNo })(ctx)
		if !errors.Is(err, context.Canceled) || !errors.Is(err, errNo) || calls != 2 || since() != 1500*time.Millisecond {
			t.Errorf("got %v after %d calls and %v", err, calls, since())
		}
	})
}

// TestCancelAttempt ends the caller's context while the callee runs.
func TestCancelAttempt(t *testing.T) {
	each(t, func(t *testing.T, w wrapper, since func() time.Duration) {
		if w.deaf {
			return
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(500*time.Millisecond, cancel)
		calls := 0
		_, err := w.bind(func(ctx context.Context) (int, error) {
			calls++
			<-ctx.Done()
			return 0, ctx.Err()
		})(ctx)
		if !errors.Is(err, context.Canceled) || calls != 1 || since() != 500*time.Millisecond {
			t.Errorf("got %v after %d calls and %v", err, calls, since())
		}
	})
}

// TestTimeout has a callee that only ends with its context.
func TestTimeout(t *testing.T) {
	each(t, func(t *testing.T, w wrapper, since func() time.Duration) {
		if !w.timed {
			return
		}
		calls := 0
		var last context.Context
		_, err := w.bind(func(ctx context.Context) (int, error) {
			calls++
			last = ctx
			<-ctx.Done()
			return 0, ctx.Err()
		})(t.Context())
		// The attempts take from 0s to 2s and from 3s to 5s, when the timeout ends the call.
		if !errors.Is(err, context.DeadlineExceeded) || calls != 2 || since() != 5*time.Second {
			t.Errorf("got %v after %d calls and %v", err, calls, since())
		}
		if last.Err() == nil {
			t.Errorf("the context of the last attempt lives on")
		}
	})
}
