package durable_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/budget"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// Budgets elsewhere, as those of a process, lose at most one grant to a crash
// between the withdrawal and the record: the retry is not made twice.
func TestHistory16GrantElsewhere(t *testing.T) {
	limit := budget.New(budget.Policy{Name: "process", Burst: 1000, MinPerSecond: budget.NoRefill})
	var j *journal
	var before float64
	crashEverywhere(t, func(*memory.Store, int) func(context.Context) error {
		j, before = &journal{}, limit.Left()
		charge := idempotent("charge", 9, time.Second)
		charge.Shared.Budget = limit
		return oneStep(charge, failing(j, 3))
	}, func(t *testing.T, p *process, n int) {
		s := wantStep(t, p.Engine, "one", "charge", storage.StatusSucceeded)
		spent := before - limit.Left()
		if least := float64(s.Failures); spent < least-1 || spent > least+1 {
			t.Errorf("crash at point %d: %.1f tokens were spent for %d failures", n, spent, s.Failures)
		}
	})
}

// A run whose process dies again and again outside of steps is paused, and
// continues when an operator says so.
func TestHistory32CrashLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		var paused *durable.PausedError
		crashes := 0
		for ; paused == nil && crashes < 20; crashes++ {
			p := startProcess(t, m)
			err := p.run("one", func(ctx context.Context) error {
				p.kill()
				<-ctx.Done()
				return ctx.Err()
			})
			paused, _ = errors.AsType[*durable.PausedError](err)
		}
		if paused == nil || crashes != 11 || len(paused.Steps) != 0 {
			t.Fatalf("got %+v after %d runs, want the run paused in its 11th", paused, crashes)
		}
		p := startProcess(t, m)
		wantRun(t, p.Engine, "one", storage.StatusPaused)
		wantAs[*durable.PausedError](t, p.run("one", func(context.Context) error { t.Error("called"); return nil }))
		if err := p.Admin().Resume(t.Context(), "one"); err != nil {
			t.Fatal(err)
		}
		if err := p.run("one", func(context.Context) error { return nil }); err != nil {
			t.Error(err)
		}
	})
}

// Progress in a step starts the count of recoveries again.
func TestHistory32ProgressResetsCrashLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		var j journal
		const n = 25
		for i := range n + 1 {
			p := startProcess(t, m)
			err := p.run("one", func(ctx context.Context) error {
				for k := range n {
					if _, err := callID(ctx, careful("charge", 1, 0), k, failing(&j, 0)); err != nil {
						return err
					}
					if k == i {
						p.kill()
						<-ctx.Done()
						return ctx.Err()
					}
				}
				return nil
			})
			if i == n && err != nil {
				t.Error(err)
			}
		}
		if len(j.calls) != n {
			t.Errorf("got %d calls, want %d", len(j.calls), n)
		}
	})
}

// A step whose process dies three times in its call is exhausted. No attempt
// counts as failed.
func TestHistory32LostThreeTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		var j journal
		charge := idempotent("charge", 2, time.Second)
		var err error
		for range 4 {
			p := startProcess(t, m)
			err = p.run("one", oneStep(charge, func(ctx context.Context) (int, error) {
				j.add(ctx)
				p.kill()
				return 0, errors.New("dead")
			}))
		}
		wantError(t, err, retry.ErrLost)
		j.want(t, "charge", 1, 2, 3)
		p := startProcess(t, m)
		s := wantStep(t, p.Engine, "one", "charge", storage.StatusFailed)
		if s.Failures != 0 || s.Lost != 3 || s.Attempts != 3 {
			t.Errorf("got %+v, want 3 lost attempts and no failed one", s)
		}
	})
}

// A dead letter of a run that has completed without it is requeued: only that
// step is executed.
func TestHistory34Requeue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		var j journal
		charge := careful("charge", 2, time.Second)
		charge.OnExhausted = genapi.ExhaustedDeadLetter
		runs := 0
		work := func(ctx context.Context) error {
			runs++
			for i := range 5 {
				_, err := callID(ctx, charge, i, func(ctx context.Context) (int, error) {
					info := j.add(ctx)
					if i == 3 && info.Attempt <= 3 {
						return 0, errors.New("unavailable")
					}
					return 10 * i, nil
				})
				if err != nil && i != 3 {
					return err
				}
			}
			return nil
		}
		if err := p.run("one", work); err != nil {
			t.Fatal(err)
		}
		wantRun(t, p.Engine, "one", storage.StatusSucceeded)
		before := wantStep(t, p.Engine, "one", "charge/3", storage.StatusDead)

		wantError(t, p.Admin().Requeue(t.Context(), "one", "charge/2"), durable.ErrConflict)
		wantError(t, p.Admin().Requeue(t.Context(), "one", "charge/9"), durable.ErrNotFound)
		wantError(t, p.Admin().Requeue(t.Context(), "two", "charge/3"), durable.ErrNotFound)
		if err := p.Admin().Requeue(t.Context(), "one", "charge/3", admin.NewKey()); err != nil {
			t.Fatal(err)
		}
		wantRun(t, p.Engine, "one", storage.StatusOpen)
		if err := p.run("one", work); err != nil {
			t.Fatal(err)
		}
		j.want(t, "charge/3", 1, 2, 3, 4) // two attempts again, with new numbers
		for _, i := range []int{0, 1, 2, 4} {
			j.want(t, fmt.Sprint("charge/", i), 1)
		}
		after := wantStep(t, p.Engine, "one", "charge/3", storage.StatusSucceeded)
		if after.Key == before.Key || j.calls[len(j.calls)-1].Key != after.Key {
			t.Errorf("got the key %q after %q, want a new one, also in the call", after.Key, before.Key)
		}
		wantHistory(t, p.Engine, "one", "charge/3",
			"1 failed, then 1s", "2 failed", "2 requeued", "3 failed, then 1s", "4 succeeded")
		if runs != 2 {
			t.Errorf("the function of the run was called %d times, want 2", runs)
		}
	})
}

// A record of a newer version is refused, and stays as it is.
func TestHistory35NewerVersion(t *testing.T) {
	for _, kind := range []storage.Kind{storage.KindRun, storage.KindStep} {
		synctest.Test(t, func(t *testing.T) {
			m := memory.New()
			p := startProcess(t, m)
			var j journal
			work := oneStep(careful("charge", 2, time.Second), failing(&j, 1))
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			wantAs[*durable.ParkedError](t, p.Run(ctx, "one", work))
			key := storage.Key{Kind: kind, Run: "one"}
			if kind == storage.KindStep {
				key.ID = "charge"
			}
			newer := migrate(t, m, key)
			wantError(t, p.run("one", work), storage.ErrFormat)
			j.want(t, "charge", 1)
			records, err := m.Get(t.Context(), []storage.Key{key})
			if err != nil || !bytes.Equal(records[0].Body, newer) {
				t.Errorf("got body %s, %v; want %s unchanged", records[0].Body, err, newer)
			}
		})
	}
}

// migrate adds a field to a record, as a newer version of this module does, and
// returns its body.
func migrate(t *testing.T, s storage.Store, key storage.Key) (newer []byte) {
	t.Helper()
	err := s.Update(t.Context(), storage.Select{Keys: []storage.Key{key}}, func(tx storage.Tx) (storage.Writes, error) {
		r := tx.Records[0]
		r.Body = append([]byte(`{"from_the_future":1,`), r.Body[1:]...)
		newer = bytes.Clone(r.Body)
		return storage.Writes{Put: []storage.Record{r}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return newer
}

// A run whose results were deleted is not executed again.
func TestHistory37DeletedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		p := startProcess(t, m)
		var j journal
		work := func(ctx context.Context) (int, error) {
			return call(ctx, careful("charge", 2, time.Second), failing(&j, 1))
		}
		budget := durable.Budget(job.BudgetPolicy{Retries: 3})
		run := func() (int, error) {
			return durable.Run(p.ctx, p.Engine, "one", work, durable.Retention(24*time.Hour), budget)
		}
		if got, err := run(); got != 102 || err != nil {
			t.Fatalf("got %d, %v", got, err)
		}
		time.Sleep(24*time.Hour - time.Minute)
		if got, err := run(); got != 102 || err != nil {
			t.Errorf("before a day has passed: got %d, %v", got, err)
		}
		time.Sleep(2 * time.Minute) // and a renewal
		_, err := run()
		wantError(t, err, durable.ErrExpired)
		j.want(t, "charge", 1, 2)
		wantRun(t, p.Engine, "one", storage.StatusExpired)
		if all := steps(t, p.Engine, "one"); len(all) > 0 {
			t.Errorf("got %d steps, want none", len(all))
		}
		wantHistory(t, p.Engine, "one", "charge")
		records, err := m.Get(t.Context(), []storage.Key{{Kind: storage.KindBudget, Run: "one"}})
		if err != nil || records[0].Version != 0 {
			t.Errorf("got the budget %+v, %v; want none", records[0], err)
		}
		wantError(t, p.Admin().Requeue(t.Context(), "one", "charge"), durable.ErrConflict)
	})
}
