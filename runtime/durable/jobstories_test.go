package durable_test

import (
	"context"
	"errors"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/job"
)

// jobStories are stories in which no process dies: see TestJobTwins.
var jobStories = []jobStory{
	{"success", func(w *twin) {
		w.begin(fails(0, nil))
		w.works()
		time.Sleep(time.Minute)
	}},
	{"failures", func(w *twin) {
		w.begin(fails(2, errAway))
		w.works()
		time.Sleep(1500 * time.Millisecond)
		w.look()
		time.Sleep(time.Minute)
	}},
	{"exhausted", func(w *twin) {
		w.begin(fails(3, errAway))
		w.works()
		time.Sleep(time.Minute)
	}},
	{"permanent", func(w *twin) {
		w.begin(fails(3, retry.Permanent(errAway)))
		w.works()
		time.Sleep(time.Minute)
		w.check("requeue", w.admin.Admin().Requeue(w.Context(), "one", twinID))
		w.set(fails(0, nil))
		time.Sleep(time.Minute)
	}},
	{"dead letter", func(w *twin) {
		w.policy.OnExhausted = genapi.ExhaustedDeadLetter
		w.begin(fails(4, errAway))
		w.works()
		time.Sleep(time.Minute)
		w.look()
		w.check("requeue", w.admin.Admin().Requeue(w.Context(), "one", twinID))
		time.Sleep(time.Minute)
	}},
	{"exhausted, then resolved", func(w *twin) {
		w.policy.OnExhausted = genapi.ExhaustedPause
		w.begin(fails(3, errAway))
		w.works()
		time.Sleep(time.Minute)
		w.look()
		w.check("resolve", w.admin.Admin().Resolve(w.Context(), "one", twinID, admin.Succeeded(5)))
		time.Sleep(time.Minute)
	}},
	{"attempt timeout", func(w *twin) {
		w.policy.Policy.AttemptTimeout = time.Second
		w.begin(func(ctx context.Context, _, attempt int) error {
			if attempt == 1 {
				<-ctx.Done()
			}
			return ctx.Err()
		})
		w.works()
		time.Sleep(time.Minute)
	}},
	{"call timeout", func(w *twin) {
		w.policy.Policy.Timeout = 2500 * time.Millisecond
		w.begin(fails(9, errAway))
		w.works()
		time.Sleep(time.Minute)
	}},
	{"call timeout during the first attempt", func(w *twin) {
		w.policy.Policy.Timeout = 2500 * time.Millisecond
		w.begin(func(ctx context.Context, _, _ int) error {
			<-ctx.Done()
			return ctx.Err()
		})
		w.works()
		time.Sleep(time.Minute)
	}},
	{"canceled, success", func(w *twin) {
		w.during(nil, func(c *admin.Client) error { return c.Cancel(w.Context(), "one") })
	}},
	{"canceled, failure", func(w *twin) {
		w.during(errAway, func(c *admin.Client) error { return c.Cancel(w.Context(), "one") })
	}},
	{"paused, success", func(w *twin) {
		w.during(nil, func(c *admin.Client) error { return c.Pause(w.Context(), "one") })
	}},
	{"paused, failure", func(w *twin) {
		w.during(errAway, func(c *admin.Client) error { return c.Pause(w.Context(), "one") })
		w.look()
		w.check("resume", w.admin.Admin().Resume(w.Context(), "one"))
		time.Sleep(time.Minute)
	}},
	{"resolved while it executes", func(w *twin) {
		w.during(nil, func(c *admin.Client) error { return c.Resolve(w.Context(), "one", "charge", admin.Retry()) })
	}},
	{"paused and resumed", func(w *twin) {
		w.begin(func(context.Context, int, int) error {
			time.Sleep(15 * time.Second)
			return nil
		})
		w.works()
		time.Sleep(5 * time.Second)
		w.check("pause", w.admin.Admin().Pause(w.Context(), "one"))
		time.Sleep(6 * time.Second) // the worker renews its lease
		w.check("resume", w.admin.Admin().Resume(w.Context(), "one"))
		time.Sleep(time.Minute)
	}},
	{"repeated", func(w *twin) {
		w.begin(fails(0, nil))
		w.works()
		time.Sleep(time.Minute)
		w.look()
		w.check("requeue", w.admin.Admin().Requeue(w.Context(), "one", twinID))
		w.check("repeat", w.admin.Admin().Requeue(w.Context(), "one", twinID, admin.Repeat(), admin.NewKey()))
		time.Sleep(time.Minute)
	}},
	{"resolved after its success", func(w *twin) {
		w.begin(fails(0, nil))
		w.works()
		time.Sleep(time.Minute)
		w.check("resolve", w.admin.Admin().Resolve(w.Context(), "one", twinID, admin.Failed(errAway)))
		w.check("discard", w.admin.Admin().Discard(w.Context(), "one", twinID, admin.By("ada", "")))
		w.check("cancel", w.admin.Admin().Cancel(w.Context(), "one"))
		w.check("resume", w.admin.Admin().Resume(w.Context(), "one"))
	}},
	{"budget of the run", func(w *twin) {
		w.begin(fails(2, errAway), durable.Budget(job.BudgetPolicy{Retries: 1}))
		w.works()
		time.Sleep(time.Minute)
	}},
	{"budget of the handler", func(w *twin) {
		w.begin(fails(2, errAway))
		w.works(durable.Budget(job.BudgetPolicy{Retries: 1}))
		time.Sleep(time.Minute)
	}},
	{"breaker of the process", func(w *twin) {
		w.policy.Shared.Breaker = breaker.New(breaker.Policy{Name: "up", Failures: 1, OpenFor: 5 * time.Second}.Effective())
		w.policy.Shared.Breaker.ForceOpen()
		w.begin(fails(0, nil))
		w.works()
		time.Sleep(time.Minute)
		w.look()
		w.policy.Shared.Breaker.Reset()
		time.Sleep(10 * time.Minute)
	}},
	{"shared breaker", func(w *twin) {
		p := breaker.Policy{Name: "up", Failures: 1, OpenFor: 5 * time.Second}.Effective()
		w.policy.Breaker = &p
		w.begin(fails(1, errAway))
		w.works()
		time.Sleep(time.Minute)
	}},
	{"shared budget", func(w *twin) {
		p := budget.Policy{Name: "all", Ratio: 0.1}.Effective()
		w.policy.Budget = &p
		w.begin(fails(1, errAway))
		w.works()
		time.Sleep(time.Minute)
	}},
	{"failures are recorded", func(w *twin) {
		w.policy.Record = genapi.RecordFailures
		w.begin(fails(1, errAway))
		w.works()
		time.Sleep(time.Minute)
	}},
	{"parked", func(w *twin) {
		w.policy.Policy.Schedule.InitialDelay, w.policy.ParkAfter = 5*time.Minute, time.Minute
		w.begin(fails(1, errAway))
		w.works()
		time.Sleep(time.Minute)
		w.look()
		time.Sleep(10 * time.Minute)
	}},
	{"later", func(w *twin) {
		w.begin(fails(1, errAway), durable.StartAt(time.Now().Add(5*time.Minute)))
		w.works(durable.Timeout(time.Minute))
		time.Sleep(time.Minute)
		w.look()
		time.Sleep(10 * time.Minute)
	}},
	{"expired", func(w *twin) {
		w.begin(fails(0, nil))
		w.works(durable.Retention(time.Minute))
		time.Sleep(5 * time.Minute)
	}},
	{"children", func(w *twin) {
		w.begin(func(ctx context.Context, n, _ int) error {
			if n == 7 {
				return durable.Start(ctx, w.admin, "job", "two", 8)
			}
			return nil
		})
		w.works()
		time.Sleep(time.Minute)
	}},
	{"awaited child", func(w *twin) {
		w.timeless = true
		w.set(fails(1, errAway))
		p := w.process()
		durable.Handle(p.Engine, "parent", func(ctx context.Context, n int) (int, error) {
			if err := durable.Start(ctx, p.Engine, "job", "one", n); err != nil {
				return 0, err
			}
			return durable.Await[int](ctx, p.Engine, "one")
		})
		if err := durable.Start(w.Context(), w.admin, "parent", "outer", 7); err != nil {
			w.Fatal(err)
		}
		go func() { _ = p.Work(p.ctx) }()
		time.Sleep(time.Minute)
	}},
	{"units", func(w *twin) {
		w.timeless = true
		w.policy.OnExhausted = genapi.ExhaustedDeadLetter
		w.set(func(_ context.Context, n, attempt int) error {
			switch {
			case n == 1:
				return nil
			case n == 2 && attempt == 1, n == 3 && attempt <= 4:
				return errAway
			}
			return nil
		})
		p := w.process()
		durable.Handle(p.Engine, "group", func(ctx context.Context, _ int) (int, error) {
			g := importGroup(job.GroupPolicy{Workers: 2, OnUnitFailure: job.FailureDeadLetter})
			out, err := durable.GroupRuns[int, int](ctx, g, "job",
				[]string{"a", "b", "c"}, func(unit string) int { return int(unit[0]-'a') + 1 }, nil)
			return out.Completed, err
		})
		if err := durable.Start(w.Context(), w.admin, "group", "outer", 7); err != nil {
			w.Fatal(err)
		}
		go func() { _ = p.Work(p.ctx) }()
		time.Sleep(time.Minute)
		w.look()
		for r, err := range w.admin.Admin().RequeueDead(w.Context(), admin.Filter{}) {
			w.note("requeued %v %v", r.Err, err)
		}
		time.Sleep(time.Minute)
	}},
	{"limited", func(w *twin) {
		w.begin(fails(1, errAway))
		w.works(durable.Concurrency(1), durable.StartRate(1, time.Second, 1))
		time.Sleep(time.Minute)
	}},
	{"canceled by its engine", func(w *twin) {
		w.begin(func(ctx context.Context, _, _ int) error {
			<-ctx.Done()
			return ctx.Err()
		})
		p := w.works()
		time.Sleep(5 * time.Second)
		w.check("cancel", p.Admin().Cancel(w.Context(), "one"))
		time.Sleep(time.Minute)
	}},
	{"durable calls", func(w *twin) {
		w.begin(func(ctx context.Context, n, attempt int) error {
			_, err := call(ctx, w.policy, func(context.Context) (int, error) { return n, nil })
			w.check("step", err)
			w.check("sleep", durable.Sleep(ctx, "nap", time.Second))
			if attempt == 1 {
				return errAway
			}
			return nil
		})
		w.works()
		time.Sleep(time.Minute)
	}},
	{"resumed after its failure", func(w *twin) {
		w.begin(fails(3, errAway))
		w.works()
		time.Sleep(time.Minute)
		w.check("resume", w.admin.Admin().Resume(w.Context(), "one"))
		time.Sleep(time.Minute)
		w.check("requeue", w.admin.Admin().RequeueFailed(w.Context(), "one"))
		time.Sleep(time.Minute)
	}},
}

// fails returns the function of a step whose first attempts fail.
func fails(times int, err error) func(context.Context, int, int) error {
	return func(_ context.Context, _, attempt int) error {
		time.Sleep(10 * time.Millisecond)
		if attempt <= times {
			return err
		}
		return nil
	}
}

var errAway = errors.New("unavailable")

// during does something during the first attempt, which ends with err.
func (w *twin) during(err error, do func(c *admin.Client) error) {
	w.begin(func(_ context.Context, _, attempt int) error {
		time.Sleep(9 * time.Second) // before the next renewal
		if attempt == 1 {
			return err
		}
		return nil
	})
	w.works()
	time.Sleep(5 * time.Second)
	w.check("done", do(w.admin.Admin()))
	w.look()
	time.Sleep(time.Minute)
}
