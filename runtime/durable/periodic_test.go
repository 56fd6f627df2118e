package durable_test

import (
	"context"
	"errors"
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

// Periods are the periods whose runs a test has executed.
type periods struct {
	takes time.Duration // a run

	mu      sync.Mutex
	failing bool
	begins  []time.Time
}

// register lets an engine start and execute a run in each period.
func (p *periods) register(e *durable.Engine, s durable.Schedule, options ...durable.PeriodicOption) {
	durable.Handle(e, "report", func(ctx context.Context, period time.Time) (int, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.takes == 0 || !slices.Contains(p.begins, period) { // or it goes on after its sleep
			p.begins = append(p.begins, period)
		}
		if period.After(time.Now()) {
			panic("the run began before its period")
		}
		if p.failing {
			return 0, errors.New("no")
		}
		p.mu.Unlock()
		defer p.mu.Lock()
		return 1, durable.Sleep(ctx, "work", p.takes)
	})
	durable.Periodic(e, "report", s, func(period time.Time) time.Time { return period }, options...)
}

// want compares the hours of the periods since the beginning of the test.
func (p *periods) want(t *testing.T, want ...time.Duration) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	var got []time.Duration
	for _, begin := range p.begins {
		got = append(got, begin.Sub(epoch))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got the periods %v, want %v", got, want)
	}
}

// Several workers start the run of each period once, at its begin. The periods in which
// none was there are skipped.
func TestPeriodic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		var p periods
		work := func() *process {
			w := startProcess(t, m)
			p.register(w.Engine, durable.Every(time.Hour))
			go func() { _ = w.Work(w.ctx, durable.Poll(time.Minute)) }()
			return w
		}
		a, b := work(), work()
		time.Sleep(150 * time.Minute)
		p.want(t, time.Hour, 2*time.Hour)
		a.kill()
		time.Sleep(time.Hour)
		p.want(t, time.Hour, 2*time.Hour, 3*time.Hour)
		b.kill()
		time.Sleep(4 * time.Hour) // 7:30
		c := work()
		time.Sleep(2 * time.Minute)
		p.want(t, time.Hour, 2*time.Hour, 3*time.Hour)
		time.Sleep(time.Hour)
		p.want(t, time.Hour, 2*time.Hour, 3*time.Hour, 8*time.Hour)
		wantRun(t, c.Engine, "report/2000-01-01T08:00:00Z", storage.StatusSucceeded)
		wantClean(t, c.Engine)
	})
}

// What is done about missed periods is a choice. A gap that is shorter than a lease,
// as in a deployment, misses nothing.
func TestPeriodicMissed(t *testing.T) {
	const hour = time.Hour
	for n, want := range map[int][]time.Duration{
		0: {hour, 3 * hour, 8 * hour}, 1: {hour, 3 * hour, 7 * hour, 8 * hour},
		3:   {hour, 3 * hour, 5 * hour, 6 * hour, 7 * hour, 8 * hour},
		100: {hour, 3 * hour, 4 * hour, 5 * hour, 6 * hour, 7 * hour, 8 * hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := memory.New()
			var p periods
			work := func(until time.Duration) { // from the begin of the test
				w := startProcess(t, m)
				p.register(w.Engine, durable.Every(hour), durable.CatchUp(n))
				go func() { _ = w.Work(w.ctx, durable.MaxRuns(1)) }()
				time.Sleep(time.Until(epoch.Add(until)))
				w.kill()
			}
			time.Sleep(30 * time.Minute)
			work(90 * time.Minute)
			time.Sleep(time.Until(epoch.Add(2*hour + 40*time.Second))) // a missed one for CatchUp
			if n > 0 {
				want = slices.Insert(slices.Clone(want), 1, 2*hour)
			}
			work(3*hour - 5*time.Second)
			time.Sleep(20 * time.Second)
			work(3*hour + 10*time.Minute)
			time.Sleep(4*hour + 30*time.Minute) // 7:40
			work(8*hour + 10*time.Minute)
			p.want(t, want...)
			wantClean(t, newEngine(t, m))
		})
	}
}

// With NoOverlap, a period is skipped while the run of an earlier one is unfinished. A
// run that has failed has ended. Of several periods, the latest one starts.
func TestPeriodicNoOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		p := periods{takes: 150 * time.Minute}
		work := func() *process {
			w := startProcess(t, m)
			p.register(w.Engine, durable.Every(time.Hour), durable.NoOverlap(), durable.CatchUp(3))
			go func() { _ = w.Work(w.ctx) }()
			return w
		}
		a, b := work(), work()
		time.Sleep(6*time.Hour + 30*time.Minute) // 1:00 to 3:30, 4:00 to 6:30
		p.want(t, time.Hour, 4*time.Hour)
		time.Sleep(time.Minute)
		p.mu.Lock()
		p.failing = true
		p.mu.Unlock()
		time.Sleep(2 * time.Hour)
		p.want(t, time.Hour, 4*time.Hour, 7*time.Hour, 8*time.Hour)
		a.kill()
		b.kill()
		time.Sleep(5 * time.Hour) // 13:31
		work()
		time.Sleep(time.Minute)
		p.want(t, time.Hour, 4*time.Hour, 7*time.Hour, 8*time.Hour, 13*time.Hour)
	})
}

// Wherever a worker dies between its decision and the start of a run, another one
// starts the periods that it has decided about, and each once.
func TestPeriodicCrashedBetween(t *testing.T) {
	for n, died := 1, true; died; n++ {
		synctest.Test(t, func(t *testing.T) {
			m := memory.New()
			var p periods
			first := startProcess(t, m)
			p.register(first.Engine, durable.Every(time.Hour))
			go func() { _ = first.Work(first.ctx) }()
			time.Sleep(10 * time.Minute)
			first.kill()
			time.Sleep(3 * time.Hour)
			dying := startProcess(t, m)
			dying.store = durabletest.CrashAt(m, n)
			ctx, cancel := dying.store.Context(t.Context())
			defer cancel()
			e := newEngine(t, dying.store)
			p.register(e, durable.Every(time.Hour), durable.CatchUp(2))
			go func() { _ = e.Work(ctx) }()
			time.Sleep(5 * time.Second)
			died = dying.store.Failed()
			dying.store.Crash()
			last := startProcess(t, m)
			p.register(last.Engine, durable.Every(time.Hour), durable.CatchUp(2))
			go func() { _ = last.Work(last.ctx) }()
			time.Sleep(time.Minute)
			p.mu.Lock()
			seen := slices.Compact(slices.SortedFunc(slices.Values(p.begins), time.Time.Compare))
			p.mu.Unlock()
			if len(seen) != 2 || !seen[0].Equal(epoch.Add(2*time.Hour)) || !seen[1].Equal(epoch.Add(3*time.Hour)) {
				t.Errorf("crash %d: got the periods %v, want those at 2:00 and 3:00", n, seen)
			}
			wantClean(t, last.Engine)
		})
	}
}

// Wherever the process of a worker dies, another one executes each period once.
func TestPeriodicCrashedEverywhere(t *testing.T) {
	for n := range 12 {
		synctest.Test(t, func(t *testing.T) {
			m := memory.New()
			var p periods
			for _, crash := range []int{n + 1, 0} {
				w := startProcess(t, m)
				if crash > 0 {
					var reported atomic.Int64
					w.forward = func(context.Context, events.Event) {
						if reported.Add(1) == int64(crash) {
							w.kill()
						}
					}
				}
				p.register(w.Engine, durable.Every(time.Hour))
				go func() { _ = w.Work(w.ctx, durable.Poll(time.Minute)) }()
			}
			time.Sleep(10*time.Hour + 2*time.Minute)
			seen := map[time.Time]int{}
			p.mu.Lock()
			for _, begin := range p.begins {
				seen[begin]++
			}
			p.mu.Unlock()
			for hour := 1; hour <= 10; hour++ { // twice at most: it crashed while it was executed
				if got := seen[epoch.Add(time.Duration(hour)*time.Hour)]; got < 1 || got > 2 {
					t.Errorf("crash %d: period %d was executed %d times", n, hour, got)
				}
			}
			wantClean(t, newEngine(t, m))
		})
	}
}

// Periods that are shorter than the worker's poll are all started.
func TestPeriodicShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startProcess(t, memory.New())
		var p periods
		p.register(w.Engine, durable.Every(200*time.Millisecond))
		go func() { _ = w.Work(w.ctx) }()
		time.Sleep(time.Minute + time.Second)
		p.mu.Lock()
		defer p.mu.Unlock()
		if n := len(p.begins); n < 299 || n > 305 {
			t.Errorf("%d periods in 61s, want 5 in a second", n)
		}
	})
}

// once is a schedule with one period.
type once time.Time

func (o once) Next(t time.Time) time.Time {
	if at := time.Time(o); t.Before(at) {
		return at
	}
	return time.Time{}
}

// delay is a schedule that depends on when it is asked.
type delay time.Duration

func (d delay) Next(t time.Time) time.Time { return t.Add(time.Duration(d)) }

// A schedule may end, and must not depend on when it is asked.
func TestPeriodicSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startProcess(t, memory.New())
		var p periods
		p.register(w.Engine, once(epoch.Add(time.Hour)))
		go func() { _ = w.Work(w.ctx, durable.Poll(time.Minute)) }()
		time.Sleep(5 * time.Hour)
		p.want(t, time.Hour)
		if events := w.saw(events.EventStoreError); len(events) > 0 {
			t.Errorf("got %+v, want no errors", events)
		}
		input := func(time.Time) int { return 1 }
		for name, mistake := range map[string]func(){
			"it depends on when it is asked": func() { durable.Periodic(w.Engine, "r", delay(time.Hour), input) },
			"there is one already":           func() { durable.Periodic(w.Engine, "report", durable.Every(time.Hour), input) },
			"its handler has no name":        func() { durable.Periodic(w.Engine, "", durable.Every(time.Hour), input) },
			"it catches up without end":      func() { durable.CatchUp(1001) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("a schedule was accepted, although %s", name)
					}
				}()
				mistake()
			}()
		}
	})
}

// An input that cannot be encoded is reported, and keeps no run waiting.
func TestPeriodicWithoutInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startProcess(t, memory.New())
		durable.Periodic(w.Engine, "report", durable.Every(time.Hour), func(time.Time) func() { return func() {} })
		durable.Handle(w.Engine, "copy", func(context.Context, string) (int, error) { return 1, nil })
		defer work(t, w.Engine)()
		time.Sleep(time.Hour + time.Minute)
		startOne(t, w)
		time.Sleep(time.Minute)
		wantRun(t, w.Engine, "one", storage.StatusSucceeded)
		if len(w.saw(events.EventStoreError)) == 0 {
			t.Error("nothing reports the input that has no encoding")
		}
	})
}
