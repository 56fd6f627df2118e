package durable_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// work lets an engine work until the test ends, or stop is called.
func work(t *testing.T, e *durable.Engine, options ...durable.WorkOption) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := e.Work(ctx, options...); err != nil {
			t.Error(err)
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

func double(_ context.Context, n int) (int, error) { return 2 * n, nil }

func TestWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		e := newEngine(t, store)
		durable.Handle(e, "double", double)
		for range 2 { // the second start is none
			if err := durable.Start(t.Context(), e, "double", "one", 21); err != nil {
				t.Fatal(err)
			}
		}
		if err := durable.Start(t.Context(), e, "double", "one", 22); !errors.Is(err, durable.ErrConflict) {
			t.Errorf("another input: %v, want ErrConflict", err)
		}
		stop := work(t, e)
		defer stop()
		got, err := durable.Await[int](t.Context(), newEngine(t, store), "one") // from another process
		if got != 42 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
		if err := e.Run(t.Context(), "two", func(context.Context) error { return nil }); err != nil {
			t.Error(err)
		}
		if _, err := durable.Await[int](t.Context(), e, "nosuch"); !errors.Is(err, durable.ErrNotFound) {
			t.Errorf("err = %v, want ErrNotFound", err)
		}
	})
}

// While the end of a run is recorded, a worker executes the next one, but claims no
// more than that.
func TestWorkDuringEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := &hooked{Store: memory.New()}
		s.hook = func(ctx context.Context, sel storage.Select, decide decision, next update) error {
			ends := false
			err := next(ctx, sel, func(tx storage.Tx) (w storage.Writes, err error) {
				w, err = decide(tx)
				ends = slices.ContainsFunc(w.Put, func(r storage.Record) bool {
					return r.Key.Kind == storage.KindRun && r.Status == storage.StatusSucceeded
				})
				return w, err
			})
			if ends {
				<-release
			}
			return err
		}
		e := newEngine(t, s)
		var calls, executing, most atomic.Int64
		durable.Handle(e, "double", func(ctx context.Context, n int) (int, error) {
			calls.Add(1)
			most.Store(max(most.Load(), executing.Add(1)))
			defer executing.Add(-1)
			return double(ctx, n)
		})
		const runs = 5
		for i := range runs {
			if err := durable.Start(t.Context(), e, "double", fmt.Sprint(i), i); err != nil {
				t.Fatal(err)
			}
		}
		defer work(t, e, durable.MaxRuns(1))()
		synctest.Wait()
		if got := calls.Load(); got != 2 {
			t.Errorf("%d runs were executed before the end of the first was recorded, want 2", got)
		}
		close(release)
		for i := range runs {
			if got, err := durable.Await[int](t.Context(), e, fmt.Sprint(i)); got != 2*i || err != nil {
				t.Errorf("run %d: got %d, %v", i, got, err)
			}
		}
		if calls.Load() != runs || most.Load() != 1 {
			t.Errorf("%d calls, at most %d at a time; want %d and 1", calls.Load(), most.Load(), runs)
		}
	})
}

func TestStartAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		durable.Handle(e, "double", double)
		defer work(t, e)()
		start := time.Now()
		if err := durable.Start(t.Context(), e, "double", "one", 1, durable.StartAt(start.Add(time.Hour))); err != nil {
			t.Fatal(err)
		}
		if _, err := durable.Await[int](t.Context(), e, "one"); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(start); got < time.Hour || got > time.Hour+3*time.Second {
			t.Errorf("executed after %v, want an hour", got)
		}
	})
}

// History 33: runs of unknown handlers and versions are not touched.
func TestUnknownHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		e, other := newEngine(t, store), newEngine(t, store)
		durable.Handle(e, "double", double, durable.Version(1))
		for name, version := range map[string]int{"double": 2, "triple": 0} {
			if err := durable.Start(t.Context(), other, name, name, 1, durable.Version(version)); err != nil {
				t.Fatal(err)
			}
		}
		stop := work(t, e)
		time.Sleep(time.Hour)
		stop()
		for r, err := range e.Admin().List(t.Context(), storage.Query{}) {
			if err != nil || r.Status != storage.StatusOpen || r.Fence != 0 {
				t.Errorf("%+v, %v: want it untouched", r, err)
			}
		}
	})
}

// TestChildren: a parent that waits for its children needs no process.
func TestChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		executions := 0
		durable.Handle(e, "copy", func(ctx context.Context, shard string) (int, error) {
			time.Sleep(time.Minute)
			return len(shard), nil
		})
		durable.Handle(e, "import", func(ctx context.Context, shards []string) (int, error) {
			executions++
			for _, s := range shards {
				if err := durable.Start(ctx, e, "copy", "copy-"+s, s); err != nil {
					return 0, err
				}
			}
			total := 0
			for _, s := range shards {
				n, err := durable.Await[int](ctx, e, "copy-"+s)
				if err != nil {
					return 0, err
				}
				total += n
			}
			return total, nil
		})
		defer work(t, e, durable.MaxRuns(2))() // fewer than there are runs: a parent must not hold a slot
		start := time.Now()
		if err := durable.Start(t.Context(), e, "import", "all", []string{"a", "bb", "ccc", "dddd"}); err != nil {
			t.Fatal(err)
		}
		got, err := durable.Await[int](t.Context(), e, "all")
		if got != 10 || err != nil {
			t.Errorf("got %d, %v; want 10", got, err)
		}
		if took := time.Since(start); took > 3*time.Minute {
			t.Errorf("took %v", took)
		}
		if executions > 5 {
			t.Errorf("the parent was executed %d times", executions)
		}
	})
}

// TestWorkerDies: another worker goes on with the attempt after the lost one.
func TestWorkerDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		below := memory.New()
		mortal := &mortal{Store: below}
		s := genapi.StepPolicy{
			Name: "ping", Idempotent: true,
			Policy: &retry.Policy{Name: "ping", RetryUnknown: true,
				Schedule: retry.Schedule{MaxAttempts: 3, InitialDelay: time.Second}},
		}
		var mu sync.Mutex
		var attempts []string
		handle := func(e *durable.Engine, name string, die func()) {
			durable.Handle(e, "ping", func(ctx context.Context, n int) (int, error) {
				return genapi.Call(ctx, &s, genapi.ID(n), genapi.Digest{}, func(ctx context.Context) (int, error) {
					info, _ := durable.Current(ctx)
					mu.Lock()
					attempts = append(attempts, fmt.Sprint(name, " ", info.Attempt))
					mu.Unlock()
					die()
					return n, nil
				})
			})
		}
		first, second := newEngine(t, mortal), newEngine(t, below)
		handle(first, "first", func() { mortal.dead.Store(true) })
		handle(second, "second", func() {})
		if err := durable.Start(t.Context(), first, "ping", "one", 7); err != nil {
			t.Fatal(err)
		}
		defer work(t, first, durable.Drain(0))()
		time.Sleep(10 * time.Second)
		defer work(t, second)()
		if got, err := durable.Await[int](t.Context(), second, "one"); got != 7 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
		if want := []string{"first 1", "second 2"}; !slices.Equal(attempts, want) {
			t.Errorf("attempts %q, want %q", attempts, want)
		}
	})
}

// TestDrain: a worker that ends finishes what it executes, or leaves it to
// another one.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		e := newEngine(t, store)
		handle := func(e *durable.Engine) {
			durable.Handle(e, "sleep", func(ctx context.Context, d time.Duration) (string, error) {
				select {
				case <-time.After(d):
					return "done", nil
				case <-ctx.Done():
					return "", context.Cause(ctx)
				}
			})
		}
		handle(e)
		for id, d := range map[string]time.Duration{"short": 20 * time.Second, "long": time.Minute} {
			if err := durable.Start(t.Context(), e, "sleep", id, d); err != nil {
				t.Fatal(err)
			}
		}
		stop := work(t, e)
		time.Sleep(10 * time.Second)
		start := time.Now()
		stop()
		if got := time.Since(start); got != 30*time.Second {
			t.Errorf("drained for %v, want 30s", got)
		}
		var got []string
		for r, err := range e.Admin().List(t.Context(), storage.Query{}) {
			got = append(got, fmt.Sprint(r.ID, " ", r.Status, " ", err))
		}
		if want := []string{"long open <nil>", "short succeeded <nil>"}; !slices.Equal(got, want) {
			t.Errorf("runs %q, want %q", got, want)
		}
		other := newEngine(t, store)
		handle(other)
		defer work(t, other)()
		if got, err := durable.Await[string](t.Context(), other, "long"); got != "done" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// History 38: children are canceled with their parent, and go on if it dies.
func TestCancelChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		durable.Handle(e, "sleep", func(ctx context.Context, d time.Duration) (string, error) {
			select {
			case <-time.After(d):
				return "done", nil
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		})
		durable.Handle(e, "parent", func(ctx context.Context, child string) (string, error) {
			if err := durable.Start(ctx, e, "sleep", child, time.Minute); err != nil {
				return "", err
			}
			if strings.HasPrefix(child, "orphan") {
				return "", errors.New("the parent fails")
			}
			return durable.Await[string](ctx, e, child)
		})
		defer work(t, e)()
		for parent, child := range map[string]string{"one": "child", "two": "orphan"} {
			if err := durable.Start(t.Context(), e, "parent", parent, child); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(5 * time.Second)
		if err := e.Admin().Cancel(t.Context(), "one"); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string]error{"one": durable.ErrCanceled, "child": durable.ErrCanceled, "orphan": nil} {
			if _, err := durable.Await[string](t.Context(), e, id); !errors.Is(err, want) {
				t.Errorf("%s: err = %v, want %v", id, err, want)
			}
		}
		var failed *durable.RunError
		if _, err := durable.Await[string](t.Context(), e, "two"); !errors.As(err, &failed) ||
			failed.Status != storage.StatusFailed || failed.Text != "the parent fails" {
			t.Errorf("err = %v, want a RunError", err)
		}
	})
}

// TestRetryFailedRun: a failed run of a worker is executed again when somebody
// says so.
func TestRetryFailedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		calls := 0
		durable.Handle(e, "flaky", func(context.Context, struct{}) (int, error) {
			if calls++; calls == 1 {
				return 0, errors.New("not yet")
			}
			return calls, nil
		})
		defer work(t, e)()
		if err := durable.Start(t.Context(), e, "flaky", "one", struct{}{}); err != nil {
			t.Fatal(err)
		}
		if _, err := durable.Await[int](t.Context(), e, "one"); err == nil {
			t.Fatal("the run has not failed")
		}
		err := e.Run(t.Context(), "one", func(context.Context) error { return nil })
		if !errors.Is(err, durable.ErrConflict) {
			t.Errorf("Run: %v, want ErrConflict", err)
		}
		if err := e.Admin().Resume(t.Context(), "one"); err != nil {
			t.Fatal(err)
		}
		if got, err := durable.Await[int](t.Context(), e, "one"); got != 2 || err != nil {
			t.Errorf("got %d, %v; want 2", got, err)
		}
	})
}

func TestHandlePanics(t *testing.T) {
	e := newEngine(t, memory.New())
	durable.Handle(e, "double", double)
	for _, name := range []string{"", "a b", "a@1", "double"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Handle(%q) did not panic", name)
				}
			}()
			durable.Handle(e, name, double)
		}()
	}
}
