package durable_test

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

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// mortal is a store whose process dies: after that, nothing reaches the store
// below.
type mortal struct {
	storage.Store
	dead atomic.Bool
}

func (m *mortal) Update(ctx context.Context, sel storage.Select, f func(storage.Tx) (storage.Writes, error)) error {
	if m.dead.Load() {
		return fmt.Errorf("%w: dead", storage.ErrStore)
	}
	return m.Store.Update(ctx, sel, f)
}

func newEngine(t *testing.T, s storage.Store, options ...durable.Option) *durable.Engine {
	t.Helper()
	e, err := durable.New(s, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = e.Close(ctx)
	})
	return e
}

var charge = retry.Policy{
	Name: "charge", RetryUnknown: true, Schedule: retry.Schedule{MaxAttempts: 4, InitialDelay: 2 * time.Second, Base: 2},
}

func TestRunRecordsItsResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		calls := 0
		fn := func(ctx context.Context) (string, error) {
			calls++
			return durable.Step(ctx, "greet", nil, func(context.Context) (string, error) { return "hello", nil })
		}
		for range 2 {
			got, err := durable.Run(t.Context(), e, "one", fn)
			if got != "hello" || err != nil {
				t.Errorf("Run = %q, %v; want hello", got, err)
			}
		}
		if calls != 1 {
			t.Errorf("fn was called %d times, want 1", calls)
		}
	})
}

func TestStepRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		start, attempts := time.Now(), 0
		err := e.Run(t.Context(), "one", func(ctx context.Context) error {
			got, err := durable.Step(ctx, "charge", &charge, func(ctx context.Context) (int, error) {
				attempts++
				if info, _ := durable.Current(ctx); info.Attempt != attempts {
					t.Errorf("attempt %d, want %d", info.Attempt, attempts)
				}
				if attempts < 3 {
					return 0, errors.New("timeout")
				}
				return 42, nil
			})
			if got != 42 {
				t.Errorf("got %d, want 42", got)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := time.Since(start), 6*time.Second; got != want {
			t.Errorf("waited %v, want %v", got, want)
		}
		var history []string
		for a, err := range e.Admin().Attempts(t.Context(), "one", "charge") {
			if err != nil {
				t.Fatal(err)
			}
			history = append(history, fmt.Sprint(a.Attempt, " ", a.Outcome, " ", a.Wait))
		}
		if want := []string{"1 failed 2s", "2 failed 4s", "3 succeeded 0s"}; !slices.Equal(history, want) {
			t.Errorf("history %q, want %q", history, want)
		}
	})
}

func TestResumeAfterCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		below := memory.New()
		first := &mortal{Store: below}
		attempts := []int{}
		job := func(crash func()) func(ctx context.Context) error {
			return func(ctx context.Context) error {
				_, err := durable.Step(ctx, "charge", &charge, func(ctx context.Context) (int, error) {
					info, _ := durable.Current(ctx)
					attempts = append(attempts, info.Attempt)
					if len(attempts) < 3 {
						return 0, errors.New("timeout")
					}
					return 1, nil
				})
				return err
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, func() { first.dead.Store(true); cancel() }) // in the second wait
		err := newEngine(t, first).Run(ctx, "one", job(nil))
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("err = %v", err)
		}
		start := time.Now()
		err = newEngine(t, below).Run(t.Context(), "one", job(nil))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(attempts, []int{1, 2, 3}) {
			t.Errorf("attempts %v", attempts)
		}
		// The lease of the dead engine ends 30s after its last renewal.
		if got := time.Since(start); got < 26*time.Second || got > 36*time.Second {
			t.Errorf("resumed after %v", got)
		}
	})
}

func TestInDoubtPausesRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		below := memory.New()
		first := &mortal{Store: below}
		calls := 0
		job := func(ctx context.Context) error {
			_, err := durable.Step(ctx, "charge", &charge, func(ctx context.Context) (string, error) {
				calls++
				first.dead.Store(true) // the process dies in the call
				return "", errors.New("dead")
			})
			return err
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		err := newEngine(t, first).Run(ctx, "one", job)
		if !errors.Is(err, storage.ErrStore) {
			t.Errorf("err = %v, want ErrStore", err)
		}
		e := newEngine(t, below)
		var paused *durable.PausedError
		if err := e.Run(t.Context(), "one", job); !errors.As(err, &paused) ||
			!slices.Equal(paused.Steps, []string{"charge"}) {
			t.Fatalf("err = %v, want a PausedError", err)
		}
		if err := e.Run(t.Context(), "one", job); !errors.As(err, &paused) {
			t.Fatalf("err = %v, want a PausedError again", err)
		}
		if got, want := paused.Error(), `run "one" is paused: resolve "charge"`; got != want {
			t.Errorf("got the message %q, want %q", got, want)
		}
		if err := e.Admin().Requeue(t.Context(), "one", "charge"); !errors.Is(err, durable.ErrConflict) ||
			!strings.Contains(err.Error(), "is in doubt: use Resolve") {
			t.Errorf("err = %v, want ErrConflict that names Resolve", err)
		}
		if err := e.Admin().Resolve(t.Context(), "one", "charge", admin.Succeeded("receipt")); err != nil {
			t.Fatal(err)
		}
		if err := e.Run(t.Context(), "one", job); err != nil {
			t.Fatal(err)
		}
		if calls != 1 {
			t.Errorf("%d calls, want 1", calls)
		}
	})
}
