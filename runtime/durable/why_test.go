package durable_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// Each state in which a run does not go on has a cause, and a sentence that says what
// it waits for.
func TestWhy(t *testing.T) {
	fails := errors.New("no")
	for _, test := range []struct {
		name  string
		setUp func(t *testing.T, p *process)
		cause admin.Cause
		text  string
	}{
		{"succeeded", func(t *testing.T, p *process) { _ = p.run("one", func(context.Context) error { return nil }) },
			admin.CauseEnded, "it is succeeded"},
		{"a step waits", func(t *testing.T, p *process) {
			var j journal
			ctx, cancel := context.WithTimeout(p.ctx, time.Minute)
			defer cancel()
			_ = p.Run(ctx, "one", oneStep(idempotent("charge", 3, time.Hour), failing(&j, 9)))
		}, admin.CauseStep, "it waits for attempt 2 of step charge"},
		{"a signal", func(t *testing.T, p *process) {
			_ = p.run("one", func(ctx context.Context) error {
				_, err := durable.Wait[bool](ctx, "approve", time.Hour)
				return err
			})
		}, admin.CauseStep, "it waits for the signal approve"},
		{"a sleep", func(t *testing.T, p *process) {
			ctx, cancel := context.WithTimeout(p.ctx, time.Minute)
			defer cancel()
			_ = p.Run(ctx, "one", func(ctx context.Context) error { return durable.Sleep(ctx, "cool down", time.Hour) })
		}, admin.CauseStep, "it waits for the end of sleep cool down"},
		{"another run", func(t *testing.T, p *process) {
			if err := durable.Start(t.Context(), p.Engine, "copy", "two", "a"); err != nil {
				t.Fatal(err)
			}
			durable.Handle(p.Engine, "wait", func(ctx context.Context, run string) (int, error) {
				return durable.Await[int](ctx, p.Engine, run)
			})
			t.Cleanup(work(t, p.Engine))
			if err := durable.Start(t.Context(), p.Engine, "wait", "one", "two"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}, admin.CauseRuns, "it waits for the end of two"},
		{"executed", func(t *testing.T, p *process) {
			go func() { _ = p.run("one", func(ctx context.Context) error { <-ctx.Done(); return fails }) }()
			synctest.Wait()
		}, admin.CauseExecuting, "executes it"},
		{"crashed too often", func(t *testing.T, p *process) {
			for range 11 {
				p = startProcess(t, p.store.Store)
				_ = p.run("one", func(context.Context) error { p.kill(); return fails })
				time.Sleep(time.Minute)
			}
			_ = startProcess(t, p.store.Store).run("one", func(context.Context) error { return fails })
		}, admin.CausePaused, "it is paused after too many crashes without progress: resume it when the cause is gone"},
		{"in doubt", func(t *testing.T, p *process) {
			_ = p.run("one", oneStep(careful("charge", 3, time.Second), func(context.Context) (int, error) {
				p.kill()
				return 0, fails
			}))
			next := startProcess(t, p.store.Store)
			var j journal
			_ = next.run("one", oneStep(careful("charge", 3, time.Second), failing(&j, 9)))
		}, admin.CauseInDoubt, "a person has to resolve charge"},
		{"paused", func(t *testing.T, p *process) {
			_ = p.run("one", func(context.Context) error { return fails })
			if err := p.Admin().Pause(t.Context(), "one", admin.By("ann", "the bank is down")); err != nil {
				t.Fatal(err)
			}
		}, admin.CausePaused, "it is paused by ann: the bank is down: resume it"},
		{"its process is dead", func(t *testing.T, p *process) {
			_ = p.run("one", func(context.Context) error { p.kill(); return fails })
			time.Sleep(time.Minute) // only the end of its lease says that
		}, admin.CauseOrphaned, "the program goes on with it when it calls Run with its id"},
		{"its worker is dead", func(t *testing.T, p *process) {
			durable.Handle(p.Engine, "copy", func(context.Context, string) (int, error) { p.kill(); return 0, fails })
			startOne(t, p)
			_ = p.Work(p.ctx)
			time.Sleep(time.Minute)
		}, admin.CauseWorker, "no worker has the handler copy: start one"},
		{"its engine waits", func(t *testing.T, p *process) {
			var j journal
			go func() { _ = p.run("one", oneStep(idempotent("charge", 3, time.Hour), failing(&j, 9))) }()
			time.Sleep(10 * time.Minute)
		}, admin.CauseStep, "it waits for attempt 2 of step charge"},
		{"paused with its parent", func(t *testing.T, p *process) {
			_ = p.run("outer", func(ctx context.Context) error {
				return errors.Join(durable.Start(ctx, p.Engine, "copy", "one", "a"), fails)
			})
			if err := p.Admin().Pause(t.Context(), "outer", admin.By("ann", "")); err != nil {
				t.Fatal(err)
			}
		}, admin.CausePaused, "it is paused with run outer by ann: resume it"},
		{"later", func(t *testing.T, p *process) {
			durable.Handle(p.Engine, "copy", func(context.Context, string) (int, error) { return 0, nil })
			t.Cleanup(work(t, p.Engine))
			startOne(t, p, durable.StartAt(time.Now().Add(time.Hour)))
			synctest.Wait()
		}, admin.CauseStart, "it starts later"},
		{"no worker", func(t *testing.T, p *process) { startOne(t, p) },
			admin.CauseWorker, "no worker has the handler copy: start one"},
		{"no room", func(t *testing.T, p *process) {
			block := make(chan struct{})
			durable.Handle(p.Engine, "copy", func(context.Context, string) (int, error) { <-block; return 0, nil })
			stop := work(t, p.Engine, durable.MaxRuns(1))
			t.Cleanup(func() { close(block); stop() })
			if err := durable.Start(t.Context(), p.Engine, "copy", "first", "a"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			startOne(t, p)
			synctest.Wait()
		}, admin.CauseDue, "it is due: a worker executes it when it has room"},
		{"full", func(t *testing.T, p *process) {
			block := make(chan struct{})
			durable.Handle(p.Engine, "copy", func(context.Context, string) (int, error) { <-block; return 0, nil },
				durable.Concurrency(2))
			t.Cleanup(work(t, p.Engine))
			t.Cleanup(func() { close(block) })
			for _, id := range []string{"first", "second"} {
				if err := durable.Start(t.Context(), p.Engine, "copy", id, "a"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
			}
			startOne(t, p)
			time.Sleep(time.Second)
		}, admin.CauseFull, "handler copy executes 2 of 2 runs: it waits for the end of one"},
		{"a rate", func(t *testing.T, p *process) {
			durable.Handle(p.Engine, "copy", func(context.Context, string) (int, error) { return 0, nil },
				durable.StartRate(60, time.Hour, 1))
			t.Cleanup(work(t, p.Engine))
			if err := durable.Start(t.Context(), p.Engine, "copy", "first", "a"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			startOne(t, p)
			time.Sleep(time.Second)
		}, admin.CauseRate, "handler copy starts at most 60 in 1h0m0s: it waits for its turn"},
		{"a caller", func(t *testing.T, p *process) {
			ctx, cancel := context.WithCancel(p.ctx)
			_ = p.Run(ctx, "one", func(context.Context) error { cancel(); return fails })
		}, admin.CauseCaller, "it has no handler: it goes on when the program calls Run with its id"},
		{"a breaker refuses", func(t *testing.T, p *process) {
			s := refusable("charge")
			_ = p.run("other", oneStep(s, func(context.Context) (int, error) { return 0, fails }))
			durable.Handle(p.Engine, "copy", func(ctx context.Context, _ string) (int, error) {
				return call(ctx, s, func(context.Context) (int, error) { return 0, fails })
			})
			t.Cleanup(work(t, p.Engine))
			startOne(t, p)
			time.Sleep(time.Second)
		}, admin.CauseBreaker, "it waits for attempt 1 of step charge, refused by breaker payments, open"},
		{"a breaker has refused", func(t *testing.T, p *process) {
			s := refusable("charge")
			_ = p.run("other", oneStep(s, func(context.Context) (int, error) { return 0, fails }))
			durable.Handle(p.Engine, "copy", func(ctx context.Context, _ string) (int, error) {
				return call(ctx, s, func(context.Context) (int, error) { return 0, fails })
			})
			t.Cleanup(work(t, p.Engine))
			startOne(t, p)
			time.Sleep(40 * time.Minute) // the breaker may admit it now, but it waits
		}, admin.CauseStep, "it waits for attempt 1 of step charge (refused by breaker payments)"},
		{"an engine waits for a breaker", func(t *testing.T, p *process) {
			s := refusable("charge")
			s.ParkAfter = 0
			_ = p.run("other", oneStep(s, func(context.Context) (int, error) { return 0, fails }))
			go func() { _ = p.run("one", oneStep(s, func(context.Context) (int, error) { return 0, fails })) }()
			time.Sleep(time.Minute)
		}, admin.CauseBreaker, "it waits for attempt 1 of step charge, refused by breaker payments, open"},
		{"an empty budget", func(t *testing.T, p *process) {
			s := idempotent("charge", 3, time.Second)
			s.OnExhausted = genapi.ExhaustedPause
			var j journal
			_ = p.run("one", oneStep(s, failing(&j, 9)), durable.Budget(job.BudgetPolicy{Retries: 1}))
		}, admin.CauseBudget, "a person has to resolve charge (job budget exhausted)"},
		{"a shared budget is empty", func(t *testing.T, p *process) {
			s := idempotent("charge", 3, time.Second)
			s.OnExhausted = genapi.ExhaustedPause
			s.Budget = &budget.Policy{Name: "payments", Burst: 1, Ratio: 0.01, MinPerSecond: 0.001}
			var j journal
			_ = p.run("one", oneStep(s, failing(&j, 9)))
		}, admin.CauseBudget, "a person has to resolve charge (retry budget exhausted)"},
		{"canceled", func(t *testing.T, p *process) {
			_ = p.run("one", func(context.Context) error { return fails })
			if err := p.Admin().Cancel(t.Context(), "one", admin.By("ann", "")); err != nil {
				t.Fatal(err)
			}
		}, admin.CauseEnded, "it is canceled"},
		{"canceled with its parent", func(t *testing.T, p *process) {
			_ = p.run("outer", func(ctx context.Context) error {
				return errors.Join(durable.Start(ctx, p.Engine, "copy", "one", "a"), fails)
			})
			if err := p.Admin().Cancel(t.Context(), "outer", admin.By("ann", "")); err != nil {
				t.Fatal(err)
			}
		}, admin.CauseEnded, "it is canceled with run outer"},
		{"later, without a worker", func(t *testing.T, p *process) {
			startOne(t, p, durable.StartAt(time.Now().Add(time.Hour)))
		},
			admin.CauseStart, "it starts later; no worker has the handler copy: start one"},
		{"a wait, without a worker", func(t *testing.T, p *process) {
			durable.Handle(p.Engine, "copy", func(ctx context.Context, _ string) (int, error) {
				return 0, durable.Sleep(ctx, "cool down", time.Hour)
			})
			stop := work(t, p.Engine)
			startOne(t, p)
			time.Sleep(time.Second)
			stop()
			time.Sleep(time.Minute)
		}, admin.CauseStep, "it waits for the end of sleep cool down; no worker has the handler copy: start one"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := memory.New()
				p := startProcess(t, m)
				test.setUp(t, p)
				why, err := newEngine(t, m).Admin().Why(t.Context(), "one")
				if err != nil {
					t.Fatal(err)
				}
				if why.Cause != test.cause || !strings.HasSuffix(why.String(), test.text) {
					t.Errorf("got %s, %q; want %s, %q", why.Cause, why, test.cause, test.text)
				}
				waits := slices.Contains([]admin.Cause{
					admin.CauseStep, admin.CauseStart, admin.CauseBreaker, admin.CauseRate,
				}, why.Cause)
				if waits != why.Until.After(time.Now()) || why.Cause == admin.CauseWorker && !why.Until.IsZero() {
					t.Errorf("%s: until %v", why.Cause, why.Until)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		_, err := startProcess(t, memory.New()).Admin().Why(t.Context(), "none")
		wantError(t, err, durable.ErrNotFound)
	})
}

// allDead is a store that knows that the processes of its owners are dead.
type allDead struct{ storage.Store }

func (allDead) Hold(string) (release func() error, err error) {
	return func() error { return nil }, nil
}

func (allDead) Dead(string) bool { return true }

// A run of a process that is known to be dead is free at once, not when the lease ends.
func TestWhyKnownDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		p := startProcess(t, m)
		_ = p.run("one", func(context.Context) error { p.kill(); return errors.New("no") })
		c := newEngine(t, m).Admin()
		if why, err := c.Why(t.Context(), "one"); err != nil || why.Cause != admin.CauseExecuting {
			t.Errorf("before: %v, %v", why, err)
		}
		c = newEngine(t, allDead{m}).Admin()
		if why, err := c.Why(t.Context(), "one"); err != nil || why.Cause != admin.CauseOrphaned || !why.Until.IsZero() {
			t.Errorf("known: %v until %v, %v", why, why.Until, err)
		}
	})
}

// refusable returns the policy of a step with a shared breaker that opens for half an
// hour at its first failure, and whose refusals are retried an hour later.
func refusable(name string) *genapi.StepPolicy {
	s := idempotent(name, 3, time.Hour)
	s.Policy.RetryOn = []retry.Class{retry.ClassAny, retry.ClassBreakerOpen}
	s.ParkAfter = time.Second
	s.OnExhausted = genapi.ExhaustedFail
	s.Breaker = &breaker.Policy{Name: "payments", Failures: 1, OpenFor: 30 * time.Minute}
	return s
}

// startOne starts run one of handler copy.
func startOne(t *testing.T, p *process, options ...durable.RunOption) {
	t.Helper()
	if err := durable.Start(t.Context(), p.Engine, "copy", "one", "a", options...); err != nil {
		t.Fatal(err)
	}
}
