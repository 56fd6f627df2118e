package main

import (
	"context"
	"errors"
	"strconv"

	"github.com/retrygen/retrygen/contrib/postgres"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
)

// chargeJob is the name of the handler.
const chargeJob = "charge"

// runs is a jobSystem: runs that one engine starts and others execute, each over a store
// of its own, as if they were other processes.
type runs struct {
	starter *engine
	workers []*engine
	slots   int
	ended   chan error // a value for each worker that works
	quit    context.CancelFunc
}

// openJobs opens a system whose runs are jobs, which are their own step.
func openJobs(ctx context.Context, url string, b *board, engines, slots int) (jobSystem, error) {
	id := func(unit int) genapi.StepID { return genapi.ID(unit) }
	do := func(_ context.Context, unit int) (receipt, error) { return b.do(unit, 1) }
	return openRuns(ctx, url, b, engines, slots, func(e *durable.Engine) { durable.Job(e, chargeJob, &charge, id, do) })
}

// openTwoSteps opens a system whose runs have two steps.
func openTwoSteps(options ...durable.HandleOption) jobOpener {
	return func(ctx context.Context, url string, b *board, engines, slots int) (jobSystem, error) {
		register := func(e *durable.Engine) { durable.Handle(e, chargeJob, settleTwice(b), options...) }
		return openRuns(ctx, url, b, engines, slots, register)
	}
}

// settleTwice returns the function of runs with two steps.
func settleTwice(b *board) func(ctx context.Context, unit int) (receipt, error) {
	return func(ctx context.Context, unit int) (receipt, error) {
		reserve := func(context.Context) (receipt, error) { return b.receipt(unit), nil }
		_, err := genapi.Call(ctx, &charge, genapi.ID("reserve"), genapi.Arguments("amount", amount), reserve)
		if err != nil {
			return receipt{}, err
		}
		do := func(context.Context) (receipt, error) { return b.do(unit, 1) }
		return genapi.Call(ctx, &charge, genapi.ID("capture"), genapi.Arguments("amount", amount), do)
	}
}

func openRuns(
	ctx context.Context, url string, b *board, engines, slots int, register func(*durable.Engine),
) (jobSystem, error) {
	r := &runs{slots: slots, ended: make(chan error, engines)}
	open := func(options ...durable.Option) (*engine, error) {
		store, err := postgres.Open(ctx, url)
		if err != nil {
			return nil, err
		}
		inner, err := durable.New(store, options...)
		return &engine{Engine: inner, store: store}, err
	}
	var err error
	if r.starter, err = open(); err != nil {
		return nil, err
	}
	for range engines {
		worker, err := open(durable.OnEvent(func(_ context.Context, ev events.Event) {
			if ev.Kind == events.EventCompleted {
				b.record(strconv.Atoi(ev.Run))
			}
		}))
		if err != nil {
			return nil, errors.Join(err, r.close())
		}
		r.workers = append(r.workers, worker)
		register(worker.Engine)
	}
	return r, nil
}

func (r *runs) start(ctx context.Context, unit int) error {
	return durable.Start(ctx, r.starter.Engine, chargeJob, strconv.Itoa(unit), unit)
}

func (r *runs) work(ctx context.Context) error {
	ctx, r.quit = context.WithCancel(ctx)
	for _, worker := range r.workers {
		go func() { r.ended <- worker.Work(ctx, durable.MaxRuns(r.slots)) }()
	}
	return nil
}

func (r *runs) close() (err error) {
	if r.quit != nil {
		r.quit()
		for range r.workers {
			err = errors.Join(err, <-r.ended)
		}
	}
	for _, e := range append(r.workers, r.starter) {
		err = errors.Join(err, e.close())
	}
	return err
}
