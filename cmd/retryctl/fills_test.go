//go:build unix

package main

import (
	"context"
	"errors"
	"strings"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// fillRefused executes a step that its breaker refuses, and one that is interrupted.
func fillRefused(ctx context.Context, store storage.Store) error {
	e, err := durable.New(store)
	if err != nil {
		return err
	}
	charge := genapi.StepPolicy{
		Name: "Charge", Idempotent: true,
		Policy: &retry.Policy{
			Name: "charge", RetryOn: []retry.Class{retry.ClassAny, retry.ClassBreakerOpen},
			Schedule: retry.Schedule{MaxAttempts: 4, InitialDelay: time.Microsecond},
		},
		Breaker: &breaker.Policy{Name: "bank", Failures: 1, OpenFor: time.Hour},
	}
	load := genapi.StepPolicy{Name: "Load", Policy: &retry.Policy{Name: "load"}, Idempotent: true}
	_ = e.Run(ctx, "refused", func(ctx context.Context) error {
		_, err := genapi.Call(ctx, &charge, genapi.ID("o1"), genapi.Digest{},
			func(context.Context) (int, error) { return 0, errors.New("down") })
		return err
	})
	ending, cancel := context.WithCancel(ctx)
	defer cancel()
	_ = e.Run(ending, "interrupted", func(ctx context.Context) error {
		_, err := genapi.Call(ctx, &load, genapi.ID("o1"), genapi.Digest{},
			func(ctx context.Context) (int, error) {
				cancel()
				<-ctx.Done()
				return 0, ctx.Err()
			})
		return err
	})
	return e.Close(ctx)
}

// fillValues executes a run with an input, results, and secrets in both.
func fillValues(ctx context.Context, store storage.Store) error {
	e, err := durable.New(store)
	if err != nil {
		return err
	}
	type order struct {
		ID    string `json:"id"`
		Token string `json:"api_token"`
		IBAN  string `json:"iban"`
	}
	durable.Handle(e, "orders", func(ctx context.Context, in order) (string, error) {
		_, err := durable.Step(ctx, "charge", nil, func(context.Context) (order, error) { return in, nil })
		if err != nil {
			return "", err
		}
		return durable.Step(ctx, "report", nil, func(context.Context) (string, error) {
			return "begin\x1b[2J" + strings.Repeat("x", 9<<10) + "end", nil
		})
	})
	if err := durable.Start(ctx, e, "orders", "order/1", order{"o-1", "s3cr3t", "DE17"}); err != nil {
		return err
	}
	working, stop := context.WithCancel(ctx)
	worked := make(chan error)
	go func() { worked <- e.Work(working) }()
	_, err = durable.Await[string](ctx, e, "order/1")
	stop()
	return errors.Join(err, <-worked, e.Close(ctx))
}
