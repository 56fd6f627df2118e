//go:build unix

package main

import (
	"context"
	"errors"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// fillJobs executes runs that are one step each: one that succeeds at once, one that
// fails, and one whose function has not returned when the process ends.
func fillJobs(ctx context.Context, store storage.Store) error {
	e, err := durable.New(store)
	if err != nil {
		return err
	}
	policy := &genapi.StepPolicy{Name: "Copy", Policy: &retry.Policy{Name: "copy"}, Idempotent: true}
	called := make(chan struct{})
	durable.Job(e, "copy", policy, func(shard string) genapi.StepID { return genapi.ID(shard) },
		func(ctx context.Context, shard string) (string, error) {
			switch shard {
			case "bad":
				return "", retry.Permanent(errors.New("no such shard"))
			case "slow":
				close(called)
				<-ctx.Done()
				return "", ctx.Err()
			}
			return "rows of " + shard, nil
		})
	go e.Work(ctx) // until the process ends
	for _, shard := range []string{"good", "bad", "slow"} {
		if err := durable.Start(ctx, e, "copy", "copy/"+shard, shard); err != nil {
			return err
		}
	}
	_, err = durable.Await[string](ctx, e, "copy/good")
	_, failed := durable.Await[string](ctx, e, "copy/bad")
	if _, ok := errors.AsType[*durable.RunError](failed); ok {
		failed = nil
	}
	<-called
	return errors.Join(err, failed)
}
