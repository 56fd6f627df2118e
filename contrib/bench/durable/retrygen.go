package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/retrygen/retrygen/contrib/sqlite"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
)

// charge is what retrygen generates from
//
//	charge: {max_attempts: 3, initial_delay: 0s, durable: true}
var charge = durable.StepPolicy{
	Name:       "charge",
	Policy:     &retry.Policy{Name: "charge", Schedule: retry.Schedule{MaxAttempts: 3, InitialDelay: retry.None}},
	Idempotent: true,
}

// An engine is a system: durable steps of runs.
type engine struct {
	*durable.Engine
	store durable.Store
	work  *work
	runs  int
}

// openEngine is the opener of retrygen on SQLite.
func openEngine(_ context.Context, dir string, w *work, _ int) (system, error) {
	return newEngine(dir, w)
}

func newEngine(dir string, w *work) (*engine, error) {
	store, err := sqlite.Open(filepath.Join(dir, "retrygen.db"))
	if err != nil {
		return nil, err
	}
	e, err := durable.New(store)
	return &engine{Engine: e, store: store, work: w}, err
}

func (e *engine) execute(ctx context.Context, n, callers int) error {
	e.runs++
	return e.Run(ctx, fmt.Sprint("settle-", e.runs), func(ctx context.Context) error {
		return share(n, callers, func(i int) error {
			_, err := e.charge(ctx, &charge, i)
			return err
		})
	})
}

// charge executes a unit as a step of the run in ctx.
func (e *engine) charge(ctx context.Context, policy *durable.StepPolicy, unit int) (receipt, error) {
	attempt := 0
	return durable.Call(ctx, policy, durable.ID(unit), durable.Arguments(amount), func(context.Context) (receipt, error) {
		attempt++
		return e.work.do(unit, attempt)
	})
}

func (e *engine) close() error {
	return errors.Join(e.Engine.Close(context.Background()), e.store.Close())
}
