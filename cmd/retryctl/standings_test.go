package main

import (
	"context"
	"errors"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// fillStandings executes runs on a store, so that there is one for each reason why a
// run does not go on that needs more than one execution of a run, or another store.
func fillStandings(ctx context.Context, store storage.Store) error {
	e, err := durable.New(store)
	if err != nil {
		return err
	}
	policy := func(attempts int, delay time.Duration) *genapi.StepPolicy {
		return &genapi.StepPolicy{
			Name: "Charge", Idempotent: true, ParkAfter: time.Second,
			Policy: &retry.Policy{
				Name: "charge", RetryUnknown: true,
				Schedule: retry.Schedule{MaxAttempts: attempts, InitialDelay: delay, MaxDelay: 4 * time.Hour},
			},
		}
	}
	call := func(ctx context.Context, s *genapi.StepPolicy, id string, err error) error {
		_, err = genapi.Call(ctx, s, genapi.ID(id), genapi.Digest{},
			func(context.Context) (string, error) { return "receipt", err })
		return err
	}
	down := errors.New("connection refused")

	// The policy file is changed between the steps of a run.
	_ = e.Run(ctx, "changed", func(ctx context.Context) error {
		return errors.Join(call(ctx, policy(3, time.Hour), "o1", nil), down)
	})
	_ = e.Run(ctx, "changed", func(ctx context.Context) error {
		return call(ctx, policy(5, 2*time.Hour), "o2", down)
	})

	// A breaker refuses the attempts of two runs: of one that a worker should execute.
	refused := policy(3, 3*time.Hour)
	refused.Name, refused.Policy.RetryOn = "Refund", []retry.Class{retry.ClassAny, retry.ClassBreakerOpen}
	refused.Breaker = &breaker.Policy{Name: "payments", Failures: 1, OpenFor: time.Hour}
	_ = e.Run(ctx, "first", func(ctx context.Context) error { return call(ctx, refused, "r1", down) })
	_ = e.Run(ctx, "refused", func(ctx context.Context) error { return call(ctx, refused, "r2", nil) })

	// The budget of a run is empty.
	spent := policy(3, time.Microsecond)
	spent.OnExhausted = genapi.ExhaustedPause
	_ = e.Run(ctx, "spent", func(ctx context.Context) error { return call(ctx, spent, "o1", down) },
		durable.Budget(job.BudgetPolicy{Retries: 1}))

	// Runs are paused and canceled with their parents, and start later.
	later := durable.StartAt(time.Now().Add(2 * time.Hour))
	for _, id := range []string{"paused", "canceled"} {
		_ = e.Run(ctx, id, func(ctx context.Context) error {
			return errors.Join(durable.Start(ctx, e, "import", id+"/child", 1, later), down)
		})
	}
	// The function of a run panics, and the program survives it.
	func() {
		defer func() { _ = recover() }()
		_ = e.Run(ctx, "panics", func(context.Context) error { panic("no rate for\nEUR") })
	}()
	// A run waits for a signal.
	_ = e.Run(ctx, "refund", func(ctx context.Context) error {
		_, err := durable.Wait[bool](ctx, "approve", 24*time.Hour)
		return err
	})
	return errors.Join(
		e.Admin().Pause(ctx, "paused", admin.By("ann", "the bank is down")),
		e.Admin().Cancel(ctx, "canceled", admin.By("ann", "old")),
		durable.Start(ctx, e, "import", "later", 1, later),
		e.Close(ctx),
	)
}
