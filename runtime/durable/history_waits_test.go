package durable_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// Of 50 steps that are resumed with a half-open breaker, one is a probe. When
// its process dies, another one is.
func TestHistory18OneProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		const n = 50
		charge := idempotent("charge", retry.Unlimited, time.Second)
		charge.Policy.MaxDelay = 5 * time.Second
		charge.Policy.RetryOn = []retry.Class{retry.ClassBreakerOpen, retry.ClassTransient}
		charge.Breaker = &breaker.Policy{Name: "api", Failures: 3, OpenFor: 2 * time.Minute}
		charge.LostMax = 10
		work := func(fn func(context.Context) (int, error)) func(context.Context) error {
			return func(ctx context.Context) error {
				var wg sync.WaitGroup
				errs := make([]error, n)
				for i := range n {
					wg.Go(func() { _, errs[i] = callID(ctx, charge, i, fn) })
				}
				wg.Wait()
				return errors.Join(errs...)
			}
		}
		first := startProcess(t, m)
		first.killAfter(time.Minute)
		_ = first.run("one", work(func(context.Context) (int, error) {
			return 0, fmt.Errorf("down: %w", context.DeadlineExceeded)
		}))

		second := startProcess(t, m)
		var probes atomic.Int64
		_ = second.run("one", work(func(ctx context.Context) (int, error) {
			probes.Add(1)
			second.killAfter(time.Second)
			<-ctx.Done()
			return 0, ctx.Err()
		}))
		if got := probes.Load(); got != 1 {
			t.Errorf("the second process made %d calls with a half-open breaker, want 1", got)
		}

		third := startProcess(t, m)
		var now, most atomic.Int64
		var closed atomic.Bool
		err := third.run("one", work(func(context.Context) (int, error) {
			if !closed.Load() {
				most.Store(max(most.Load(), now.Add(1)))
				time.Sleep(time.Second)
				now.Add(-1)
				closed.Store(true)
			}
			return 1, nil
		}))
		if err != nil {
			t.Error(err)
		}
		if most.Load() != 1 {
			t.Errorf("the third process made %d calls at once with a half-open breaker, want 1", most.Load())
		}
	})
}

// A clock that is set by a day does not change a wait within a process. After a
// restart, a wait is over early or repeated, but never longer than it was.
func TestHistory19ClockSet(t *testing.T) {
	const day, wait = 24 * time.Hour, 10 * time.Minute
	for _, c := range []struct {
		crash       bool
		set         time.Duration
		least, most time.Duration // to the second attempt, from the first
	}{
		{false, day, wait, wait},
		{false, -day, wait, wait},
		{true, day, time.Minute, 3 * time.Minute}, // the lease, and the spread
		{true, -day, wait, wait + 2*time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := memory.New()
			s := &durabletest.Skewed{Store: m}
			p := startProcess(t, s)
			var j journal
			charge := idempotent("charge", 3, wait)
			time.AfterFunc(time.Minute, func() {
				s.Set(c.set)
				if c.crash {
					p.kill()
				}
			})
			err := p.run("one", oneStep(charge, failing(&j, 1)))
			if c.crash {
				err = startProcess(t, s).run("one", oneStep(charge, failing(&j, 1)))
			}
			if err != nil {
				t.Error(err)
			}
			j.want(t, "charge", 1, 2)
			what := fmt.Sprintf("the wait of %v with the clock set by %v, crash %v,", wait, c.set, c.crash)
			wantAbout(t, what, time.Since(epoch), c.least, c.most)
		})
	}
}

// A worker looks at a parked run when it is due by the clock of the store: that is
// later if the clock is set back. Run looks at it at once, and waits no longer than
// the delay.
func TestHistory19ClockSetWhileParked(t *testing.T) {
	const hours, wait = 6 * time.Hour, 10 * time.Minute
	for _, c := range []struct {
		worker      bool
		least, most time.Duration
	}{
		{true, hours + wait, hours + wait + time.Minute},
		{false, wait, wait + time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &durabletest.Skewed{Store: memory.New()}
			p := startProcess(t, s)
			var j journal
			charge := idempotent("charge", 3, wait)
			charge.ParkAfter = time.Minute
			job := oneStep(charge, failing(&j, 1))
			if !c.worker {
				wantAs[*durable.ParkedError](t, p.run("one", job))
				s.Set(-hours)
				charge.ParkAfter = 0
				if err := p.run("one", job); err != nil {
					t.Error(err)
				}
			} else {
				durable.Handle(p.Engine, "job", func(ctx context.Context, _ int) (int, error) { return 0, job(ctx) })
				ctx, cancel := context.WithCancel(t.Context())
				var working sync.WaitGroup
				working.Go(func() { _ = p.Work(ctx) })
				if err := durable.Start(ctx, p.Engine, "job", "one", 0); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				wantRun(t, p.Engine, "one", storage.StatusParked)
				s.Set(-hours)
				if _, err := durable.Await[int](ctx, p.Engine, "one"); err != nil {
					t.Error(err)
				}
				cancel()
				working.Wait()
			}
			wantAbout(t, "the wait", time.Since(epoch), c.least, c.most)
			j.want(t, "charge", 1, 2)
		})
	}
}

// Many overdue waits are spread over 30s, and in the same way after another
// crash.
func TestHistory20OverdueWaitsAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 5_000
		if testing.Short() {
			n = 1_000
		}
		m := memory.New()
		charge := idempotent("charge", 5, time.Minute)
		var mu sync.Mutex
		calls := map[string][]time.Duration{} // by step: when it was called, since the start of its process
		var begun time.Time
		work := func(p *process, fail bool) func(context.Context) error {
			return func(ctx context.Context) error {
				begun = time.Now()
				var wg sync.WaitGroup
				var failed atomic.Bool
				for i := range n {
					wg.Go(func() {
						_, err := callID(ctx, charge, i, func(ctx context.Context) (int, error) {
							info, _ := durable.Current(ctx)
							mu.Lock()
							defer mu.Unlock()
							calls[info.Step] = append(calls[info.Step], time.Since(begun))
							if fail {
								return 0, errors.New("unavailable")
							}
							return 1, nil
						})
						if err != nil {
							failed.Store(true)
						}
					})
				}
				wg.Wait()
				if failed.Load() {
					return errors.New("some failed")
				}
				return nil
			}
		}
		first := startProcess(t, m)
		first.killAfter(time.Second)
		_ = first.run("one", work(first, true))
		time.Sleep(time.Hour)

		second := startProcess(t, m)
		second.killAfter(5 * time.Second) // in the middle of the spread
		_ = second.run("one", work(second, true))
		early := 0
		for _, at := range calls {
			if len(at) == 2 {
				early++
			}
		}
		if early < n/10 || early > n/4 { // a sixth of them is expected
			t.Errorf("%d of %d overdue steps were called within 5s of 30s", early, n)
		}
		time.Sleep(time.Hour)

		third := startProcess(t, m)
		if err := third.run("one", work(third, false)); err != nil {
			t.Fatal(err)
		}
		buckets := map[int]int{}
		for step, at := range calls {
			last := at[len(at)-1]
			buckets[int(last/(3*time.Second))]++
			if len(at) == 3 && at[1] != last {
				t.Fatalf("step %s was called after %v, and after another crash after %v", step, at[1], last)
			}
		}
		for i := range 10 {
			if buckets[i] < n/20 || buckets[i] > n/5 {
				t.Errorf("%d of %d overdue steps were called from %ds to %ds, want about a tenth", buckets[i], n, 3*i, 3*i+3)
			}
		}
		if len(buckets) != 10 {
			t.Errorf("got %d parts of 3s with calls, want 10", len(buckets))
		}
	})
}

// A wait beyond the deadline of the caller parks the run at once.
func TestHistory21DeadlineParks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		var j journal
		charge := careful("charge", 3, 10*time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		parked := wantAs[*durable.ParkedError](t, p.Run(ctx, "one", oneStep(charge, failing(&j, 1))))
		wantAbout(t, "parking", time.Since(epoch), 0, 0)
		if want := epoch.Add(10 * time.Minute); !parked.Until.Equal(want) || parked.Run != "one" {
			t.Errorf("got %+v, want run one parked until %v", parked, want)
		}
		if r := wantRun(t, p.Engine, "one", storage.StatusParked); !r.Due.Equal(parked.Until) {
			t.Errorf("the run is due at %v, want %v", r.Due, parked.Until)
		}
		wantStep(t, p.Engine, "one", "charge", storage.StatusWaiting)
		time.Sleep(time.Until(parked.Until))
		if err := p.run("one", oneStep(charge, failing(&j, 1))); err != nil {
			t.Error(err)
		}
		j.want(t, "charge", 1, 2)
	})
}

// The same for a wait beyond park_after: steps that are executing end, and none
// starts.
func TestHistory21ParkAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		var j journal
		charge := careful("charge", 3, 10*time.Minute)
		charge.ParkAfter = time.Minute
		work := func(ctx context.Context) error {
			var wg sync.WaitGroup
			wg.Go(func() {
				time.Sleep(time.Millisecond) // after the start of the other step
				_, _ = call(ctx, charge, failing(&j, 1))
			})
			wg.Go(func() {
				_, err := call(ctx, careful("slow", 3, time.Second), func(ctx context.Context) (int, error) {
					j.add(ctx)
					time.Sleep(time.Second)
					return 1, ctx.Err()
				})
				if err != nil {
					t.Errorf("the step that was executing: %v", err)
				}
			})
			wg.Wait()
			_, err := call(ctx, careful("next", 3, time.Second), failing(&j, 0))
			return err
		}
		wantAs[*durable.ParkedError](t, p.run("one", work))
		j.want(t, "slow", 1)
		j.want(t, "next")
		if err := p.run("one", work); err != nil { // waits for the rest, which is shorter
			wantAs[*durable.ParkedError](t, err)
		}
		time.Sleep(10 * time.Minute)
		if err := p.run("one", work); err != nil {
			t.Error(err)
		}
		j.want(t, "charge", 1, 2)
		j.want(t, "slow", 1)
		j.want(t, "next", 1)
	})
}

// A function that drops the error of a parked step does not complete its run.
func TestHistory22ParkedErrorSwallowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		var j journal
		charge := careful("charge", 3, 10*time.Minute)
		charge.ParkAfter = time.Minute
		err := p.run("one", func(ctx context.Context) error {
			_, _ = call(ctx, charge, failing(&j, 1))
			return nil
		})
		wantAs[*durable.ParkedError](t, err)
		wantRun(t, p.Engine, "one", storage.StatusParked)
	})
}

// A run returns when its steps have returned, also those that its function did
// not wait for.
func TestHistory23StepOutlivesFunction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		err := p.run("one", func(ctx context.Context) error {
			go func() {
				_, _ = call(ctx, careful("slow", 3, time.Second), func(context.Context) (int, error) {
					time.Sleep(time.Minute)
					return 7, nil
				})
			}()
			synctest.Wait()
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		wantAbout(t, "the run", time.Since(epoch), time.Minute, time.Minute)
		wantStep(t, p.Engine, "one", "slow", storage.StatusSucceeded)
		wantRun(t, p.Engine, "one", storage.StatusSucceeded)
	})
}
