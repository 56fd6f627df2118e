package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/retrygen/retrygen/contrib/postgres"
	"github.com/retrygen/retrygen/contrib/sqlite"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// charge is what retrygen generates from
//
//	charge: {max_attempts: 3, initial_delay: 0s, durable: true}
var charge = genapi.StepPolicy{
	Name:       "charge",
	Policy:     &retry.Policy{Name: "charge", Schedule: retry.Schedule{MaxAttempts: 3, InitialDelay: retry.None}},
	Idempotent: true,
}

// An engine is a system: durable steps of runs.
type engine struct {
	*durable.Engine
	store  storage.Store
	work   *work
	runs   int
	budget bool // each run has a budget of one retry for each unit
}

// openEngine is the opener of retrygen on SQLite.
func openEngine(_ context.Context, dir string, w *work, _ int) (system, error) {
	return openSQLiteEngine(dir, w)
}

func openSQLiteEngine(dir string, w *work) (*engine, error) {
	store, err := sqlite.Open(filepath.Join(dir, "retrygen.db"))
	if err != nil {
		return nil, err
	}
	return newEngine(store, w)
}

func newEngine(store storage.Store, w *work) (*engine, error) {
	e, err := durable.New(store)
	return &engine{Engine: e, store: store, work: w}, err
}

func openEnginePG(ctx context.Context, url string, w *work, _ int) (system, error) {
	store, err := postgres.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	return newEngine(store, w)
}

// openBudgetPG opens an engine whose units share a budget.
func openBudgetPG(ctx context.Context, url string, w *work, _ int) (system, error) {
	store, err := postgres.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	e, err := newEngine(store, w)
	e.budget = true
	return e, err
}

func (e *engine) execute(ctx context.Context, n, callers int) error {
	var options []durable.RunOption
	if e.budget {
		options = append(options, durable.Budget(job.BudgetPolicy{Retries: n, PerUnit: 1, MaxRetries: retry.Unlimited}))
	}
	e.runs++
	return e.Run(ctx, fmt.Sprint("settle-", e.runs), func(ctx context.Context) error {
		err := share(n, callers, func(i int) error {
			_, err := e.charge(ctx, &charge, i)
			return err
		})
		if err == nil && e.budget {
			err = checkSpent(ctx)
		}
		return err
	}, options...)
}

// checkSpent checks that the budget has granted exactly as many retries as it has:
// it refuses the next one.
func checkSpent(ctx context.Context) error {
	attempts := 0
	_, err := genapi.Call(ctx, &charge, genapi.ID("next"), genapi.Digest{}, func(context.Context) (receipt, error) {
		attempts++
		return receipt{}, errUnavailable
	})
	if attempts != 1 || !errors.Is(err, job.ErrBudget) {
		return fmt.Errorf("the budget granted a retry too many: %d attempts and error %v", attempts, err)
	}
	return nil
}

// charge executes a unit as a step of the run in ctx.
func (e *engine) charge(ctx context.Context, policy *genapi.StepPolicy, unit int) (receipt, error) {
	attempt := 0
	do := func(context.Context) (receipt, error) {
		attempt++
		return e.work.do(unit, attempt)
	}
	return genapi.Call(ctx, policy, genapi.ID(unit), genapi.Arguments("amount", amount), do)
}

func (e *engine) close() error {
	return errors.Join(e.Engine.Close(context.Background()), e.store.Close())
}
