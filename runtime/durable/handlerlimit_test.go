package durable_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// startRuns starts n runs of a handler, with ids from the handler and 0.
func startRuns(t *testing.T, e *durable.Engine, handler string, n int) {
	t.Helper()
	for i := range n {
		if err := durable.Start(t.Context(), e, handler, fmt.Sprintf("%s/%d", handler, i), i); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitRuns waits until the runs that startRuns has started have ended.
func awaitRuns(t *testing.T, e *durable.Engine, handler string, n int) {
	t.Helper()
	for i := range n {
		if _, err := durable.Await[int](t.Context(), e, fmt.Sprintf("%s/%d", handler, i)); err != nil {
			t.Fatal(err)
		}
	}
}

// currentOwner returns how many runs of a handler have an owner: they are executed, or their
// process is dead.
func owned(t *testing.T, s storage.Store, handler string) (n int) {
	t.Helper()
	runs, _, err := s.List(t.Context(), storage.Query{Kind: storage.KindRun, Handlers: []string{handler}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		if r.Owner != "" {
			n++
		}
	}
	return n
}

// A gauge counts the executions that go on at a time.
type gauge struct {
	mu        sync.Mutex
	now, most int
}

func (g *gauge) enter() (leave func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now++
	g.most = max(g.most, g.now)
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.now--
	}
}

// counts returns how many executions go on, and the most that went on at a time.
func (g *gauge) counts() (now, most int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.now, g.most
}

// Three workers together execute as many runs of a handler as its limit allows, and no
// other handler waits for it.
func TestConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		var limited, free gauge
		var last *durable.Engine
		for range 3 {
			last = newEngine(t, m)
			durable.Handle(last, "charge", func(ctx context.Context, n int) (int, error) {
				defer limited.enter()()
				time.Sleep(10 * time.Second)
				return n, nil
			}, durable.Concurrency(5))
			durable.Handle(last, "mail", func(ctx context.Context, n int) (int, error) {
				defer free.enter()()
				time.Sleep(10 * time.Second)
				return n, nil
			})
			defer work(t, last, durable.MaxRuns(20))()
		}
		begun := time.Now()
		startRuns(t, last, "charge", 40)
		startRuns(t, last, "mail", 15)
		awaitRuns(t, last, "mail", 15)
		wantAbout(t, "the runs of the other handler", time.Since(begun), 10*time.Second, 11*time.Second)
		awaitRuns(t, last, "charge", 40)
		wantAbout(t, "40 runs, 5 at a time", time.Since(begun), 80*time.Second, 90*time.Second)
		_, charges := limited.counts()
		if _, mails := free.counts(); charges != 5 || mails != 15 {
			t.Errorf("at most %d and %d runs at a time, want 5 and 15", charges, mails)
		}
	})
}

// Executions start evenly spaced, after a pause as many at once as the burst allows. The
// workers sleep until the next start.
func TestStartRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		updates := 0
		s := &hooked{Store: memory.New()}
		s.hook = func(ctx context.Context, sel storage.Select, decide decision, next update) error {
			if len(sel.Queries) > 0 {
				updates++
			}
			return next(ctx, sel, decide)
		}
		e := newEngine(t, s)
		begun := time.Now()
		var starts []time.Duration
		durable.Handle(e, "charge", func(_ context.Context, n int) (int, error) {
			starts = append(starts, time.Since(begun).Truncate(100*time.Millisecond))
			return n, nil
		}, durable.StartRate(6, time.Minute, 3))
		startRuns(t, e, "charge", 6)
		defer work(t, e, durable.MaxRuns(1), durable.Poll(time.Minute))()
		awaitRuns(t, e, "charge", 6)
		want := []time.Duration{0, 0, 0, 10 * time.Second, 20 * time.Second, 30 * time.Second}
		if !slices.Equal(starts, want) {
			t.Errorf("starts after %v, want %v", starts, want)
		}
		if updates > 12 {
			t.Errorf("%d claims for 6 starts", updates)
		}
	})
}

// A run that waits without a process does not count, nor does one that is paused.
func TestConcurrencyOfWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		e := newEngine(t, m)
		durable.Handle(e, "charge", func(ctx context.Context, n int) (int, error) {
			if n == 0 {
				return durable.Wait[int](ctx, "approval", 24*time.Hour)
			}
			return n, durable.Sleep(ctx, "cool down", time.Hour)
		}, durable.Concurrency(1))
		startRuns(t, e, "charge", 3)
		defer work(t, e)()
		time.Sleep(10 * time.Second)
		for i := range 3 {
			wantRun(t, e, fmt.Sprintf("charge/%d", i), storage.StatusParked)
		}
		if err := e.Admin().Signal(t.Context(), "charge/0", "approval", 7); err != nil {
			t.Fatal(err)
		}
		awaitRuns(t, e, "charge", 3)
	})
}

// The runs of a dead worker count until another one takes them over. Those whose
// handler the survivors do not have, and those that were canceled, count until the owner
// has not renewed its lease for twice its length.
func TestConcurrencyAfterCrash(t *testing.T) {
	for name, test := range map[string]struct {
		version durable.RunOption
		cancel  bool
		least   time.Duration
	}{
		"taken over":    {version: durable.Version(0)},
		"other version": {version: durable.Version(1), least: time.Minute},
		"canceled":      {version: durable.Version(0), cancel: true, least: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := memory.New()
				p := startProcess(t, m)
				durable.Handle(p.Engine, "charge", func(ctx context.Context, n int) (int, error) {
					<-ctx.Done()
					return n, context.Cause(ctx)
				}, durable.Concurrency(2), test.version)
				for i := range 2 {
					id := fmt.Sprintf("old/%d", i)
					if err := durable.Start(t.Context(), p.Engine, "charge", id, i, test.version); err != nil {
						t.Fatal(err)
					}
				}
				go func() { _ = p.Work(p.ctx) }()
				time.Sleep(15 * time.Second)
				p.kill()
				killed := time.Now()
				e := newEngine(t, m)
				var g gauge
				durable.Handle(e, "charge", func(context.Context, int) (int, error) {
					defer g.enter()()
					time.Sleep(time.Second)
					return 0, nil
				}, durable.Concurrency(2))
				startRuns(t, e, "charge", 4)
				if test.cancel {
					for i := range 2 {
						if err := e.Admin().Cancel(t.Context(), fmt.Sprintf("old/%d", i)); err != nil {
							t.Fatal(err)
						}
					}
				}
				defer work(t, e)()
				awaitRuns(t, e, "charge", 4)
				wantAbout(t, "the runs", time.Since(killed), 20*time.Second+test.least/2, 70*time.Second)
				if _, most := g.counts(); most != 2 {
					t.Errorf("at most %d at a time, want 2", most)
				}
			})
		})
	}
}

// A run of a dead worker that may not start again yet becomes due, and waits like the
// others.
func TestRateAfterCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		p := startProcess(t, m)
		handle := func(e *durable.Engine, fn func(context.Context, int) (int, error)) {
			durable.Handle(e, "charge", fn, durable.StartRate(1, 10*time.Minute, 1), durable.Concurrency(1))
		}
		handle(p.Engine, func(ctx context.Context, n int) (int, error) {
			<-ctx.Done()
			return n, context.Cause(ctx)
		})
		startRuns(t, p.Engine, "charge", 1)
		go func() { _ = p.Work(p.ctx) }()
		begun := time.Now()
		time.Sleep(time.Minute)
		p.kill()
		e := newEngine(t, m)
		handle(e, double)
		defer work(t, e)()
		time.Sleep(2 * time.Minute)
		if n := owned(t, m, "charge"); n != 0 {
			t.Errorf("%d runs have an owner, want none", n)
		}
		if why, err := e.Admin().Why(t.Context(), "charge/0"); err != nil || why.Cause != admin.CauseRate {
			t.Errorf("got %v, %v, want that the rate keeps it waiting", why, err)
		}
		awaitRuns(t, e, "charge", 1)
		wantAbout(t, "the second start", time.Since(begun), 10*time.Minute, 10*time.Minute+time.Second)
		if r := wantRun(t, e, "charge/0", storage.StatusSucceeded); r.Recoveries != 0 || r.Fence != 2 {
			t.Errorf("%d claims and %d recoveries, want 2 and none left", r.Fence, r.Recoveries)
		}
	})
}

// Over random schedules of claims, ends, waits, retries, cancellations and crashes, no
// more runs have an owner than the limit allows, and every run ends: no slot is lost.
func TestConcurrencyHistories(t *testing.T) {
	seeds := 40
	if testing.Short() {
		seeds = 5
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { limitHistory(t, rand.New(rand.NewPCG(1, uint64(seed)))) })
		})
	}
}

func limitHistory(t *testing.T, random *rand.Rand) {
	const runs = 30
	step := idempotent("step", 20, time.Second)
	step.Policy.Schedule.MaxDelay = time.Minute // or a step that fails 14 times waits for hours
	most := 1 + random.IntN(4)
	m := &hooked{Store: memory.New()}
	worst := 0
	holders := map[string]bool{}
	var mu sync.Mutex
	m.hook = func(ctx context.Context, sel storage.Select, decide decision, next update) error {
		mu.Lock() // one at a time: what is written is what holds
		defer mu.Unlock()
		var w storage.Writes
		err := next(ctx, sel, func(tx storage.Tx) (storage.Writes, error) {
			var err error
			w, err = decide(tx)
			return w, err
		})
		if err == nil {
			for _, r := range w.Put {
				// The owner of a canceled run may be dead: nobody takes it over.
				if r.Key.Kind == storage.KindRun && r.Owner != "" && r.Status == storage.StatusOpen {
					holders[r.Key.Run] = true
				} else if r.Key.Kind == storage.KindRun {
					delete(holders, r.Key.Run)
				}
			}
			worst = max(worst, len(holders))
		}
		return err
	}
	luck := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(n)
	}
	begin := func() *process {
		p := startProcess(t, m)
		durable.Handle(p.Engine, "charge", func(ctx context.Context, n int) (int, error) {
			pause := time.Duration(luck(20)) * time.Second
			switch luck(4) {
			case 0:
				if err := durable.Sleep(ctx, "long", 3*time.Minute); err != nil {
					return 0, err
				}
			case 1:
				_, err := call(ctx, step, func(context.Context) (int, error) {
					if luck(2) == 0 {
						return 0, errors.New("unavailable")
					}
					return n, nil
				})
				if err != nil {
					return 0, err
				}
			}
			select {
			case <-time.After(pause):
				return n, nil
			case <-ctx.Done():
				return 0, context.Cause(ctx)
			}
		}, durable.Concurrency(most), durable.StartRate(120, time.Minute, 5))
		go func() { _ = p.Work(p.ctx, durable.MaxRuns(1+luck(5)), durable.Poll(2*time.Second)) }()
		return p
	}
	processes := []*process{begin(), begin(), begin()}
	startRuns(t, processes[0].Engine, "charge", runs)
	for range 25 {
		time.Sleep(time.Duration(luck(20)) * time.Second)
		i := luck(len(processes))
		switch luck(3) {
		case 0:
			processes[i].kill()
			processes[i] = begin()
		case 1:
			_ = processes[i].Admin().Cancel(t.Context(), fmt.Sprintf("charge/%d", luck(runs)))
		}
	}
	last := begin()
	statuses := map[storage.Status]int{}
	for range 48 {
		time.Sleep(5 * time.Minute)
		clear(statuses)
		for r, err := range last.Admin().List(t.Context(), storage.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			statuses[r.Status]++
		}
		if statuses[storage.StatusSucceeded]+statuses[storage.StatusCanceled] == runs {
			break
		}
	}
	if n := statuses[storage.StatusSucceeded] + statuses[storage.StatusCanceled]; n != runs {
		t.Errorf("%d of %d runs have ended: %v", n, runs, statuses)
	}
	mu.Lock()
	defer mu.Unlock()
	if worst > most {
		t.Errorf("%d runs had an owner at a time, want at most %d", worst, most)
	}
}

// Limits that let no run start are refused.
func TestLimitsRefused(t *testing.T) {
	e := newEngine(t, memory.New())
	for text, option := range map[string]durable.HandleOption{
		"Concurrency(0) lets no run start":          durable.Concurrency(0),
		"StartRate(0, 1s, 1) lets no run start":     durable.StartRate(0, time.Second, 1),
		"StartRate(1, 0s, 1) lets no run start":     durable.StartRate(1, 0, 1),
		"StartRate(1, 1s, 0) lets no run start":     durable.StartRate(1, time.Second, 0),
		"1000000000000000): the burst is too large": durable.StartRate(1, time.Hour, 1e15),
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, text) {
					t.Errorf("got panic %s, want %s", got, text)
				}
			}()
			durable.Handle(e, "double", double, option)
		}()
	}
}

// With workers that have different limits, as during a deployment, each claim keeps the
// limit of its worker.
func TestConcurrencyOfDeployments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		var g gauge
		begin := func(limit int) (*durable.Engine, func()) {
			e := newEngine(t, m)
			durable.Handle(e, "charge", func(_ context.Context, n int) (int, error) {
				defer g.enter()()
				time.Sleep(time.Minute)
				return n, nil
			}, durable.Concurrency(limit))
			return e, work(t, e)
		}
		e, stop := begin(2)
		startRuns(t, e, "charge", 12)
		time.Sleep(10 * time.Second)
		if n, _ := g.counts(); n != 2 {
			t.Errorf("%d runs are executed, want 2", n)
		}
		_, stopNew := begin(5)
		time.Sleep(10 * time.Second)
		if n, _ := g.counts(); n != 5 {
			t.Errorf("%d runs are executed after a deployment with a higher limit, want 5", n)
		}
		stopNew()
		awaitRuns(t, e, "charge", 12)
		stop()
		if _, most := g.counts(); most != 5 {
			t.Errorf("at most %d at a time, want 5", most)
		}
	})
}

// A clock that is set back delays the next start by no more than the rate can.
func TestStartRateClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &durabletest.Skewed{Store: memory.New()}
		e := newEngine(t, s)
		begun := time.Now()
		var starts []time.Duration
		durable.Handle(e, "charge", func(_ context.Context, n int) (int, error) {
			starts = append(starts, time.Since(begun).Truncate(time.Minute))
			return n, nil
		}, durable.StartRate(1, 10*time.Minute, 1))
		s.Set(6 * time.Hour)
		startRuns(t, e, "charge", 1)
		stop := work(t, e)
		time.Sleep(time.Minute)
		s.Set(0)
		if err := durable.Start(t.Context(), e, "charge", "later", 2); err != nil {
			t.Fatal(err)
		}
		if _, err := durable.Await[int](t.Context(), e, "later"); err != nil {
			t.Fatal(err)
		}
		stop()
		if len(starts) != 2 || starts[1] > 20*time.Minute {
			t.Errorf("starts after %v, want the second one within 20m", starts)
		}
	})
}
