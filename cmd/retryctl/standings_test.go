package main

import (
	"context"
	"errors"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
)

// fillStandings executes runs on a store, so that there is one for each reason why a
// run does not go on that needs more than one execution of a run, or another store.
func fillStandings(ctx context.Context, store durable.Store) error {
	e, err := durable.New(store)
	if err != nil {
		return err
	}
	policy := func(attempts int, delay time.Duration) *durable.StepPolicy {
		return &durable.StepPolicy{
			Name: "Charge", Idempotent: true, ParkAfter: time.Second,
			Policy: &retry.Policy{
				Name: "charge", RetryUnknown: true,
				Schedule: retry.Schedule{MaxAttempts: attempts, InitialDelay: delay, MaxDelay: 4 * time.Hour},
			},
		}
	}
	call := func(ctx context.Context, s *durable.StepPolicy, id string, err error) error {
		_, err = durable.Call(ctx, s, durable.ID(id), durable.Digest{},
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
	return e.Close(ctx)
}
