package durable_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// The timeout of a run holds while it is parked, for a wait or for another run.
func TestTimeoutWhileParked(t *testing.T) {
	unavailable := oneStep(idempotent("call", 3, 2*time.Hour), func(context.Context) (int, error) {
		return 0, errors.New("unavailable")
	})
	for name, job := range map[string]func(context.Context, *durable.Engine) error{
		"wait": func(ctx context.Context, _ *durable.Engine) error { return unavailable(ctx) },
		"await": func(ctx context.Context, e *durable.Engine) error {
			if err := durable.Start(ctx, e, "nobody", "child", 1); err != nil {
				return err
			}
			_, err := durable.Await[int](ctx, e, "child")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := startProcess(t, memory.New())
				durable.Handle(p.Engine, "job", func(ctx context.Context, _ int) (int, error) {
					return 0, job(ctx, p.Engine)
				}, durable.Timeout(time.Hour+5*time.Second))
				if err := durable.Start(t.Context(), p.Engine, "job", "one", 1); err != nil {
					t.Fatal(err)
				}
				defer work(t, p.Engine)()
				start := time.Now()
				_, err := durable.Await[int](t.Context(), p.Engine, "one")
				wantError(t, err, durable.ErrTimedOut)
				wantAbout(t, "the run", time.Since(start), time.Hour+5*time.Second, time.Hour+7*time.Second)
				wantRun(t, p.Engine, "one", storage.StatusTimedOut)
			})
		})
	}
	t.Run("Run", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := startProcess(t, memory.New())
			parked := wantAs[*durable.ParkedError](t, p.run("one", unavailable, durable.Timeout(time.Hour)))
			if want := epoch.Add(time.Hour); !parked.Until.Equal(want) {
				t.Errorf("got a run that is parked until %v, want %v", parked.Until, want)
			}
			time.Sleep(time.Until(parked.Until))
			wantError(t, p.run("one", unavailable), durable.ErrTimedOut)
		})
	})
}

// The time during which a run is paused counts. The timeout does not end the pause:
// it ends the run when that is executed again.
func TestTimeoutWhilePaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		durable.Handle(p.Engine, "double", double)
		for _, id := range []string{"short", "long"} {
			if err := durable.Start(t.Context(), p.Engine, "double", id, 21, durable.Timeout(time.Hour)); err != nil {
				t.Fatal(err)
			}
			if err := p.Admin().Pause(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		defer work(t, p.Engine)()
		resume := func(id string) {
			t.Helper()
			wantRun(t, p.Engine, id, storage.StatusPaused)
			if err := p.Admin().Resume(t.Context(), id); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute)
		}
		time.Sleep(30 * time.Minute)
		resume("short")
		wantRun(t, p.Engine, "short", storage.StatusSucceeded)
		time.Sleep(time.Hour)
		resume("long")
		wantRun(t, p.Engine, "long", storage.StatusTimedOut)
	})
}

// The options of Handle apply to runs that a process without the handler starts.
// Those of Start go before them.
func TestHandleOptionsOfOtherProcess(t *testing.T) {
	budget := durable.Budget(job.BudgetPolicy{Retries: 1, PerUnit: 1})
	late := durable.StartAt(epoch.Add(time.Hour))
	for _, c := range []struct {
		name           string
		start          []durable.RunOption
		deadline, keep time.Duration // since the start, and since the end
		attempts       int
	}{
		{"of the handler", []durable.RunOption{late}, 2 * time.Hour, time.Hour, 2},
		{"of Start", []durable.RunOption{
			late, durable.Timeout(3 * time.Hour), durable.Retention(time.Minute),
			durable.Budget(job.BudgetPolicy{Retries: 2, PerUnit: 2}),
		}, 3 * time.Hour, time.Minute, 3},
		{"no limit", []durable.RunOption{late, durable.Timeout(0), durable.Retention(0)}, 0, 1, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := memory.New()
				if err := durable.Start(t.Context(), newEngine(t, m), "job", "one", 1, c.start...); err != nil {
					t.Fatal(err)
				}
				p := startProcess(t, m)
				var j journal
				durable.Handle(p.Engine, "job", func(ctx context.Context, _ int) (int, error) {
					err := oneStep(idempotent("call", 9, time.Second), failing(&j, 9))(ctx)
					if !errors.Is(err, job.ErrBudget) {
						t.Errorf("got error %v, want that the budget is empty", err)
					}
					return 0, nil
				}, durable.Timeout(2*time.Hour), durable.Retention(time.Hour), budget)
				defer work(t, p.Engine)()
				if _, err := durable.Await[int](t.Context(), p.Engine, "one"); err != nil {
					t.Fatal(err)
				}
				j.want(t, "call", []int{1, 2, 3}[:c.attempts]...)
				r := wantRun(t, p.Engine, "one", storage.StatusSucceeded)
				want := time.Time{}
				if c.deadline > 0 {
					want = epoch.Add(time.Hour + c.deadline)
				}
				if !r.Deadline.Equal(want) {
					t.Errorf("got the deadline %v, want %v", r.Deadline, want)
				}
				if got := r.Due.Sub(r.Ended); got != c.keep {
					t.Errorf("the run is kept for %v, want %v", got, c.keep)
				}
			})
		})
	}
}

// A run whose timeout, which its handler gives, has passed before a worker claims it
// is not executed.
func TestHandleTimeoutBeforeClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		if err := durable.Start(t.Context(), newEngine(t, m), "job", "one", 1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		p := startProcess(t, m)
		durable.Handle(p.Engine, "job", func(context.Context, int) (int, error) {
			t.Error("called")
			return 0, nil
		}, durable.Timeout(time.Hour))
		defer work(t, p.Engine)()
		_, err := durable.Await[int](t.Context(), p.Engine, "one")
		wantError(t, err, durable.ErrTimedOut)
	})
}
