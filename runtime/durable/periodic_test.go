package durable_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
)

// Periods are the periods of which a test has executed runs.
type periods struct {
	mu     sync.Mutex
	begins []time.Time
}

// register lets an engine start and execute a run every hour.
func (p *periods) register(e *durable.Engine, s durable.Schedule) {
	durable.Handle(e, "report", func(ctx context.Context, period time.Time) (int, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.begins = append(p.begins, period)
		if period.After(time.Now()) {
			panic("the run began before its period")
		}
		return 1, nil
	})
	durable.Periodic(e, "report", s, func(period time.Time) time.Time { return period })
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

// Several workers start the run of each period once, at its begin. When none was
// there, the run that waited is executed late, and the periods since are skipped.
func TestPeriodic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := durable.NewMemory()
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
		p.want(t, time.Hour, 2*time.Hour, 3*time.Hour, 4*time.Hour)
		time.Sleep(time.Hour)
		p.want(t, time.Hour, 2*time.Hour, 3*time.Hour, 4*time.Hour, 8*time.Hour)
		wantRun(t, c.Engine, "report/2000-01-01T08:00:00Z", durable.StatusSucceeded)
		wantRun(t, c.Engine, "report/2000-01-01T09:00:00Z", durable.StatusOpen)
		wantClean(t, c.Engine)
	})
}

// Wherever the process of a worker dies, another one executes each period once.
func TestPeriodicCrashedEverywhere(t *testing.T) {
	for n := range 12 {
		synctest.Test(t, func(t *testing.T) {
			m := durable.NewMemory()
			var p periods
			for _, crash := range []int{n + 1, 0} {
				w := startProcess(t, m)
				if crash > 0 {
					var events atomic.Int64
					w.forward = func(context.Context, durable.Event) {
						if events.Add(1) == int64(crash) {
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
		w := startProcess(t, durable.NewMemory())
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
		w := startProcess(t, durable.NewMemory())
		var p periods
		p.register(w.Engine, once(epoch.Add(time.Hour)))
		go func() { _ = w.Work(w.ctx, durable.Poll(time.Minute)) }()
		time.Sleep(5 * time.Hour)
		p.want(t, time.Hour)
		if events := w.saw(durable.EventStoreError); len(events) > 0 {
			t.Errorf("got %+v, want no errors", events)
		}
		defer func() {
			if recover() == nil {
				t.Error("a schedule that depends on when it is asked was accepted")
			}
		}()
		durable.Periodic(w.Engine, "report", delay(time.Hour), func(time.Time) int { return 1 })
	})
}

// An input that cannot be encoded is reported, and keeps no run waiting.
func TestPeriodicWithoutInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startProcess(t, durable.NewMemory())
		durable.Periodic(w.Engine, "report", durable.Every(time.Hour), func(time.Time) func() { return func() {} })
		durable.Handle(w.Engine, "copy", func(context.Context, string) (int, error) { return 1, nil })
		defer work(t, w.Engine)()
		startOne(t, w)
		time.Sleep(time.Minute)
		wantRun(t, w.Engine, "one", durable.StatusSucceeded)
		if len(w.saw(durable.EventStoreError)) == 0 {
			t.Error("nothing reports the input that has no encoding")
		}
	})
}
