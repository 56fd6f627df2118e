package durable_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/budget"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// The tests in this file are guarantees of docs/durable.md, and what each of them does
// not cover. Other guarantees have files of their own: shutdowns and crashes
// supervision_test.go, timeouts of runs timeout_test.go, limits of handlers
// handlerlimit_test.go, deletion expire_test.go and durabletest/large.go. contrib/sqlite
// and contrib/postgres test some of them with real processes.

// crashEverywhere executes a run in a process that dies at point n of its store
// and in another one that completes it, for each n.
func crashEverywhere(t *testing.T, work func(m *memory.Store, n int) func(context.Context) error,
	check func(t *testing.T, p *process, n int), options ...durable.RunOption,
) {
	t.Helper()
	for n, died := 1, true; died; n++ {
		synctest.Test(t, func(t *testing.T) {
			m := memory.New()
			fn := work(m, n)
			dying := durabletest.CrashAt(m, n)
			ctx, cancel := dying.Context(t.Context())
			defer cancel()
			_ = newEngine(t, dying).Run(ctx, "one", fn, options...)
			died = dying.Failed()
			p := startProcess(t, m)
			if err := p.run("one", fn, options...); err != nil {
				t.Errorf("crash at point %d: %v", n, err)
			}
			check(t, p, n)
		})
	}
}

// Attempts are never under-counted: when the function is called, its attempt is
// recorded.
func TestGuarantee01AttemptsAreCountedBefore(t *testing.T) {
	var j *journal
	crashEverywhere(t, func(m *memory.Store, n int) func(context.Context) error {
		j = &journal{}
		return oneStep(idempotent("charge", 4, time.Second), func(ctx context.Context) (int, error) {
			info := j.add(ctx)
			got := body(t, m, storage.Key{Kind: storage.KindStep, Run: "one", ID: "charge"})["attempts"]
			if got != float64(info.Attempt) {
				t.Errorf("crash at point %d: %v attempts are recorded during the call of attempt %d", n, got, info.Attempt)
			}
			if len(j.calls) < 3 {
				return 0, errors.New("unavailable")
			}
			return 1, nil
		})
	}, func(t *testing.T, p *process, n int) {
		s := wantStep(t, p.Engine, "one", "charge", storage.StatusSucceeded)
		if s.Attempts < len(j.calls) {
			t.Errorf("crash at point %d: %d attempts are recorded, %d were made", n, s.Attempts, len(j.calls))
		}
	})
}

// With record: failures, a first attempt that has not failed is not recorded: it
// is executed again after a crash.
func TestGuarantee01NotCoveredByRecordFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		var j journal
		lookup := idempotent("lookup", 4, time.Second)
		lookup.Record = genapi.RecordFailures
		for round := range 2 {
			p := startProcess(t, m)
			err := p.run("one", func(ctx context.Context) error {
				if _, err := call(ctx, lookup, failing(&j, 0)); err != nil {
					return err
				}
				if round == 0 {
					p.kill()
					<-ctx.Done()
				}
				return ctx.Err()
			})
			if (err != nil) != (round == 0) {
				t.Errorf("round %d: %v", round, err)
			}
		}
		j.want(t, "lookup", 1, 1)
	})
}

// An attempt that has durably ended is never executed again.
func TestGuarantee02EndedAttemptsAreNotRepeated(t *testing.T) {
	var j *journal
	crashEverywhere(t, func(m *memory.Store, n int) func(context.Context) error {
		j = &journal{}
		return oneStep(idempotent("charge", 4, time.Second), func(ctx context.Context) (int, error) {
			info := j.add(ctx)
			fields := body(t, m, storage.Key{Kind: storage.KindStep, Run: "one", ID: "charge"})
			if fields["result"] != nil || slices.Contains(j.attempts("charge")[:len(j.calls)-1], info.Attempt) {
				t.Errorf("crash at point %d: attempt %d is executed over %v", n, info.Attempt, fields)
			}
			if len(j.calls) == 1 {
				return 0, errors.New("unavailable")
			}
			return info.Attempt, nil
		})
	}, func(t *testing.T, p *process, n int) {
		if err := p.run("one", func(context.Context) error { return errors.New("called") }); err != nil {
			t.Errorf("crash at point %d: the completed run returned %v", n, err)
		}
	})
}

// An attempt that may have taken effect is repeated, fails or pauses the run as
// the policy says, and never silently.
func TestGuarantee03NoSilentDuplicate(t *testing.T) {
	for lost, want := range map[genapi.OnLost]storage.Status{
		genapi.OnLostRetry: storage.StatusSucceeded, genapi.OnLostFail: storage.StatusFailed,
		genapi.OnLostPause: storage.StatusInDoubt, genapi.OnLostDefault: storage.StatusInDoubt,
	} {
		synctest.Test(t, func(t *testing.T) {
			m := memory.New()
			var j journal
			charge := careful("charge", 1, time.Second)
			charge.OnLost = lost
			first := startProcess(t, m)
			_ = first.run("one", oneStep(charge, func(ctx context.Context) (int, error) {
				j.add(ctx)
				first.kill()
				return 1, nil
			}))
			second := startProcess(t, m)
			_ = second.run("one", oneStep(charge, failing(&j, 0)))
			s := wantStep(t, second.Engine, "one", "charge", want)
			if s.Lost != 1 || s.Failures != 0 {
				t.Errorf("on_lost %d: got %+v, want one lost attempt and no failure", lost, s)
			}
			if events := len(second.saw(events.EventLost)) + len(second.saw(events.EventInDoubt)) +
				len(second.saw(events.EventExhausted)); events != 1 {
				t.Errorf("on_lost %d: got %d reports, want 1", lost, events)
			}
			if lost == genapi.OnLostRetry {
				j.want(t, "charge", 1, 2) // although max_attempts is 1: a loss is not a failure
				return
			}
			j.want(t, "charge", 1)
		})
	}
}

// An engine that has lost its run neither starts nor records attempts of it.
func TestGuarantee04StaleOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		p := startProcess(t, m)
		var j journal
		err := p.run("one", func(ctx context.Context) error {
			_, err := call(ctx, careful("first", 3, time.Second), func(ctx context.Context) (int, error) {
				raiseFence(t, m, "one")
				return 1, nil
			})
			wantError(t, err, durable.ErrFenced)
			_, err = call(context.WithoutCancel(ctx), careful("second", 3, time.Second), failing(&j, 0))
			wantError(t, err, durable.ErrFenced)
			return nil
		})
		wantError(t, err, durable.ErrFenced)
		j.want(t, "second")
		wantStep(t, p.Engine, "one", "first", storage.StatusExecuting)
		wantHistory(t, p.Engine, "one", "first", "1 succeeded, late")
		wantRun(t, p.Engine, "one", storage.StatusOpen)
	})
}

// The same if the engine has lost the run before the start: the start itself is
// refused, although the lease of the engine is valid.
func TestGuarantee04StaleStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		p := startProcess(t, m)
		var j journal
		err := p.run("one", func(ctx context.Context) error {
			raiseFence(t, m, "one")
			_, err := call(ctx, careful("charge", 3, time.Second), failing(&j, 0))
			return err
		})
		wantError(t, err, durable.ErrFenced)
		if want := `run "one": the run is executed elsewhere`; err.Error() != want {
			t.Errorf("error %q, want %q", err, want)
		}
		if n := len(p.saw(events.EventFenced)); n != 1 {
			t.Errorf("%d events that the execution has ended, want 1", n)
		}
		j.want(t, "charge")
		if all := steps(t, p.Engine, "one"); len(all) > 0 {
			t.Errorf("got the steps %v, want none", all)
		}
	})
}

// A shared budget is never over-spent, and a grant counts once, wherever the
// process dies.
func TestGuarantee05BudgetIsExact(t *testing.T) {
	var m *memory.Store
	var j *journal
	crashEverywhere(t, func(store *memory.Store, _ int) func(context.Context) error {
		m, j = store, &journal{}
		return oneStep(idempotent("charge", 9, time.Second), failing(j, 3))
	}, func(t *testing.T, p *process, n int) {
		retries := 0
		for a, err := range p.Admin().Attempts(t.Context(), "one", "charge") {
			if err != nil {
				t.Fatal(err)
			}
			if a.Wait > 0 {
				retries++
			}
		}
		if got := body(t, m, storage.Key{Kind: storage.KindBudget, Run: "one"})["consumed"]; got != float64(retries) {
			t.Errorf("crash at point %d: the budget has counted %v retries, %d were granted", n, got, retries)
		}
	}, durable.Budget(job.BudgetPolicy{Retries: 20, PerUnit: 5}))
}

// The same for many steps at once, whose retries exceed the budget.
func TestGuarantee05BudgetIsNotOverspent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		p := startProcess(t, m)
		var j journal
		const n, limit = 40, 25
		_ = p.run("one", func(ctx context.Context) error {
			var all sync.WaitGroup
			for i := range n {
				all.Go(func() { _, _ = callID(ctx, idempotent("charge", 9, time.Second), i, failing(&j, 99)) })
			}
			all.Wait()
			return errors.New("all failed")
		}, durable.Budget(job.BudgetPolicy{Retries: limit, PerUnit: 2}))
		if got := len(j.calls); got != n+limit {
			t.Errorf("got %d calls, want %d and %d retries", got, n, limit)
		}
	})
}

// Engines and runs that share a budget of the store spend it together.
func TestGuarantee05SharedBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		var j journal
		charge := idempotent("charge", 9, time.Second)
		charge.Budget = &budget.Policy{Name: "shared", Burst: 12, MinPerSecond: budget.NoRefill}
		var all sync.WaitGroup
		for i := range 8 {
			p := startProcess(t, m)
			all.Go(func() { _ = p.run(fmt.Sprint(i), oneStep(charge, failing(&j, 99))) })
		}
		all.Wait()
		if got := len(j.calls); got != 8+12 {
			t.Errorf("got %d calls, want 8 and 12 retries", got)
		}
	})
}

// A step has one idempotency key, in all attempts, processes and requeues.
func TestGuarantee06OneKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		keys := map[string]int{}
		call := func(ctx context.Context) (int, error) {
			info, _ := durable.Current(ctx)
			key := retry.IdempotencyKey(ctx)
			if key == "" || key != info.Key {
				t.Errorf("got the key %q in the context, want %q", key, info.Key)
			}
			keys[key]++
			return 0, errors.New("unavailable")
		}
		_, err := killedAtEachWait(t, m, oneStep(careful("charge", 3, time.Second), call))
		wantError(t, err, retry.ErrAttempts)
		p := startProcess(t, m)
		if err := p.Admin().Requeue(t.Context(), "one", "charge"); err != nil {
			t.Fatal(err)
		}
		_ = p.run("one", oneStep(careful("charge", 3, time.Second), call))
		if len(keys) != 1 {
			t.Errorf("got the keys %v of 6 attempts, want one", keys)
		}
		_ = p.run("two", oneStep(careful("charge", 1, time.Second), call))
		if len(keys) != 2 {
			t.Errorf("got the keys %v of two runs, want two", keys)
		}
	})
}

// A wait survives a restart, and is never longer than it was recorded.
func TestGuarantee07WaitSurvives(t *testing.T) {
	const wait = 10 * time.Minute
	for down := time.Duration(0); down < 15*time.Minute; down += 100 * time.Second {
		synctest.Test(t, func(t *testing.T) {
			m := memory.New()
			var j journal
			charge := careful("charge", 3, wait)
			charge.ResumeSpread = retry.None
			first := startProcess(t, m)
			first.killAfter(time.Minute)
			_ = first.run("one", oneStep(charge, failing(&j, 1)))
			time.Sleep(down)
			resumed := time.Since(epoch)
			if err := startProcess(t, m).run("one", oneStep(charge, failing(&j, 1))); err != nil {
				t.Error(err)
			}
			least := max(wait, resumed) // at once, if it is overdue; claiming the run may take a lease
			wantAbout(t, fmt.Sprintf("the second attempt, resumed after %v,", resumed), time.Since(epoch),
				least, max(wait, resumed+31*time.Second))
		})
	}
}

// After an error of the store nothing is executed or acknowledged.
func TestGuarantee08StoreErrors(t *testing.T) {
	for _, status := range []storage.Status{storage.StatusExecuting, storage.StatusSucceeded} {
		synctest.Test(t, func(t *testing.T) {
			s := &hooked{Store: memory.New()}
			full := fmt.Errorf("%w: disk full", storage.ErrStore)
			s.hook = func(ctx context.Context, sel storage.Select, decide decision, next update) error {
				return next(ctx, sel, func(tx storage.Tx) (storage.Writes, error) {
					w, err := decide(tx)
					if puts(w, status) {
						return storage.Writes{}, full
					}
					return w, err
				})
			}
			p := startProcess(t, s)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var j journal
			err := p.Run(ctx, "one", func(ctx context.Context) error {
				got, err := call(ctx, careful("first", 3, time.Second), failing(&j, 0))
				if err == nil {
					t.Errorf("the result %d is acknowledged, and not recorded", got)
				}
				_, err = call(context.WithoutCancel(ctx), careful("second", 3, time.Second), failing(&j, 0))
				return err
			})
			wantError(t, err, storage.ErrStore)
			j.want(t, "second")
			if status == storage.StatusExecuting {
				j.want(t, "first")
			}
		})
	}
}

// A resumed run decides as one that never stopped: the same waits, attempts and
// reason, for limits in numbers, time and delay.
func TestGuarantee09ResumedDecidesAlike(t *testing.T) {
	schedule := retry.Schedule{MaxAttempts: 6, InitialDelay: 40 * time.Second, MaxDelay: retry.None}
	for _, p := range []retry.Policy{
		{Schedule: schedule},
		{Schedule: schedule, DelayBudget: 5 * time.Minute},
		{Schedule: schedule, MaxElapsed: 10 * time.Minute},
		{Schedule: schedule, Timeout: 8 * time.Minute},
		{Schedule: schedule, AttemptTimeout: 5 * time.Second},
		{Schedule: schedule, RetryOn: []retry.Class{retry.ClassTimeout}},
		{Schedule: schedule, PerError: []retry.Override{
			{Class: retry.ClassTimeout, Schedule: retry.Schedule{MaxAttempts: 3, InitialDelay: time.Minute}},
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			p.Name, p.RetryUnknown = "charge", true
			s := &genapi.StepPolicy{Name: "charge", Policy: &p, ResumeSpread: retry.None, Idempotent: true}
			work := func() func(context.Context) error {
				calls := 0
				return oneStep(s, func(ctx context.Context) (int, error) {
					calls++
					select {
					case <-time.After(time.Duration(calls) * 2 * time.Second):
					case <-ctx.Done():
						return 0, ctx.Err()
					}
					if calls%2 == 0 {
						return 0, fmt.Errorf("slow: %w", context.DeadlineExceeded)
					}
					return 0, errors.New("unavailable")
				})
			}
			live := startProcess(t, memory.New())
			start := time.Now()
			liveErr := live.run("one", work())
			took := time.Since(start)
			start = time.Now()
			last, err := killedAtEachWait(t, memory.New(), work())
			wantHistory(t, last.Engine, "one", "charge", history(t, live.Engine, "one", "charge")...)
			a, b := wantAs[*durable.StepError](t, liveErr), wantAs[*durable.StepError](t, err)
			if a.Reason != b.Reason || a.Error() != b.Error() || a.Class != b.Class || a.Waited != b.Waited {
				t.Errorf("live: %v after %v of waiting, resumed: %v after %v", a, a.Waited, b, b.Waited)
			}
			if got := time.Since(start); got != took {
				t.Errorf("live: in %v, resumed: in %v", took, got)
			}
		})
	}
}

// No run completes over an unfinished step, whatever its function returns.
func TestGuarantee10NoUnfinishedStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		var j journal
		charge := careful("charge", 3, time.Minute)
		err := p.run("one", func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, _ = call(ctx, charge, failing(&j, 1)) // drops the error
			return nil
		})
		if err == nil {
			t.Error("the run completed over a step that waits")
		}
		r := wantRun(t, p.Engine, "one", storage.StatusParked)
		time.Sleep(time.Until(r.Due))
		if err := p.run("one", oneStep(charge, failing(&j, 1))); err != nil {
			t.Error(err)
		}
		wantRun(t, p.Engine, "one", storage.StatusSucceeded)
		j.want(t, "charge", 1, 2)
	})
}
