package durable_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/internal/grouptest"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// A farm is some workers that execute a group whose units are runs.
type farm struct {
	store *memory.Store
	group func() *job.Group
	units []string
	op    func(ctx context.Context, unit string) (int, error)

	observe func(context.Context, events.Event) // or nil

	mu    sync.Mutex
	early []job.Outcome[int]
	out   job.Outcome[int]
	err   error
}

// register lets an engine execute the run of the group and those of its units.
func (f *farm) register(e *durable.Engine) {
	durable.Handle(e, "import", func(ctx context.Context, _ string) (int, error) {
		out, err := durable.GroupRuns(ctx, f.group(), "unit", f.units, func(unit string) string { return unit },
			func(o job.Outcome[int]) {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.early = append(f.early, o)
			})
		f.mu.Lock()
		defer f.mu.Unlock()
		if parked, ok := errors.AsType[*durable.ParkedError](err); ok {
			return 0, parked
		}
		f.out, f.err = out, err
		return out.Completed, err
	})
	durable.Handle(e, "unit", f.op)
}

// work starts a worker, until its process dies or the test ends.
func (f *farm) work(t *testing.T, options ...durable.WorkOption) *process {
	p := startProcess(t, f.store)
	p.forward = f.observe
	f.register(p.Engine)
	go func() { _ = p.Work(p.ctx, options...) }()
	return p
}

// The tests that groups in memory pass, too, with workers.
func TestGroupRuns(t *testing.T) {
	grouptest.Test(t, func(t *testing.T) grouptest.Carrier {
		return grouptest.Carrier{Slack: 2 * time.Second, Settle: time.Minute, Run: func(
			ctx context.Context, g *job.Group, units []string, op func(context.Context, string) (int, error),
			provisional func(job.Outcome[int]),
		) (job.Outcome[int], error) {
			f := &farm{store: memory.New(), units: units, op: op, group: func() *job.Group {
				return job.NewGroup(g.Policy(), "job-1")
			}}
			f.observe = func(ctx context.Context, ev events.Event) { // instead of the observers of that group
				if ev.Kind == events.EventJob {
					g.Notify(ctx, ev.Job)
				}
			}
			var p *process
			for range 2 {
				p = f.work(t, durable.MaxRuns(100))
			}
			if err := durable.Start(ctx, p.Engine, "import", "job-1", "x"); err != nil {
				t.Fatal(err)
			}
			_, _ = durable.Await[int](ctx, p.Engine, "job-1")
			f.mu.Lock()
			defer f.mu.Unlock()
			for _, o := range f.early {
				provisional(o)
			}
			return f.out, f.err
		}}
	})
}

// Three workers execute the units of a group, and one of them is killed in the
// middle. Every unit ends once, and the budget counts the grants of all workers.
func TestGroupRunsOfKilledWorker(t *testing.T) {
	for kill := range 12 {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			ended := map[string]int{}
			step := idempotent("load", 4, 2*time.Second)
			f := &farm{store: memory.New(), group: func() *job.Group {
				return importGroup(job.GroupPolicy{Workers: 4, OnUnitFailure: job.FailureDeadLetter,
					Budget: &job.BudgetPolicy{Retries: 50, PerUnit: 5}})
			}}
			for i := range 10 {
				f.units = append(f.units, fmt.Sprint("unit-", i))
			}
			f.op = func(ctx context.Context, unit string) (int, error) {
				n, err := call(ctx, step, func(ctx context.Context) (int, error) {
					info, _ := durable.Current(ctx)
					select {
					case <-time.After(time.Second):
					case <-ctx.Done():
						return 0, context.Cause(ctx)
					}
					if info.Attempt == 1 && unit > "unit-5" || unit == "unit-3" {
						return 0, errors.New("unavailable")
					}
					return len(unit), nil
				})
				mu.Lock()
				defer mu.Unlock()
				ended[unit]++
				return n, err
			}
			var workers []*process
			for range 3 {
				workers = append(workers, f.work(t, durable.MaxRuns(2)))
			}
			e := newEngine(t, f.store)
			if err := durable.Start(t.Context(), e, "import", "one", "x"); err != nil {
				t.Fatal(err)
			}
			workers[kill%3].killAfter(time.Duration(kill)*700*time.Millisecond + time.Millisecond)
			got, err := durable.Await[int](t.Context(), e, "one")
			if err != nil || got != 9 || len(f.out.Results) != 9 || len(f.out.DeadLetters) != 1 ||
				!errors.Is(f.out.Errors["unit-3"], retry.ErrAttempts) {
				t.Errorf("killed after %d: %d, %v, %+v", kill, got, err, f.out)
			}
			if got := counters(t, f.store, "one", "import"); got != [4]int{0, 9, 1, 10} {
				t.Errorf("killed after %d: counters %v", kill, got)
			}
			granted := 0
			for a, err := range e.Admin().History(t.Context(), admin.Filter{}) {
				if err != nil {
					t.Fatal(err)
				}
				if a.Wait > 0 {
					granted++
				}
			}
			for g, err := range e.Admin().Groups(t.Context(), admin.Filter{Run: "one"}) {
				if err != nil || g.Retries != granted || granted < 7 {
					t.Errorf("killed after %d: the budget has counted %d retries, %v; the history has %d", kill, g.Retries, err,
						granted)
				}
			}
			time.Sleep(time.Minute) // the lease of the dead worker ends
		})
	}
}

// A worker that crashes at any point of its store loses no end of a unit, and
// counts none twice.
func TestGroupRunsCrashedEverywhere(t *testing.T) {
	for n, died := 1, true; died; n++ {
		synctest.Test(t, func(t *testing.T) {
			f := &farm{store: memory.New(), units: []string{"a", "b", "c"}, group: func() *job.Group {
				return importGroup(job.GroupPolicy{
					Workers: 2, OnUnitFailure: job.FailureDeadLetter, Budget: &job.BudgetPolicy{Retries: 50},
				})
			}}
			f.op = func(ctx context.Context, unit string) (int, error) {
				return call(ctx, idempotent("load", 2, time.Second), func(ctx context.Context) (int, error) {
					if info, _ := durable.Current(ctx); unit == "b" || info.Attempt == 1 && unit == "c" {
						return 0, errors.New("unavailable")
					}
					return 1, nil
				})
			}
			dying := durabletest.CrashAt(f.store, n)
			ctx, cancel := dying.Context(t.Context())
			defer cancel()
			e := newEngine(t, dying)
			f.register(e)
			if err := durable.Start(ctx, e, "import", "one", "x"); err == nil {
				go func() { _ = e.Work(ctx) }()
				time.Sleep(time.Minute)
			}
			died = dying.Failed()
			p := f.work(t)
			_ = durable.Start(t.Context(), p.Engine, "import", "one", "x")
			got, err := durable.Await[int](t.Context(), p.Engine, "one")
			if counted := counters(t, f.store, "one", "import"); err != nil || got != 2 || counted != [4]int{0, 2, 1, 3} {
				t.Errorf("crash at point %d: %d, %v, counters %v", n, got, err, counted)
			}
			granted := 0
			for a, err := range p.Admin().History(t.Context(), admin.Filter{}) {
				if err != nil {
					t.Fatal(err)
				}
				if a.Wait > 0 {
					granted++
				}
			}
			for g, err := range p.Admin().Groups(t.Context(), admin.Filter{}) {
				if err != nil || g.Retries != granted || !g.Ended {
					t.Errorf("crash at point %d: %+v, %v; %d retries in the history", n, g, err, granted)
				}
			}
		})
	}
}

// A unit that is requeued, in the group or in its run, is executed again.
func TestRequeueUnitRun(t *testing.T) {
	for _, tt := range []struct{ run, step string }{
		{"one", "/import/b"}, {"one/import/b", "load"},
	} {
		synctest.Test(t, func(t *testing.T) {
			broken := true
			var called []string
			f := &farm{store: memory.New(), units: []string{"a", "b", "c"}, group: func() *job.Group {
				return importGroup(job.GroupPolicy{OnUnitFailure: job.FailureDeadLetter})
			}}
			f.op = func(ctx context.Context, unit string) (int, error) {
				return call(ctx, careful("load", 1, 0), func(context.Context) (int, error) {
					if called = append(called, unit); unit == "b" && broken {
						return 0, errors.New("broken")
					}
					return 1, nil
				})
			}
			p := f.work(t, durable.MaxRuns(1))
			if err := durable.Start(t.Context(), p.Engine, "import", "one", "x"); err != nil {
				t.Fatal(err)
			}
			if got, err := durable.Await[int](t.Context(), p.Engine, "one"); err != nil || got != 2 {
				t.Fatal(got, err)
			}
			broken = false
			if err := p.Admin().Requeue(t.Context(), tt.run, tt.step); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
			if got := counters(t, f.store, "one", "import"); got[0] != 0 || got[1] != 3 || got[2] != 0 {
				t.Errorf("%s of %s requeued: counters %v", tt.step, tt.run, got)
			}
			if got := strings.Join(called, " "); got != "a b c b" {
				t.Errorf("%s of %s requeued: called %s", tt.step, tt.run, got)
			}
			wantStep(t, p.Engine, "one", "/import/b", storage.StatusSucceeded)
		})
	}
}

// A unit whose run was canceled has failed. A list that has changed starts runs,
// and cancels those of the units that are not in it any more.
func TestGroupRunsWithoutExecution(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &farm{store: memory.New(), units: []string{"a", "b", "c"}, group: func() *job.Group {
			return importGroup(job.GroupPolicy{})
		}}
		f.op = func(ctx context.Context, unit string) (int, error) {
			select {
			case <-time.After(10 * time.Minute):
				return 1, nil
			case <-ctx.Done():
				return 0, context.Cause(ctx)
			}
		}
		p := f.work(t)
		if err := durable.Start(t.Context(), p.Engine, "import", "one", "x"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		f.mu.Lock()
		f.units = []string{"a", "b", "d"}
		f.mu.Unlock()
		if err := p.Admin().Cancel(t.Context(), "one/import/b"); err != nil {
			t.Fatal(err)
		}
		if got, err := durable.Await[int](t.Context(), p.Engine, "one"); err != nil || got != 2 {
			t.Errorf("got %d, %v", got, err)
		}
		if got := slices.Sorted(maps.Keys(f.out.Results)); !slices.Equal(got, []string{"a", "d"}) ||
			!errors.Is(f.out.Errors["b"], durable.ErrCanceled) || !slices.Equal(f.out.Removed, []string{"c"}) {
			t.Errorf("got %v, %v, removed %q", f.out.Results, f.out.Errors, f.out.Removed)
		}
		wantRun(t, p.Engine, "one/import/c", storage.StatusCanceled)
	})
}

// A run that is paused starts no units. They go on when it is resumed.
func TestGroupRunsPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &farm{store: memory.New(), units: []string{"a", "b", "c", "d"}, group: func() *job.Group {
			return importGroup(job.GroupPolicy{Workers: 1})
		}}
		var started []string
		f.op = func(ctx context.Context, unit string) (int, error) {
			started = append(started, unit)
			select {
			case <-time.After(time.Minute):
				return 1, nil
			case <-ctx.Done():
				return 0, context.Cause(ctx)
			}
		}
		p := f.work(t)
		if err := durable.Start(t.Context(), p.Engine, "import", "one", "x"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(90 * time.Second)
		if err := p.Admin().Pause(t.Context(), "one"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if got := strings.Join(started, " "); got != "a b" {
			t.Errorf("started %s before the pause, want a b", got)
		}
		if err := p.Admin().Resume(t.Context(), "one"); err != nil {
			t.Fatal(err)
		}
		got, err := durable.Await[int](t.Context(), p.Engine, "one")
		if err != nil || got != 4 {
			t.Errorf("got %d, %v after %q", got, err, started)
		}
	})
}

// A caller that is no worker waits.
func TestGroupRunsInCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &farm{store: memory.New(), group: func() *job.Group { return nil }}
		f.op = func(ctx context.Context, unit string) (int, error) {
			time.Sleep(time.Minute)
			return len(unit), ctx.Err()
		}
		p := f.work(t)
		start := time.Now()
		err := p.run("one", func(ctx context.Context) error {
			out, err := durable.GroupRuns[string, int](ctx, importGroup(job.GroupPolicy{Workers: 2}), "unit",
				[]string{"a", "b", "c"}, func(unit string) string { return unit }, nil)
			if len(out.Results) != 3 {
				t.Errorf("got %+v", out)
			}
			return err
		})
		if got := time.Since(start); err != nil || got > 2*time.Minute+5*time.Second {
			t.Errorf("got %v after %v", err, got)
		}
	})
}

// The further run of a unit whose first one was canceled is not that of another
// unit, whatever the names of units are.
func TestGroupRunsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var free atomic.Bool
		f := &farm{store: memory.New(), units: []string{"b", "b#3"}, group: func() *job.Group {
			return importGroup(job.GroupPolicy{})
		}}
		f.op = func(ctx context.Context, unit string) (int, error) {
			if unit == "b" && !free.Load() {
				<-ctx.Done()
			}
			return len(unit), context.Cause(ctx)
		}
		p := f.work(t)
		if err := durable.Start(t.Context(), p.Engine, "import", "one", "x"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := p.Admin().Cancel(t.Context(), "one/import/b"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		free.Store(true)
		if err := p.Admin().Requeue(t.Context(), "one", "/import/b"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		f.mu.Lock()
		defer f.mu.Unlock()
		if got, want := f.out.Results, map[string]int{"b": 1, "b#3": 3}; !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// A run that is paused starts no runs of units, although its engine does not yet
// know of the pause.
func TestPausedGroupStartsNoRuns(t *testing.T) {
	m := memory.New()
	e, operator := newEngine(t, m), newEngine(t, m)
	err := e.Run(t.Context(), "one", func(ctx context.Context) error {
		if err := operator.Admin().Pause(ctx, "one", ada); err != nil {
			t.Fatal(err)
		}
		_, err := durable.GroupRuns[string, int](ctx, importGroup(job.GroupPolicy{}), "unit", []string{"a"},
			func(unit string) string { return unit }, nil)
		return err
	})
	wantHeld(t, err)
	for r, err := range e.Admin().List(t.Context(), storage.Query{}) {
		if err != nil || r.ID != "one" || r.Status != storage.StatusPaused {
			t.Errorf("got run %q, %v, %v", r.ID, r.Status, err)
		}
	}
}
