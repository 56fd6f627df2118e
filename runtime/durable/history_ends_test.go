package durable_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// Canceled before its start is recorded, or between that and the call, a step is
// not in doubt. Canceled during the call, it is.
func TestHistory09Canceled(t *testing.T) {
	for _, when := range []string{"before", "between", "during"} {
		synctest.Test(t, func(t *testing.T) {
			m := memory.New()
			s := &hooked{Store: m}
			p := startProcess(t, s)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s.hook = func(ctx context.Context, sel storage.Select, decide decision, next update) error {
				return next(ctx, sel, func(tx storage.Tx) (storage.Writes, error) {
					w, err := decide(tx)
					if when == "between" && puts(w, storage.StatusExecuting) {
						cancel()
					}
					return w, err
				})
			}
			var j journal
			charge := careful("charge", 3, time.Second)
			err := p.Run(ctx, "one", func(ctx context.Context) error {
				if when == "before" {
					cancel()
				}
				_, err := call(ctx, charge, func(ctx context.Context) (int, error) {
					j.add(ctx)
					if when == "during" {
						cancel()
					}
					return 0, ctx.Err()
				})
				return err
			})
			wantError(t, err, context.Canceled)
			wantRun(t, p.Engine, "one", storage.StatusOpen)
			again := p.run("one", oneStep(charge, failing(&j, 0)))
			switch when {
			case "before":
				j.want(t, "charge", 1)
			case "between":
				j.want(t, "charge", 2)
				wantHistory(t, p.Engine, "one", "charge", "1 withdrawn", "2 succeeded")
			case "during":
				j.want(t, "charge", 1)
				wantHistory(t, p.Engine, "one", "charge", "1 interrupted")
				wantStep(t, p.Engine, "one", "charge", storage.StatusInDoubt)
				wantAs[*durable.PausedError](t, again)
				return
			}
			if again != nil {
				t.Errorf("canceled %s the call: the next run returned %v", when, again)
			}
		})
	}
}

// admin.Client.Cancel ends the run for ever. What is executing is in doubt.
func TestHistory09RunCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		a, b := startProcess(t, m), startProcess(t, m)
		done := make(chan error)
		go func() {
			done <- a.run("one", oneStep(careful("charge", 3, time.Second), func(ctx context.Context) (int, error) {
				<-ctx.Done()
				return 0, ctx.Err()
			}))
		}()
		time.Sleep(time.Second)
		if err := b.Admin().Cancel(t.Context(), "one"); err != nil {
			t.Fatal(err)
		}
		wantError(t, <-done, durable.ErrCanceled)
		wantStep(t, b.Engine, "one", "charge", storage.StatusInDoubt)
		wantRun(t, b.Engine, "one", storage.StatusCanceled)
		wantError(t, b.run("one", func(context.Context) error { t.Error("called"); return nil }), durable.ErrCanceled)
	})
}

// A shutdown during a call leaves the run open. What follows is decided by
// on_lost.
func TestHistory10Shutdown(t *testing.T) {
	for _, c := range []struct {
		policy *genapi.StepPolicy
		lost   genapi.OnLost
		status storage.Status // after the shutdown
		want   error          // of the next run
		calls  []int
	}{
		{careful("charge", 3, time.Second), genapi.OnLostDefault, storage.StatusInDoubt, &durable.PausedError{}, []int{1}},
		{idempotent("charge", 3, time.Second), genapi.OnLostDefault, storage.StatusWaiting, nil, []int{1, 2}},
		{careful("charge", 3, time.Second), genapi.OnLostRetry, storage.StatusWaiting, nil, []int{1, 2}},
		{idempotent("charge", 3, time.Second), genapi.OnLostFail, storage.StatusFailed, retry.ErrLost, []int{1}},
		{idempotent("charge", 3, time.Second), genapi.OnLostPause, storage.StatusInDoubt, &durable.PausedError{}, []int{1}},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := startProcess(t, memory.New())
			s := *c.policy
			s.OnLost = c.lost
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			var j journal
			err := p.Run(ctx, "one", oneStep(&s, func(ctx context.Context) (int, error) {
				j.add(ctx)
				<-ctx.Done()
				return 0, ctx.Err()
			}))
			wantError(t, err, context.DeadlineExceeded)
			wantRun(t, p.Engine, "one", storage.StatusOpen)
			wantStep(t, p.Engine, "one", "charge", c.status)
			err = p.run("one", oneStep(&s, failing(&j, 0)))
			if _, paused := c.want.(*durable.PausedError); paused {
				wantAs[*durable.PausedError](t, err)
			} else {
				wantError(t, err, c.want)
			}
			j.want(t, "charge", c.calls...)
		})
	}
}

// A store that is down when a step succeeds gets the result later. Nothing is
// repeated.
func TestHistory11StoreDownAfterSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &hooked{Store: memory.New()}
		var down atomic.Bool
		s.hook = func(ctx context.Context, sel storage.Select, decide decision, next update) error {
			if down.Load() {
				return fmt.Errorf("%w: connection refused", storage.ErrStore)
			}
			return next(ctx, sel, decide)
		}
		p := startProcess(t, s)
		var j journal
		err := p.run("one", func(ctx context.Context) error {
			got, err := call(ctx, careful("charge", 3, time.Second), func(ctx context.Context) (int, error) {
				j.add(ctx)
				down.Store(true)
				time.AfterFunc(20*time.Second, func() { down.Store(false) })
				return 7, nil
			})
			if got != 7 {
				t.Errorf("got %d, want 7", got)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		wantAbout(t, "the run", time.Since(epoch), 20*time.Second, 22*time.Second)
		j.want(t, "charge", 1)
		wantHistory(t, p.Engine, "one", "charge", "1 succeeded")
	})
}

// In a transaction that many steps share, one that is fenced, and one whose
// error is not valid text, do not disturb the others.
func TestHistory12SharedTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		s := &hooked{Store: m}
		s.hook = func(ctx context.Context, sel storage.Select, decide decision, next update) error {
			if !isRenewal(sel) {
				time.Sleep(time.Millisecond) // so that updates meet
			}
			return next(ctx, sel, decide)
		}
		p := startProcess(t, s)
		const runs = 40
		var called sync.WaitGroup
		called.Add(runs)
		errs := make([]error, runs)
		var all sync.WaitGroup
		for i := range runs {
			all.Go(func() {
				errs[i] = p.run(fmt.Sprint(i), oneStep(careful("charge", 1, time.Second), func(context.Context) (int, error) {
					called.Done()
					called.Wait() // all end at once
					if i == 0 {
						raiseFence(t, m, "0")
					}
					time.Sleep(time.Second)
					if i == 1 {
						return 0, errors.New("bad \xff\x00 text")
					}
					return i, nil
				}))
			})
		}
		all.Wait()
		for i, err := range errs {
			switch i {
			case 0:
				wantError(t, err, durable.ErrFenced)
			case 1:
				failed := wantAs[*durable.StepError](t, err)
				if failed.Text != "bad \uFFFD\uFFFD text" {
					t.Errorf("got the text %q", failed.Text)
				}
			default:
				if err != nil {
					t.Errorf("run %d: %v", i, err)
				}
			}
		}
	})
}

// raiseFence does to a run what the claim of another engine does.
func raiseFence(t *testing.T, s storage.Store, run string) {
	sel := storage.Select{Keys: []storage.Key{{Kind: storage.KindRun, Run: run}}}
	err := s.Update(t.Context(), sel, func(tx storage.Tx) (storage.Writes, error) {
		r := tx.Records[0]
		r.Fence++
		return storage.Writes{Put: []storage.Record{r}}, nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A store may ask for a decision several times. Each answer is the same: one
// jitter, one grant.
func TestHistory13DecisionsRepeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		s := &hooked{Store: m}
		s.hook = func(ctx context.Context, sel storage.Select, decide decision, next update) error {
			return next(ctx, sel, func(tx storage.Tx) (storage.Writes, error) {
				first, err := decide(tx)
				for range 2 {
					again, errAgain := decide(tx)
					if !reflect.DeepEqual(first, again) || fmt.Sprint(err) != fmt.Sprint(errAgain) {
						t.Errorf("a repeated decision differs: %+v, %v, then %+v, %v", first, err, again, errAgain)
					}
				}
				return first, err
			})
		}
		p := startProcess(t, s)
		var j journal
		charge := idempotent("charge", 4, time.Minute)
		charge.Policy.Jitter = retry.JitterFull
		charge.Breaker = &breaker.Policy{Name: "api", Failures: 10}
		charge.Budget = &budget.Policy{Name: "shared", Burst: 10, MinPerSecond: budget.NoRefill}
		err := p.run("one", oneStep(charge, failing(&j, 3)), durable.Budget(job.BudgetPolicy{Retries: 10, PerUnit: 5}))
		if err != nil {
			t.Error(err)
		}
		j.want(t, "charge", 1, 2, 3, 4)
		if got := body(t, m, storage.Key{Kind: storage.KindBudget, Run: "one"})["consumed"]; got != 3.0 {
			t.Errorf("got %v retries of the run, want 3", got)
		}
		if got := body(t, m, storage.Key{Kind: storage.KindBudget, ID: "shared"})["tokens"]; got != 7.2 {
			t.Errorf("got %v tokens left of 10, want 7.2: the success adds 0.2", got)
		}
		var waits time.Duration
		for _, ev := range p.saw(events.EventFailed) {
			waits += ev.Wait
		}
		if got := time.Since(epoch); got != waits {
			t.Errorf("waited %v, want the %v that were recorded", got, waits)
		}
	})
}

// body returns the body of a record.
func body(t *testing.T, s storage.Store, key storage.Key) map[string]any {
	t.Helper()
	records, err := s.Get(t.Context(), []storage.Key{key})
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(records[0].Body, &fields); err != nil {
		t.Fatalf("%v: %v", key, err)
	}
	return fields
}

// A wait counts from the time at which the transaction has its locks.
func TestHistory14LockAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		p := startProcess(t, m)
		var j journal
		err := p.run("one", oneStep(idempotent("charge", 3, 10*time.Second), func(ctx context.Context) (int, error) {
			if info := j.add(ctx); info.Attempt == 1 {
				locked := make(chan struct{})
				go func() {
					sel := storage.Select{Keys: []storage.Key{{Kind: storage.KindStep, Run: "one", ID: "charge"}}}
					err := m.Update(t.Context(), sel, func(storage.Tx) (storage.Writes, error) {
						close(locked)
						time.Sleep(5 * time.Second)
						return storage.Writes{}, nil
					})
					if err != nil {
						t.Error(err)
					}
				}()
				<-locked
				return 0, errors.New("unavailable")
			}
			if got := time.Since(epoch); got != 15*time.Second {
				t.Errorf("the second attempt was after %v, want 15s: 5s for the lock and 10s of wait", got)
			}
			return 1, nil
		}))
		if err != nil {
			t.Error(err)
		}
	})
}

// A retry that has its grant is made although the budget is empty since, also
// after a crash.
func TestHistory15BudgetEmptiedDuringWait(t *testing.T) {
	for _, crash := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := memory.New()
			p := startProcess(t, m)
			var j journal
			long, short := idempotent("long", 3, time.Minute), idempotent("short", 3, time.Second)
			work := func(ctx context.Context) error {
				var wg sync.WaitGroup
				var errs [2]error
				wg.Go(func() { _, errs[0] = call(ctx, long, failing(&j, 1)) })
				wg.Go(func() {
					time.Sleep(time.Second)
					_, errs[1] = call(ctx, short, failing(&j, 1))
				})
				wg.Wait()
				return errors.Join(errs[:]...)
			}
			if crash {
				p.killAfter(30 * time.Second)
			}
			err := p.run("one", work, durable.Budget(job.BudgetPolicy{Retries: 1}))
			if crash {
				p = startProcess(t, m)
				err = p.run("one", work)
			}
			wantError(t, err, job.ErrBudget)
			j.want(t, "long", 1, 2)
			j.want(t, "short", 1)
			wantStep(t, p.Engine, "one", "long", storage.StatusSucceeded)
			wantStep(t, p.Engine, "one", "short", storage.StatusFailed)
		})
	}
}

// The limits of a budget are those with which it was created.
func TestHistory17StoredLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		a, b := startProcess(t, m), startProcess(t, m)
		var j journal
		work := func(ctx context.Context) error {
			var errs []error
			for i := range 4 {
				_, err := callID(ctx, idempotent("charge", 9, time.Second), i, failing(&j, 99))
				errs = append(errs, err)
			}
			return errors.Join(errs...)
		}
		a.killAfter(2 * time.Second)
		_ = a.run("one", work, durable.Budget(job.BudgetPolicy{Retries: 5, PerUnit: 2}))
		err := b.run("one", work, durable.Budget(job.BudgetPolicy{Retries: 30, PerUnit: 5}))
		if !strings.Contains(fmt.Sprint(err), "budget") {
			t.Errorf("got error %v, want the budget as the reason", err)
		}
		if got := len(j.calls); got != 4+5 {
			t.Errorf("got %d calls, want 4 and the 5 retries of the stored limit", got)
		}
	})
}

// A late end is kept as evidence with its step. Where there is none, since the step
// was not recorded or has expired, it leaves no entry that nothing would delete.
func TestHistory04LateEndWithoutStep(t *testing.T) {
	unrecorded := idempotent("charge", 3, time.Second)
	unrecorded.Record = genapi.RecordFailures
	recorded := idempotent("charge", 3, time.Second)
	for name, s := range map[string]*genapi.StepPolicy{"unrecorded": unrecorded, "expired": recorded} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := memory.New()
				slow := &durabletest.Stopped{Store: m}
				a, b := startProcess(t, slow), startProcess(t, m)
				done := make(chan error)
				go func() {
					done <- a.run("one", oneStep(s, func(context.Context) (int, error) {
						slow.Stop(10 * time.Minute)
						time.Sleep(10 * time.Minute)
						return 0, errors.New("late")
					}))
				}()
				synctest.Wait()
				if err := b.run("one", func(context.Context) error { return nil }); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Minute)
				for _, err := range b.Admin().Expire(t.Context(), time.Now()) {
					if err != nil {
						t.Error(err)
					}
				}
				wantError(t, <-done, durable.ErrFenced)
				if n := len(a.saw(events.EventRefused)); n != 1 {
					t.Errorf("%d refused ends were reported, want 1", n)
				}
				step := storage.Key{Kind: storage.KindStep, Run: "one", ID: "charge"}
				entries, _, err := m.History(t.Context(), step, "")
				if len(entries) > 0 || err != nil {
					t.Errorf("the step that is gone has %d entries, %v", len(entries), err)
				}
			})
		})
	}
}
