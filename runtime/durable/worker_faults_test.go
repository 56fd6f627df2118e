package durable_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A run whose claim was committed, but not answered, is executed.
func TestWorkerLostClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		var lose atomic.Bool
		s := &hooked{Store: m}
		s.hook = func(
			ctx context.Context, sel storage.Select, decide func(storage.Tx) (storage.Writes, error), next update,
		) error {
			err := next(ctx, sel, decide)
			if err == nil && !isRenewal(sel) && lose.Load() {
				return storage.ErrUnknown
			}
			return err
		}
		e := newEngine(t, s)
		durable.Handle(e, "double", double)
		if err := durable.Start(t.Context(), newEngine(t, m), "double", "one", 21); err != nil {
			t.Fatal(err)
		}
		lose.Store(true)
		defer work(t, e)()
		time.Sleep(5 * time.Second)
		lose.Store(false)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if got, err := durable.Await[int](ctx, e, "one"); got != 42 || err != nil {
			t.Errorf("got %d, %v; want 42", got, err)
		}
	})
}

// A run whose end could not be recorded before its engine was closed is executed
// by another one.
func TestWorkerClosedAfterLostEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		var fail atomic.Bool
		s := &hooked{Store: m}
		s.hook = func(
			ctx context.Context, sel storage.Select, decide func(storage.Tx) (storage.Writes, error), next update,
		) error {
			if fail.Load() {
				return storage.ErrStore
			}
			return next(ctx, sel, decide)
		}
		e, other := newEngine(t, s), newEngine(t, m)
		durable.Handle(e, "double", func(ctx context.Context, n int) (int, error) {
			fail.Store(true)
			return 2 * n, nil
		})
		durable.Handle(other, "double", double)
		if err := durable.Start(t.Context(), e, "double", "one", 21); err != nil {
			t.Fatal(err)
		}
		stop := work(t, e)
		time.Sleep(time.Second)
		stop()
		fail.Store(false)
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
		defer work(t, other)()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if got, err := durable.Await[int](ctx, other, "one"); got != 42 || err != nil {
			t.Errorf("got %d, %v; want 42", got, err)
		}
	})
}

// A worker whose clock is ahead of that of the store asks now and then, not all
// the time.
func TestWorkerAheadOfStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &durabletest.Skewed{Store: memory.New()}
		s.Set(-time.Minute)
		var asked atomic.Int64
		h := &hooked{Store: s}
		h.hook = func(
			ctx context.Context, sel storage.Select, decide func(storage.Tx) (storage.Writes, error), next update,
		) error {
			if !isRenewal(sel) && asked.Add(1) > 1000 {
				time.Sleep(time.Second) // or the clock of the bubble stops
			}
			return next(ctx, sel, decide)
		}
		e := newEngine(t, h)
		durable.Handle(e, "double", double)
		if err := durable.Start(t.Context(), e, "double", "one", 21, durable.StartAt(time.Now())); err != nil {
			t.Fatal(err)
		}
		defer work(t, e)()
		if got, err := durable.Await[int](t.Context(), e, "one"); got != 42 || err != nil {
			t.Errorf("got %d, %v; want 42", got, err)
		}
		if n := asked.Load(); n > 100 {
			t.Errorf("the store had %d updates within a minute", n)
		}
	})
}

// A worker that would never execute a run says so.
func TestWorkWithoutHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := newEngine(t, memory.New()).Work(ctx); err == nil || ctx.Err() != nil {
			t.Errorf("Work returned %v after %v, want an error at once", err, time.Since(epoch))
		}
	})
}

// A worker ends with its engine.
func TestWorkOfClosedEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		durable.Handle(e, "double", double)
		done := make(chan error)
		go func() { done <- e.Work(t.Context()) }()
		time.Sleep(time.Minute)
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
		select {
		case err := <-done:
			wantError(t, err, durable.ErrClosed)
		case <-time.After(time.Millisecond):
			t.Error("the worker waits for its poll")
			return
		}
	})
}

// A run is not completed while it waits for another one, even if its function
// drops the error.
func TestAwaitErrorSwallowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		durable.Handle(e, "sleep", func(context.Context, struct{}) (int, error) {
			time.Sleep(time.Minute)
			return 7, nil
		})
		durable.Handle(e, "parent", func(ctx context.Context, _ struct{}) (int, error) {
			if err := durable.Start(ctx, e, "sleep", "child", struct{}{}); err != nil {
				return 0, err
			}
			n, _ := durable.Await[int](ctx, e, "child")
			return n, nil
		})
		defer work(t, e)()
		if err := durable.Start(t.Context(), e, "parent", "one", struct{}{}); err != nil {
			t.Fatal(err)
		}
		if got, err := durable.Await[int](t.Context(), e, "one"); got != 7 || err != nil {
			t.Errorf("got %d, %v; want 7, the result of the child", got, err)
		}
	})
}

// A run may wait for another one in several places.
func TestAwaitTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		durable.Handle(p.Engine, "sleep", func(context.Context, struct{}) (int, error) {
			time.Sleep(time.Minute)
			return 7, nil
		})
		durable.Handle(p.Engine, "parent", func(ctx context.Context, _ struct{}) (int, error) {
			if err := durable.Start(ctx, p.Engine, "sleep", "child", struct{}{}); err != nil {
				return 0, err
			}
			var sum atomic.Int64
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					n, _ := durable.Await[int](ctx, p.Engine, "child")
					sum.Add(int64(n))
				})
			}
			wg.Wait()
			return int(sum.Load()), nil
		})
		defer work(t, p.Engine)()
		if err := durable.Start(t.Context(), p.Engine, "parent", "one", struct{}{}); err != nil {
			t.Fatal(err)
		}
		if got, err := durable.Await[int](t.Context(), p.Engine, "one"); got != 14 || err != nil {
			t.Errorf("got %d, %v; want 14", got, err)
		}
		if events := p.saw(events.EventStoreError); len(events) > 0 {
			t.Errorf("got the errors %+v", events)
		}
	})
}

// A run that waits for itself would wait for ever.
func TestAwaitItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		durable.Handle(p.Engine, "self", func(ctx context.Context, _ struct{}) (int, error) {
			return durable.Await[int](ctx, p.Engine, "one")
		})
		defer work(t, p.Engine)()
		if err := durable.Start(t.Context(), p.Engine, "self", "one", struct{}{}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := durable.Await[int](ctx, p.Engine, "one")
		if failed := wantAs[*durable.RunError](t, err); failed.Status != storage.StatusFailed {
			t.Errorf("got %v, want a failed run", err)
		}
		err = p.run("two", func(ctx context.Context) error {
			_, err := durable.Await[int](ctx, p.Engine, "two")
			return err
		})
		wantError(t, err, durable.ErrConflict)
	})
}

// Runs that a newer version has written do not keep a worker from others.
func TestWorkerUnreadableRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		e := newEngine(t, m)
		durable.Handle(e, "double", double)
		for i := range 20 {
			id := fmt.Sprint("a-", i)
			if err := durable.Start(t.Context(), e, "double", id, 1); err != nil {
				t.Fatal(err)
			}
			key := storage.Key{Kind: storage.KindRun, Run: id}
			err := m.Update(t.Context(), storage.Select{Keys: []storage.Key{key}}, func(tx storage.Tx) (storage.Writes, error) {
				tx.Records[0].Body = []byte(`{"new": true}`)
				return storage.Writes{Put: tx.Records}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := durable.Start(t.Context(), e, "double", "one", 21); err != nil {
			t.Fatal(err)
		}
		defer work(t, e)()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if got, err := durable.Await[int](ctx, e, "one"); got != 42 || err != nil {
			t.Errorf("got %d, %v; want 42", got, err)
		}
	})
}

// A claimed run that the same engine has just begun to execute does not keep a
// worker from the others that it has claimed.
func TestWorkerClaimsActiveRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &hooked{Store: memory.New()}
		p := startProcess(t, s)
		ready, release := make(chan struct{}), make(chan struct{})
		var claim sync.Once
		var direct sync.WaitGroup
		claimsDirectly := func(sel storage.Select) bool {
			return len(sel.Queries) == 0 && slices.ContainsFunc(sel.Keys, func(k storage.Key) bool { return k.Run == "a" })
		}
		s.hook = func(ctx context.Context, sel storage.Select, decide decision, next update) error {
			select {
			case <-ready:
				if claimsDirectly(sel) {
					<-release
				}
			default:
			}
			if len(sel.Queries) > 0 { // the worker knows which runs are active
				claim.Do(func() {
					close(ready)
					direct.Go(func() {
						wantError(t, p.Run(t.Context(), "a", func(context.Context) error { return nil }), durable.ErrConflict)
					})
					time.Sleep(time.Millisecond)
				})
			}
			return next(ctx, sel, decide)
		}
		var calls [3]atomic.Int64
		durable.Handle(p.Engine, "count", func(_ context.Context, i int) (int64, error) { return calls[i].Add(1), nil })
		for i, id := range []string{"a", "b", "c"} {
			if err := durable.Start(t.Context(), p.Engine, "count", id, i); err != nil {
				t.Fatal(err)
			}
		}
		defer work(t, p.Engine)()
		time.Sleep(100 * time.Millisecond)
		for i, want := range []int64{0, 1, 1} {
			if got := calls[i].Load(); got != want {
				t.Errorf("run %d was called %d times at first, want %d", i, got, want)
			}
		}
		if events := p.saw(events.EventStoreError); len(events) != 1 {
			t.Errorf("got the errors %+v, want one", events)
		}
		close(release)
		direct.Wait()
		if got, err := durable.Await[int64](t.Context(), p.Engine, "a"); got != 1 || err != nil {
			t.Errorf("got %d, %v; want 1", got, err)
		}
	})
}

// An ending notifier closes its first channel.
type ending struct {
	*memory.Store
	first chan struct{}
	calls atomic.Int64
}

func (n *ending) Notifications(ctx context.Context, space string) (<-chan struct{}, error) {
	if n.calls.Add(1) == 1 {
		return n.first, nil
	}
	return n.Store.Notifications(ctx, space)
}

// A worker whose notifications have ended asks for them again.
func TestWorkerNotificationsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &ending{Store: memory.New(), first: make(chan struct{})}
		e := newEngine(t, s)
		durable.Handle(e, "double", double)
		defer work(t, e, durable.Poll(time.Hour))()
		time.Sleep(time.Minute)
		close(s.first)
		time.Sleep(time.Minute)
		if n := s.calls.Load(); n != 2 {
			t.Errorf("the worker has asked for notifications %d times, want 2", n)
		}
		begin := time.Now()
		if err := durable.Start(t.Context(), newEngine(t, s.Store), "double", "one", 21); err != nil {
			t.Fatal(err)
		}
		if got, err := durable.Await[int](t.Context(), e, "one"); got != 42 || err != nil {
			t.Errorf("got %d, %v; want 42", got, err)
		}
		if d := time.Since(begin); d > time.Minute {
			t.Errorf("the run has ended after %v, want that a notification starts it", d)
		}
	})
}
