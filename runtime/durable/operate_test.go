package durable_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// Two steps in doubt that are resolved at the same time open their run.
func TestResolveConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		a := startProcess(t, m)
		job := func(ctx context.Context) error {
			var wg sync.WaitGroup
			var errs [2]error
			for i := range errs {
				wg.Go(func() {
					_, errs[i] = callID(ctx, careful("charge", 3, time.Second), i, func(ctx context.Context) (int, error) {
						time.Sleep(time.Minute)
						return 1, ctx.Err()
					})
				})
			}
			wg.Wait()
			return errors.Join(errs[:]...)
		}
		a.killAfter(time.Second)
		_ = a.run("one", job)
		b := startProcess(t, m)
		wantAs[*durable.PausedError](t, b.run("one", job))

		// Both look for the other steps in doubt before one of them writes.
		both := make(chan struct{}, 2)
		slow := startProcess(t, &hooked{Store: m, hook: func(
			ctx context.Context, sel storage.Select, decide func(storage.Tx) (storage.Writes, error), next update,
		) error {
			select {
			case both <- struct{}{}:
				time.Sleep(time.Duration(len(both)) * time.Second)
			default:
			}
			return next(ctx, sel, decide)
		}})
		other := startProcess(t, m)
		done := make(chan error)
		go func() { done <- slow.Admin().Resolve(t.Context(), "one", "charge/0", admin.Succeeded(7)) }()
		synctest.Wait()
		if err := other.Admin().Resolve(t.Context(), "one", "charge/1", admin.Succeeded(8)); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		wantRun(t, b.Engine, "one", storage.StatusOpen)
		if err := b.run("one", job); err != nil {
			t.Error(err)
		}
	})
}

// A run that has succeeded is not in doubt: it keeps its result.
func TestResolveRunThatIsNotPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		calls := 0
		fn := func(context.Context) (int, error) { calls++; return 7, nil }
		if _, err := durable.Run(p.ctx, p.Engine, "one", fn); err != nil {
			t.Fatal(err)
		}
		wantError(t, p.Admin().Resume(t.Context(), "one"), durable.ErrConflict)
		if got, err := durable.Run(p.ctx, p.Engine, "one", fn); got != 7 || err != nil || calls != 1 {
			t.Errorf("got %d, %v after %d calls; want 7 after 1", got, err, calls)
		}
	})
}

// After Retry, there is another attempt, whatever the attempts before it have
// used up.
func TestResolveRetryMakesAnAttempt(t *testing.T) {
	t.Run("exhausted", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := startProcess(t, memory.New())
			var j journal
			s := careful("charge", 2, time.Second)
			s.OnExhausted = genapi.ExhaustedPause
			job := oneStep(s, failing(&j, 2))
			wantAs[*durable.PausedError](t, p.run("one", job))
			if err := p.Admin().Resolve(t.Context(), "one", "charge", admin.Retry()); err != nil {
				t.Fatal(err)
			}
			if err := p.run("one", job); err != nil {
				t.Error(err)
			}
			j.want(t, "charge", 1, 2, 3)
		})
	})
	t.Run("lost", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := memory.New()
			s := careful("charge", 2, time.Second)
			s.Policy.DelayBudget = time.Hour
			var j journal
			for range 5 {
				p := startProcess(t, m)
				p.killAfter(3 * time.Second)
				job := oneStep(s, func(ctx context.Context) (int, error) {
					if j.add(ctx); len(j.attempts("charge")) == 1 {
						return 0, errors.New("unavailable")
					}
					<-ctx.Done()
					return 0, ctx.Err()
				})
				_ = p.run("one", job)
				q := startProcess(t, m)
				wantAs[*durable.PausedError](t, q.run("one", job))
				time.Sleep(2 * time.Hour)
				if err := q.Admin().Resolve(t.Context(), "one", "charge", admin.Retry()); err != nil {
					t.Fatal(err)
				}
			}
			q := startProcess(t, m)
			if err := q.run("one", oneStep(s, func(ctx context.Context) (int, error) {
				j.add(ctx)
				return 1, nil
			})); err != nil {
				t.Error(err)
			}
			j.want(t, "charge", 1, 2, 3, 4, 5, 6, 7)
		})
	})
}

// A cancellation that was acknowledged stays, whoever executes the run, and
// whichever replies are lost.
func TestCancelElsewhereStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		var updates atomic.Int64
		s := &hooked{Store: m}
		s.hook = func(
			ctx context.Context, sel storage.Select, decide func(storage.Tx) (storage.Writes, error), next update,
		) error {
			err := next(ctx, sel, decide)
			if err == nil && !isRenewal(sel) && updates.Add(1)%2 == 1 {
				return storage.ErrUnknown // and not the next time
			}
			return err
		}
		a, b := startProcess(t, s), startProcess(t, m)
		done := make(chan error)
		go func() {
			done <- a.run("one", oneStep(careful("charge", 1, 0), func(context.Context) (int, error) {
				time.Sleep(2 * time.Second)
				return 1, nil
			}))
		}()
		time.Sleep(time.Second)
		if err := b.Admin().Cancel(t.Context(), "one"); err != nil {
			t.Fatal(err)
		}
		wantError(t, <-done, durable.ErrCanceled)
		wantRun(t, b.Engine, "one", storage.StatusCanceled)
		wantStep(t, b.Engine, "one", "charge", storage.StatusSucceeded)
	})
}

// A step in doubt of a canceled run can be resolved, corrected and discarded. The
// run stays canceled, and nothing is executed.
func TestResolveInCanceledRun(t *testing.T) {
	resolve := func(ctx context.Context, e *durable.Engine, r admin.Resolution) error {
		return e.Admin().Resolve(ctx, "one", "charge", r)
	}
	for _, tt := range []struct {
		name string
		do   func(context.Context, *durable.Engine) error
		want storage.Status
	}{
		{"retry", func(ctx context.Context, e *durable.Engine) error {
			return resolve(ctx, e, admin.Retry())
		}, storage.StatusCanceled},
		{"succeeded", func(ctx context.Context, e *durable.Engine) error {
			return resolve(ctx, e, admin.Succeeded(7))
		}, storage.StatusSucceeded},
		{"failed", func(ctx context.Context, e *durable.Engine) error {
			return resolve(ctx, e, admin.Failed(errStop))
		}, storage.StatusFailed},
		{"corrected", func(ctx context.Context, e *durable.Engine) error {
			return errors.Join(resolve(ctx, e, admin.Retry()), resolve(ctx, e, admin.Succeeded(7)))
		}, storage.StatusSucceeded},
		{"discarded", func(ctx context.Context, e *durable.Engine) error {
			return e.Admin().Discard(ctx, "one", "charge", admin.By("ada", "the order is void"))
		}, storage.StatusDiscarded},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := memory.New()
			a := startProcess(t, m)
			job := oneStep(careful("charge", 3, time.Second), func(ctx context.Context) (int, error) {
				time.Sleep(time.Minute)
				return 1, ctx.Err()
			})
			a.killAfter(time.Second)
			_ = a.run("one", job)
			b := startProcess(t, m)
			wantAs[*durable.PausedError](t, b.run("one", job))
			wantError(t, b.Admin().Discard(t.Context(), "one", "charge", admin.By("ada", "too early")), durable.ErrConflict)
			if err := b.Admin().Cancel(t.Context(), "one"); err != nil {
				t.Fatal(err)
			}
			if err := tt.do(t.Context(), b.Engine); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			wantStep(t, b.Engine, "one", "charge", tt.want)
			wantRun(t, b.Engine, "one", storage.StatusCanceled)
			wantError(t, b.run("one", job), durable.ErrCanceled)
			for s, err := range b.Admin().Steps(t.Context(), admin.Filter{Status: []storage.Status{storage.StatusInDoubt}}) {
				t.Errorf("%s: %q is still listed, %v", tt.name, s.Step, err)
			}
		})
	}
}

// Runs are listed by their states as those without an index would be: by id, each
// once.
func TestListByStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		fail := func(context.Context) error { return errors.New("no") }
		for i := range 9 {
			_ = p.run(fmt.Sprint("failed-", i), fail)
			_ = p.run(fmt.Sprint("done-", i), func(context.Context) error { return nil })
			_ = p.run(fmt.Sprint("canceled-", i), fail)
			if err := p.Admin().Cancel(t.Context(), fmt.Sprint("canceled-", i)); err != nil {
				t.Fatal(err)
			}
		}
		_ = p.run("failed-3", func(context.Context) error { return nil }) // it was continued
		list := func(statuses ...storage.Status) (ids []string) {
			for r, err := range p.Admin().List(t.Context(), storage.Query{Status: statuses, Limit: 2}) {
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, r.ID)
			}
			return ids
		}
		for _, statuses := range [][]storage.Status{
			{storage.StatusFailed}, {storage.StatusFailed, storage.StatusCanceled, storage.StatusFailed},
			{storage.StatusSucceeded, storage.StatusFailed}, {storage.StatusParked}, {},
		} {
			var want []string
			for r, err := range p.Admin().List(t.Context(), storage.Query{}) {
				if err != nil {
					t.Fatal(err)
				}
				if len(statuses) == 0 || slices.Contains(statuses, r.Status) {
					want = append(want, r.ID)
				}
			}
			if got := list(statuses...); !slices.Equal(got, want) {
				t.Errorf("%v: got %q, want %q", statuses, got, want)
			}
		}
	})
}
