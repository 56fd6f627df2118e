package durable_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// crashed executes a run whose function panics, which kills the process.
func (p *process) crashed(t *testing.T, id string) (err error) {
	t.Helper()
	defer func() {
		if recover() != nil {
			p.kill()
		}
	}()
	return p.run(id, func(context.Context) error { panic("a bug") })
}

// A run whose function panics is paused. Those that the process executed next to it
// are not: neither one that waits, nor one whose attempt the panic interrupts.
func TestPanickingRunIsPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		var j journal
		waiting := idempotent("wait", 3, 24*time.Hour)
		long := idempotent("long", 3, time.Second)
		for range 10 {
			p := startProcess(t, m)
			go func() { _ = p.run("waiting", oneStep(waiting, failing(&j, 1))) }()
			go func() {
				_ = p.run("executing", oneStep(long, func(ctx context.Context) (int, error) {
					j.add(ctx)
					<-ctx.Done()
					return 0, ctx.Err()
				}))
			}()
			go func() {
				_ = p.run("busy", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
			}()
			time.Sleep(55 * time.Second) // the lease of the last process has ended
			if err := p.crashed(t, "panics"); err != nil {
				t.Errorf("the run was not executed: %v", err)
			}
		}
		time.Sleep(time.Minute)
		p := startProcess(t, m)
		wantAs[*durable.PausedError](t, p.crashed(t, "panics"))
		if r := wantRun(t, p.Engine, "panics", storage.StatusPaused); r.Panic != "a bug" {
			t.Errorf("recorded panic %q, want a bug", r.Panic)
		}
		for _, run := range []string{"waiting", "executing", "busy"} {
			if r := wantRun(t, p.Engine, run, storage.StatusOpen); r.Recoveries > 1 {
				t.Errorf("run %q was recovered %d times", run, r.Recoveries)
			}
		}
		if s := steps(t, p.Engine, "executing")["long"]; s.Lost != 0 || s.Attempts < 5 {
			t.Errorf("got %d attempts and %d lost ones, want that none is lost", s.Attempts, s.Lost)
		}
	})
}

// A panic that the program survives does not excuse the runs that its end catches
// later.
func TestPanicIsSurvived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		p := startProcess(t, m)
		go func() { _ = p.run("busy", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }) }()
		func() {
			defer func() { _ = recover() }()
			_ = p.run("panics", func(context.Context) error { panic("a bug") })
		}()
		time.Sleep(time.Minute) // renewals
		p.kill()
		next := startProcess(t, m)
		if err := next.run("busy", func(context.Context) error { return errors.New("not yet") }); err == nil {
			t.Error("got no error")
		}
		if r := wantRun(t, next.Engine, "busy", storage.StatusFailed); r.Recoveries != 1 {
			t.Errorf("got %d recoveries, want 1", r.Recoveries)
		}
		if r := wantRun(t, next.Engine, "panics", storage.StatusOpen); r.Recoveries != 1 {
			t.Errorf("got %d recoveries of the run that has panicked, want 1", r.Recoveries)
		}
	})
}

// A step that panics in a goroutine of its own ends the process before the function
// of the run can. Its attempt is lost, and those of other runs are interrupted.
func TestPanicOfStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		s := idempotent("call", 3, time.Second)
		hang := func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() }
		p := startProcess(t, m)
		go func() { _ = p.run("hangs", oneStep(s, hang)) }()
		go func() {
			_ = p.run("panics", func(ctx context.Context) error {
				go oneStep(s, func(context.Context) (int, error) { panicLike(); return 0, nil })(ctx)
				<-ctx.Done()
				return ctx.Err()
			})
		}()
		synctest.Wait()
		p.kill()
		next := startProcess(t, m)
		next.killAfter(5 * time.Minute)
		go func() { _ = next.run("panics", oneStep(s, hang)) }()
		_ = next.run("hangs", oneStep(s, hang))
		last := startProcess(t, m)
		for run, want := range map[string][2]int{"hangs": {0, 1}, "panics": {1, 0}} {
			got := steps(t, last.Engine, run)["call"]
			text := map[string]string{"panics": "runtime.Goexit was called"}[run]
			if r := wantRun(t, last.Engine, run, storage.StatusOpen); r.Panic != text {
				t.Errorf("run %q: recorded panic %q, want %q", run, r.Panic, text)
			}
			if got.Attempts != 2 || [2]int{got.Lost, got.Interrupted} != want {
				t.Errorf("run %q: got %d attempts, %d lost and %d interrupted; want 2, %v",
					run, got.Attempts, got.Lost, got.Interrupted, want)
			}
		}
	})
}

// The text of the panic of a step is recorded with the crash of its process, also if the
// function of the run has recovered it.
func TestPanicOfStepIsRecorded(t *testing.T) {
	for name, s := range map[string]*genapi.StepPolicy{
		"recorded": idempotent("call", 3, time.Second), "unrecorded": unrecorded("call", 3, time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := memory.New()
				p := startProcess(t, m)
				go func() {
					_ = p.run("one", func(ctx context.Context) error {
						defer p.kill() // before the next renewal
						defer func() { _ = recover() }()
						return oneStep(s, func(context.Context) (int, error) { panic(errors.New("a bug")) })(ctx)
					})
				}()
				next := startProcess(t, m)
				time.Sleep(time.Minute)
				_ = next.run("one", func(context.Context) error { return errors.New("not yet") })
				if r := wantRun(t, next.Engine, "one", storage.StatusFailed); r.Panic != "a bug" || r.Failure() != "not yet" {
					t.Errorf("got panic %q and failure %q", r.Panic, r.Failure())
				}
			})
		})
	}
}

// A handler that panics is counted for all workers.
func TestPanickingHandlerIsPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		calls := 0
		durable.Handle(e, "exits", func(context.Context, int) (int, error) {
			calls++
			panicLike()
			return 0, nil
		})
		if err := durable.Start(t.Context(), e, "exits", "one", 1); err != nil {
			t.Fatal(err)
		}
		defer work(t, e)()
		time.Sleep(time.Hour)
		wantRun(t, e, "one", storage.StatusPaused)
		if calls != 10 {
			t.Errorf("the handler was called %d times, want 10", calls)
		}
	})
}

// Restarts while a run waits do not pause it, whether a wait was decided before or
// is met again. Workers and Run agree.
func TestRestartsDuringWait(t *testing.T) {
	for _, worker := range []bool{false, true} {
		t.Run(fmt.Sprint("worker=", worker), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := memory.New()
				var j journal
				job := oneStep(idempotent("wait", 3, 2*time.Hour), failing(&j, 1))
				start := func() (*process, chan error) {
					p := startProcess(t, m)
					done := make(chan error, 1)
					if !worker {
						go func() { done <- p.run("one", job) }()
						return p, done
					}
					durable.Handle(p.Engine, "job", func(ctx context.Context, _ int) (int, error) { return 0, job(ctx) })
					if err := durable.Start(p.ctx, p.Engine, "job", "one", 1); err != nil {
						t.Error(err)
					}
					go func() { done <- p.Work(p.ctx) }()
					return p, done
				}
				for range 20 {
					p, done := start()
					time.Sleep(time.Minute)
					p.kill()
					<-done
				}
				p, _ := start()
				time.Sleep(3 * time.Hour)
				wantRun(t, p.Engine, "one", storage.StatusSucceeded)
				j.want(t, "wait", 1, 2)
				p.kill()
			})
		})
	}
}

// panicLike ends the goroutine as a panic does, without the process.
func panicLike() { runtime.Goexit() }

// deploy executes a run with a step that takes very long, and ends its context after
// a minute.
func deploy(t *testing.T, p *process, s *genapi.StepPolicy, options ...durable.RunOption) error {
	t.Helper()
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	time.AfterFunc(time.Minute, cancel)
	return p.Run(ctx, "one", oneStep(s, func(ctx context.Context) (int, error) {
		<-ctx.Done()
		return 0, ctx.Err()
	}), options...)
}

// An orderly shutdown is neither a failure nor a lost attempt, and takes nothing
// from a budget.
func TestShutdownsAreNoLosses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		s := idempotent("call", 2, 2*time.Second)
		budget := durable.Budget(job.BudgetPolicy{Retries: 1, PerUnit: 1})
		const deployments = 50
		for range deployments {
			p := startProcess(t, m)
			wantError(t, deploy(t, p, s, budget), context.Canceled)
			if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		p := startProcess(t, m)
		got := wantStep(t, p.Engine, "one", "call", storage.StatusWaiting)
		if got.Attempts != deployments || got.Interrupted != deployments || got.Lost+got.Failures+got.Retries != 0 {
			t.Errorf("got %+v, want %d interrupted attempts and nothing else", got, deployments)
		}
		if h := history(t, p.Engine, "one", "call"); h[0] != "1 interrupted, then 2s" || h[9] != "10 interrupted, then 2s" {
			t.Errorf("got the history %q", h)
		}
		// A failure and its retry: the limits are those of a new step.
		calls := 0
		if err := p.run("one", oneStep(s, func(context.Context) (int, error) {
			if calls++; calls == 1 {
				return 0, errors.New("unavailable")
			}
			return 1, nil
		})); err != nil || calls != 2 {
			t.Errorf("got %v after %d calls, want a success after 2", err, calls)
		}
		stats, err := p.Admin().Stats(t.Context(), admin.Filter{})
		if err != nil || stats.Interrupted != deployments || stats.Lost != 0 || stats.Failures != 1 {
			t.Errorf("got %+v, %v", stats, err)
		}
	})
}

// An attempt that never has the time it needs does not go on for ever.
func TestInterruptionsHaveALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		s := idempotent("call", 3, time.Second)
		for range 99 {
			wantError(t, deploy(t, p, s), context.Canceled)
		}
		wantStep(t, p.Engine, "one", "call", storage.StatusWaiting)
		_ = deploy(t, p, s)
		got := wantStep(t, p.Engine, "one", "call", storage.StatusFailed)
		if got.Reason != retry.ErrLost || got.Interrupted != 100 {
			t.Errorf("got %+v, want that the step is exhausted by 100 interruptions", got)
		}
	})
}

// Restarts while a run waits for another one, which nobody executes yet, do not
// pause it.
func TestRestartsDuringAwait(t *testing.T) {
	for name, wait := range map[string]func(context.Context, *durable.Engine) error{
		"await": func(ctx context.Context, e *durable.Engine) error {
			if err := durable.Start(ctx, e, "double", "child", 21); err != nil {
				return err
			}
			_, err := durable.Await[int](ctx, e, "child")
			return err
		},
		"group": func(ctx context.Context, e *durable.Engine) error {
			g := job.NewGroup(job.GroupPolicy{Name: "g"}, "job")
			_, err := durable.GroupRuns[int, int](ctx, g, "double", []string{"a"}, func(string) int { return 1 }, nil)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := memory.New()
				for range 20 {
					p := startProcess(t, m)
					p.killAfter(2 * time.Minute)
					_ = p.run("one", func(ctx context.Context) error { return wait(ctx, p.Engine) })
				}
				p := startProcess(t, m)
				durable.Handle(p.Engine, "double", double)
				defer work(t, p.Engine)()
				if err := p.run("one", func(ctx context.Context) error { return wait(ctx, p.Engine) }); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A process that is killed while its worker drains, since an attempt does not look at
// its context, was shut down: that is no crash.
func TestKilledWhileDraining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		if err := durable.Start(t.Context(), newEngine(t, m), "job", "one", 1); err != nil {
			t.Fatal(err)
		}
		const deployments = 20
		for range deployments {
			p := startProcess(t, m)
			durable.Handle(p.Engine, "job", func(ctx context.Context, _ int) (int, error) {
				return call(ctx, idempotent("call", 2, time.Second), func(context.Context) (int, error) {
					<-p.ctx.Done() // of the process, not its own
					return 0, p.ctx.Err()
				})
			})
			ctx, cancel := context.WithCancel(p.ctx)
			time.AfterFunc(time.Minute, cancel)
			p.killAfter(80 * time.Second)
			if err := p.Work(ctx); err != nil {
				t.Error(err)
			}
		}
		p := startProcess(t, m)
		s := wantStep(t, p.Engine, "one", "call", storage.StatusExecuting)
		if s.Attempts != deployments || s.Lost != 0 {
			t.Errorf("got %d attempts and %d lost ones, want %d and none", s.Attempts, s.Lost, deployments)
		}
		if r := wantRun(t, p.Engine, "one", storage.StatusOpen); r.Recoveries != 0 {
			t.Errorf("got %d recoveries, want none", r.Recoveries)
		}
	})
}
