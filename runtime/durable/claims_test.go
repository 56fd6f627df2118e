package durable_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A diary has the runs that were executed, in the order of their starts.
type diary struct {
	mu   sync.Mutex
	runs []string
}

func (d *diary) write(ctx context.Context) {
	info, _ := durable.Current(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.runs = append(d.runs, info.Run)
}

func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.runs)
}

// sleeper returns a handler whose runs write into the diary and take some time.
func (d *diary) sleeper(takes time.Duration) func(context.Context, int) (int, error) {
	return func(ctx context.Context, n int) (int, error) {
		d.write(ctx)
		select {
		case <-time.After(takes):
		case <-ctx.Done():
		}
		return n, ctx.Err()
	}
}

// start starts runs of a handler.
func start(t *testing.T, e *durable.Engine, handler string, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := durable.Start(t.Context(), e, handler, id, 1); err != nil {
			t.Fatal(err)
		}
	}
}

// numbered returns ids with a prefix.
func numbered(prefix string, n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%s-%03d", prefix, i)
	}
	return ids
}

// A worker claims several runs in one transaction, and no more than it executes.
func TestClaimSeveral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var claims [][]string // that wrote
		s := &hooked{Store: memory.New()}
		s.hook = func(ctx context.Context, sel storage.Select, decide decision, next update) error {
			if sel.Queries == nil {
				return next(ctx, sel, decide)
			}
			var runs []string
			err := next(ctx, sel, func(tx storage.Tx) (storage.Writes, error) {
				w, err := decide(tx)
				runs = nil
				for _, r := range w.Put {
					runs = append(runs, r.Key.Run)
				}
				return w, err
			})
			if len(runs) > 0 {
				claims = append(claims, runs)
			}
			return err
		}
		e := newEngine(t, s)
		var d diary
		durable.Handle(e, "sleep", d.sleeper(time.Hour))
		ids := numbered("run", 12)
		start(t, e, "sleep", ids...)
		stop := work(t, e, durable.MaxRuns(5), durable.Drain(0))
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := [][]string{ids[:5]}; fmt.Sprint(claims) != fmt.Sprint(want) {
			t.Errorf("claimed %v, want %v", claims, want)
		}
		stop()
	})
}

// The backlog of one handler does not keep a worker from the runs of others.
func TestClaimFromEachHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		var d diary
		handlers := []string{"flood", "rare", "seldom"}
		for _, handler := range handlers {
			durable.Handle(e, handler, d.sleeper(time.Minute))
		}
		start(t, e, "flood", numbered("flood", 100)...)
		time.Sleep(time.Hour)
		start(t, e, "rare", "rare")
		start(t, e, "seldom", "seldom")
		defer work(t, e, durable.MaxRuns(1), durable.Drain(0))()
		time.Sleep(3*time.Minute - time.Second)
		got := d.read()
		slices.Sort(got)
		if want := []string{"flood-000", "rare", "seldom"}; !slices.Equal(got, want) {
			t.Errorf("executed %v, want one of each handler", got)
		}
		time.Sleep(3 * time.Minute) // the slots of idle handlers are used
		if n := len(d.read()); n < 5 {
			t.Errorf("executed %d runs in 6 minutes", n)
		}
	})
}

// Runs are executed in the order in which they became due, whatever their ids.
func TestClaimOldestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		var d diary
		durable.Handle(e, "sleep", d.sleeper(time.Second))
		want := []string{"z", "m", "a", "q", "b"}
		for _, id := range want {
			start(t, e, "sleep", id)
			time.Sleep(time.Millisecond)
		}
		defer work(t, e, durable.MaxRuns(1))()
		time.Sleep(time.Minute)
		if got := d.read(); !slices.Equal(got, want) {
			t.Errorf("executed %v, want %v", got, want)
		}
	})
}

// The runs of a dead worker do not wait until there is no backlog.
func TestClaimOrphansInspiteOfBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		mortal := &mortal{Store: m}
		first, second := newEngine(t, mortal), newEngine(t, m)
		var d diary
		durable.Handle(first, "sleep", func(ctx context.Context, n int) (int, error) {
			mortal.dead.Store(true)
			return n, nil
		})
		durable.Handle(second, "sleep", d.sleeper(time.Second))
		start(t, second, "sleep", "orphan")
		defer work(t, first, durable.Drain(0))()
		time.Sleep(time.Second)
		start(t, second, "sleep", numbered("run", 1000)...)
		defer work(t, second, durable.MaxRuns(1), durable.Drain(0))()
		time.Sleep(40 * time.Second) // the lease is 30s
		if !slices.Contains(d.read(), "orphan") {
			t.Error("the orphan was not executed")
		}
	})
}

// What becomes due by the clock of the store is due, and a dead owner does not
// live as long as that clock was set back.
func TestClaimByClockOfStore(t *testing.T) {
	for _, offset := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			s := &durabletest.Skewed{Store: memory.New()}
			s.Set(offset)
			mortal := &mortal{Store: s}
			first, second := newEngine(t, mortal), newEngine(t, s)
			var d diary
			durable.Handle(first, "sleep", func(ctx context.Context, n int) (int, error) {
				mortal.dead.Store(true)
				return n, nil
			})
			durable.Handle(second, "sleep", d.sleeper(time.Second))
			start(t, second, "sleep", "orphan")
			defer work(t, first, durable.Drain(0))()
			time.Sleep(time.Second)
			s.Set(offset - 24*time.Hour)
			at := time.Now().Add(offset - 24*time.Hour + time.Minute)
			if err := durable.Start(t.Context(), second, "sleep", "later", 1, durable.StartAt(at)); err != nil {
				t.Fatal(err)
			}
			defer work(t, second)()
			time.Sleep(59 * time.Second)
			if got, want := d.read(), []string{"orphan"}; !slices.Equal(got, want) {
				t.Errorf("%v: executed %v before the time, want %v", offset, got, want)
			}
			time.Sleep(3 * time.Second)
			if got, want := d.read(), []string{"orphan", "later"}; !slices.Equal(got, want) {
				t.Errorf("%v: executed %v, want %v", offset, got, want)
			}
		})
	}
}

// With a store that notifies, neither a worker nor a caller of Await waits for
// its poll.
func TestNotifiedByOtherEngines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		worker, other := newEngine(t, m), newEngine(t, m)
		durable.Handle(worker, "double", double)
		defer work(t, worker, durable.Poll(time.Hour))()
		time.Sleep(time.Minute)
		began := time.Now()
		start(t, other, "double", "one")
		if got, err := durable.Await[int](t.Context(), other, "one"); got != 2 || err != nil {
			t.Errorf("got %d, %v; want 2", got, err)
		}
		wantAbout(t, "the run", time.Since(began), 0, 100*time.Millisecond)
	})
}

// Without notifications, polls find everything; and a subscription that fails is
// reported and repeated.
func TestNotificationsFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		s := &deaf{Store: m}
		p := startProcess(t, s)
		worker, other := newEngine(t, s, durable.OnEvent(p.observe)), newEngine(t, m)
		durable.Handle(worker, "double", double)
		defer work(t, worker)()
		start(t, other, "double", "one")
		began := time.Now()
		if got, err := durable.Await[int](t.Context(), newEngine(t, s), "one"); got != 2 || err != nil {
			t.Errorf("got %d, %v; want 2", got, err)
		}
		wantAbout(t, "the run", time.Since(began), 0, 3*time.Second)
		if len(p.saw(events.EventStoreError)) == 0 {
			t.Error("the failures of subscriptions are not reported")
		}
	})
}

// A deaf store cannot notify.
type deaf struct{ *memory.Store }

func (deaf) Notifications(context.Context, string) (<-chan struct{}, error) {
	return nil, fmt.Errorf("%w: no connection", storage.ErrStore)
}
