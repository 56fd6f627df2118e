package run

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/contrib/consumer/durable/run/api"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

type keyed struct{ op api.Op }

func (m keyed) Load(ctx context.Context, _ string, _ string) (int, error) { return m.op(ctx) }

// A wrapper calls op with an id, through one kind of generated code.
type wrapper struct {
	name string
	call func(ctx context.Context, id string, op api.Op) (int, error)
	free bool // nothing is recorded before a failure
}

var wrappers = []wrapper{
	{name: "function", call: func(ctx context.Context, id string, op api.Op) (int, error) {
		return RetryCall(ctx, ID(id), op)
	}},
	{name: "function under a limit", call: func(ctx context.Context, id string, op api.Op) (int, error) {
		return RetryCallLimited(ctx, ID(id), op)
	}},
	{name: "function that shares", call: func(ctx context.Context, id string, op api.Op) (int, error) {
		return RetryCallGuarded(ctx, ID(id), op)
	}},
	{name: "function that shares in the store", call: func(ctx context.Context, id string, op api.Op) (int, error) {
		return RetryCallStored(ctx, ID(id), op)
	}},
	{name: "function that records failures", free: true,
		call: func(ctx context.Context, id string, op api.Op) (int, error) {
			return RetryCallFailures(ctx, ID(id), op)
		}},
	{name: "function with type parameters", call: func(ctx context.Context, id string, op api.Op) (int, error) {
		k, n, err := RetryPair(ctx, ID(id), op)
		if err == nil && k != ID(id) {
			panic(k)
		}
		return n, err
	}},
	{name: "variadic function", call: func(ctx context.Context, id string, op api.Op) (int, error) {
		return RetryVariadic(ctx, op, ID(id), "one")
	}},
	{name: "named result", call: func(ctx context.Context, id string, op api.Op) (int, error) {
		return RetryNamed(ctx, ID(id), op)
	}},
	{name: "named results", call: func(ctx context.Context, id string, op api.Op) (int, error) {
		all, list, err := RetryNamedPair(ctx, ID(id), op)
		if err != nil {
			return 0, err
		}
		return all["n"] + list[0] - all["n"], nil
	}},
	{name: "checked function", call: func(ctx context.Context, id string, op api.Op) (int, error) {
		return RetryChecked(ctx, ID(id), op)
	}},
	{name: "function with a fallback", call: func(ctx context.Context, id string, op api.Op) (int, error) {
		n, err := RetryLate(ctx, ID(id), op)
		if n < 0 {
			return 0, retry.ErrAttempts
		}
		return n, err
	}},
	{name: "function with a request", call: func(ctx context.Context, id string, op api.Op) (int, error) {
		req, err := http.NewRequestWithContext(ctx, "PUT", "http://example.com", strings.NewReader("body"))
		if err != nil {
			return 0, err
		}
		return RetrySend(req, ID(id), op)
	}},
	{name: "function with a reader", call: func(ctx context.Context, id string, op api.Op) (int, error) {
		return RetryUpload(ctx, ID(id), strings.NewReader("content"), op)
	}},
	{name: "function with a struct", call: func(ctx context.Context, id string, op api.Op) (int, error) {
		receipt, err := RetryCharge(ctx, ID(id), 1, 2.5, op)
		if err != nil {
			return 0, err
		}
		return receipt.Paid, nil
	}},
	{name: "method", call: func(ctx context.Context, id string, op api.Op) (int, error) {
		return (&Client{op}).RetryDo(ctx, id)
	}},
	{name: "method that shares", call: func(ctx context.Context, id string, op api.Op) (int, error) {
		return Client{op}.RetryDoGuarded(ctx, id)
	}},
	{name: "type", call: func(ctx context.Context, id string, op api.Op) (int, error) {
		return NewRetryBox(&Box[int]{op}).Do(ctx, id)
	}},
	{name: "interface", call: func(ctx context.Context, id string, op api.Op) (int, error) {
		return NewRetryStore(&Box[int]{op}, &Shared{WeakBreaker: new(breaker.Breaker)}).Do(ctx, id)
	}},
	{name: "interface with type parameters", call: func(ctx context.Context, id string, op api.Op) (int, error) {
		return NewRetryCache(keyed{op}).Load(ctx, id, "key")
	}},
	{name: "function of another package", call: func(ctx context.Context, id string, op api.Op) (int, error) {
		return RetryQuery(op, ctx, id)
	}},
	{name: "method of another package", call: func(ctx context.Context, id string, op api.Op) (int, error) {
		return RetryConnExec(api.Conn{Op: op}, ctx, id)
	}},
	{name: "interface of another package", call: func(ctx context.Context, id string, op api.Op) (int, error) {
		return NewRetryDoer(&Box[int]{op}).Do(ctx, id)
	}},
}

// each tests every wrapper in its own bubble.
func each(t *testing.T, f func(t *testing.T, w wrapper)) {
	for _, w := range wrappers {
		t.Run(w.name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { f(t, w) }) })
	}
}

// run executes fn as a run, in its own process.
func run(t *testing.T, store storage.Store, fn func(context.Context) error) error {
	t.Helper()
	e, err := durable.New(store)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.Background())
	return e.Run(t.Context(), "run", fn)
}

var (
	errNo   = errors.New("no")
	errStop = errors.New("stop")
)

// TestGroup runs a group that no binding names: durable.Group counts the retries of
// the steps that its units call.
func TestGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32 // of several goroutines
		err := run(t, memory.New(), func(ctx context.Context) error {
			out, err := durable.Group(ctx, NewImport("job").Group, []string{"a", "b", "c"},
				func(ctx context.Context, unit string) (int, error) {
					return RetryCall(ctx, ID(unit), func(context.Context) (int, error) {
						if calls.Add(1); unit == "c" {
							return 1, nil
						}
						return 0, errNo
					})
				}, nil)
			if got := out.Decision.String(); got != "max_failures_reached (2/2)" || len(out.DeadLetters) != 2 {
				t.Errorf("got %s, %v", got, out.DeadLetters)
			}
			return err
		})
		if err != nil || calls.Load() != 3+3 {
			t.Errorf("%d calls, %v; want 3 and as many retries", calls.Load(), err)
		}
	})
}

func TestWithoutRun(t *testing.T) {
	each(t, func(t *testing.T, w wrapper) {
		_, err := w.call(t.Context(), "a", func(context.Context) (int, error) { t.Error("called"); return 0, nil })
		if !errors.Is(err, durable.ErrNoRun) {
			t.Errorf("got %v, want ErrNoRun", err)
		}
	})
}

// TestRecorded calls each step in two processes.
func TestRecorded(t *testing.T) {
	each(t, func(t *testing.T, w wrapper) {
		store, calls := memory.New(), map[string]int{}
		fn := func(ctx context.Context) error {
			for _, id := range []string{"a", "b"} {
				n, err := w.call(ctx, id, func(context.Context) (int, error) { calls[id]++; return 6 + len(calls), nil })
				if want := map[string]int{"a": 7, "b": 8}[id]; n != want && !w.free || err != nil {
					t.Errorf("%s: got %v, %v, want %d", id, n, err, want)
				}
			}
			return errStop
		}
		for range 2 {
			if err := run(t, store, fn); !errors.Is(err, errStop) {
				t.Errorf("got %v", err)
			}
		}
		if !w.free && (calls["a"] != 1 || calls["b"] != 1) {
			t.Errorf("called %v, want once for each id", calls)
		}
	})
}

func TestRetry(t *testing.T) {
	each(t, func(t *testing.T, w wrapper) {
		calls := 0
		var keys []string
		err := run(t, memory.New(), func(ctx context.Context) error {
			n, err := w.call(ctx, "a", func(ctx context.Context) (int, error) {
				calls++
				key := retry.IdempotencyKey(ctx)
				keys = append(keys, key)
				if info, ok := durable.Current(ctx); !ok || info.Attempt != calls {
					t.Errorf("attempt %d, want %d", info.Attempt, calls)
				}
				if calls < 3 {
					return -1, errNo
				}
				return 7, nil
			})
			if n != 7 {
				t.Errorf("got %d, want 7", n)
			}
			return err
		})
		if err != nil || calls != 3 {
			t.Errorf("got %v after %d calls", err, calls)
		}
		if slices.Sort(keys); len(slices.Compact(keys)) != 1 || keys[0] == "" {
			t.Errorf("idempotency keys %q, want one", keys)
		}
	})
}

// TestResume ends the process at each point, and continues in other processes.
func TestResume(t *testing.T) {
	each(t, func(t *testing.T, w wrapper) {
		for n := 1; ; n++ {
			store, attempts := memory.New(), []int{}
			fn := func(ctx context.Context) error {
				n, err := w.call(ctx, "a", func(ctx context.Context) (int, error) {
					info, _ := durable.Current(ctx)
					if attempts = append(attempts, info.Attempt); info.Attempt < 3 {
						return 0, errNo
					}
					return 7, nil
				})
				if err == nil && n != 7 {
					t.Errorf("got %d, want 7", n)
				}
				return err
			}
			faulty := durabletest.CrashAt(store, n)
			func() {
				e, err := durable.New(faulty)
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := faulty.Context(t.Context())
				defer cancel()
				_ = e.Run(ctx, "run", fn)
				closing, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				_ = e.Close(closing)
			}()
			if !faulty.Failed() {
				return
			}
			var paused *durable.PausedError
			if err := run(t, store, fn); err != nil && !errors.As(err, &paused) {
				t.Errorf("crash at %d: %v", n, err)
			}
			if !w.free && len(slices.Compact(slices.Clone(attempts))) != len(attempts) {
				t.Errorf("crash at %d: attempts %v: a number was executed twice", n, attempts)
			}
		}
	})
}

// TestExhausted: the error is the same in the process that made the last attempt
// and in others.
func TestExhausted(t *testing.T) {
	each(t, func(t *testing.T, w wrapper) {
		store, calls := memory.New(), 0
		for range 2 {
			err := run(t, store, func(ctx context.Context) error {
				_, err := w.call(ctx, "a", func(context.Context) (int, error) { calls++; return 0, errNo })
				return err
			})
			if !errors.Is(err, retry.ErrAttempts) || calls != 3 {
				t.Errorf("got %v after %d calls", err, calls)
			}
		}
	})
}

// TestErrors: errors.Is finds the errors that the policy file names.
func TestErrors(t *testing.T) {
	store, calls := memory.New(), 0
	for range 2 {
		err := run(t, store, func(ctx context.Context) error {
			_, err := RetryCall(ctx, "a", func(context.Context) (int, error) { calls++; return 0, ErrDeclined })
			return err
		})
		if !errors.Is(err, ErrDeclined) || errors.Is(err, errNo) || calls != 1 {
			t.Errorf("got %v after %d calls", err, calls)
		}
	}
}

func TestChanged(t *testing.T) {
	err := run(t, memory.New(), func(ctx context.Context) error {
		paid := func(context.Context) (int, error) { return 5, nil }
		if _, err := RetryCharge(ctx, "a", 1, 2.5, paid); err != nil {
			return err
		}
		if _, err := RetryCharge(ctx, "a", 2, 3.5, paid); err != nil {
			return err // another n is another step
		}
		if _, err := RetryReport(ctx, "a", 1, paid); err != nil {
			return err
		}
		if _, err := RetryReport(ctx, "a", 2, paid); err != nil {
			return err
		}
		_, err := RetryCharge(ctx, "a", 1, 3.5, paid)
		return err
	})
	if !errors.Is(err, durable.ErrChanged) {
		t.Errorf("got %v, want ErrChanged", err)
	}
}

// TestRepeated calls two steps twice in one execution. Only one of them allows it.
func TestRepeated(t *testing.T) {
	calls := 0
	op := func(context.Context) (int, error) { calls++; return calls, nil }
	err := run(t, memory.New(), func(ctx context.Context) error {
		for range 2 {
			if n, err := RetryNamed(ctx, "a", op); n != 1 || err != nil {
				t.Errorf("with repeat: got %d, %v", n, err)
			}
		}
		if _, err := RetryCall(ctx, "a", op); err != nil {
			return err
		}
		_, err := RetryCall(ctx, "a", op)
		return err
	})
	if !errors.Is(err, durable.ErrRepeated) || calls != 2 {
		t.Errorf("got %v after %d calls, want ErrRepeated after 2", err, calls)
	}
}

func TestErrorAlone(t *testing.T) {
	calls, got := 0, 0
	err := run(t, memory.New(), func(ctx context.Context) error {
		if err := RetryOnly(ctx, "a", &got, func(context.Context) (int, error) { calls++; return 0, nil }); err != nil {
			return err
		}
		return RetryOnly(ctx, "b", &got, func(context.Context) (int, error) { calls++; return 0, retry.Permanent(errNo) })
	})
	if calls != 2 || err == nil || errors.Is(err, durable.ErrNoRun) {
		t.Errorf("got %v after %d calls", err, calls)
	}
}

// TestFallback: a fallback is for a step that has failed, not for a call that was
// not made.
func TestFallback(t *testing.T) {
	no := func(context.Context) (int, error) { return 0, retry.Permanent(errNo) }
	if n, err := RetryLate(t.Context(), "a", no); n == -1 || !errors.Is(err, durable.ErrNoRun) {
		t.Errorf("without a run: %v, %v", n, err)
	}
	err := run(t, memory.New(), func(ctx context.Context) error {
		n, err := RetryLate(ctx, "a", no)
		if n != -1 {
			t.Errorf("got %v, %v, want the fallback", n, err)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestSharedOfDecorator: a decorator uses the breaker that it was given.
func TestSharedOfDecorator(t *testing.T) {
	own := NewShared()
	_ = run(t, memory.New(), func(ctx context.Context) error {
		store := NewRetryStore(&Box[int]{func(context.Context) (int, error) { return 0, errNo }}, own)
		_, _ = store.Do(ctx, "a")
		_, err := store.Do(ctx, "b")
		return err
	})
	if own.WeakBreaker.State() != breaker.Open || DefaultShared.WeakBreaker.State() != breaker.Closed {
		t.Errorf("own %v, default %v", own.WeakBreaker.State(), DefaultShared.WeakBreaker.State())
	}
}

// TestPlainMethod: the other methods of a type need no run.
func TestPlainMethod(t *testing.T) {
	box := &Box[int]{func(context.Context) (int, error) { return 7, nil }}
	for _, plain := range []func(context.Context) (int, error){NewRetryBox(box).Plain, NewRetryStore(box, nil).Plain} {
		if n, err := plain(t.Context()); n != 7 || err != nil {
			t.Errorf("got %v, %v", n, err)
		}
	}
}
