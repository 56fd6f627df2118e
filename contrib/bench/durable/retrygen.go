package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/retrygen/retrygen/contrib/postgres"
	"github.com/retrygen/retrygen/contrib/sqlite"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/events"
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

// chargeJob is the name of the handler.
const chargeJob = "charge"

// runs is a jobSystem: runs with one step, which one engine starts and another one
// executes, as if it were another process.
type runs struct {
	starter, worker *engine
	workers         int
	ended           <-chan error
	quit            context.CancelFunc
}

func openRuns(ctx context.Context, url string, b *board, workers int) (jobSystem, error) {
	r := &runs{workers: workers}
	for _, e := range []**engine{&r.starter, &r.worker} {
		store, err := postgres.Open(ctx, url)
		if err != nil {
			return nil, err
		}
		options := []durable.Option{}
		if e == &r.worker {
			options = append(options, durable.OnEvent(func(_ context.Context, ev events.Event) {
				if ev.Kind == events.EventCompleted {
					b.record(strconv.Atoi(ev.Run))
				}
			}))
		}
		inner, err := durable.New(store, options...)
		if err != nil {
			return nil, err
		}
		*e = &engine{Engine: inner, store: store}
	}
	durable.Handle(r.worker.Engine, chargeJob, func(ctx context.Context, unit int) (receipt, error) {
		do := func(context.Context) (receipt, error) { return b.do(unit, 1) }
		return genapi.Call(ctx, &charge, genapi.ID(unit), genapi.Arguments("amount", amount), do)
	})
	return r, nil
}

func (r *runs) start(ctx context.Context, unit int) error {
	return durable.Start(ctx, r.starter.Engine, chargeJob, strconv.Itoa(unit), unit)
}

func (r *runs) work(ctx context.Context) error {
	ctx, r.quit = context.WithCancel(ctx)
	ended := make(chan error, 1)
	r.ended = ended
	go func() { ended <- r.worker.Work(ctx, durable.MaxRuns(r.workers)) }()
	return nil
}

func (r *runs) close() (err error) {
	if r.quit != nil {
		r.quit()
		err = <-r.ended
	}
	return errors.Join(err, r.starter.close(), r.worker.close())
}
