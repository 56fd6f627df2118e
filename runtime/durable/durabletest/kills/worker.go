//go:build unix

package kills

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// Lease is the lease of the workers. It is short, so that workers can be stopped or cut
// off from the store for longer than their lease.
const Lease = time.Second

// Work executes runs as a worker process does, until the process is killed. It writes the
// lines of the ledger to out, each with one call to Write.
func Work(ctx context.Context, store storage.Store, out io.Writer) error {
	e, err := durable.New(store, durable.Lease(Lease), durable.OnEvent(func(_ context.Context, ev events.Event) {
		if ev.Kind == events.EventCompleted {
			fmt.Fprintf(out, "end %s\n", ev.Run)
		}
	}))
	if err != nil {
		return err
	}
	register(e, out)
	for ctx.Err() == nil { // the first lease may fail while a server restarts
		if err := e.Work(ctx, durable.MaxRuns(8), durable.Poll(50*time.Millisecond)); err == nil {
			break
		}
	}
	return nil
}

// The handlers, and the prefixes of the ids of their runs.
const (
	stepsHandler  = "steps"  // steps that fail once
	jobHandler    = "job"    // jobs; every fifth fails once
	chargeHandler = "charge" // jobs that must not be repeated
	heldHandler   = "held"   // steps whose successes wait: see durable.Hold
)

var handlers = []string{stepsHandler, jobHandler, jobHandler, chargeHandler, heldHandler, jobHandler}

// stepsOfRun is the number of steps of a run of stepsHandler or heldHandler.
const stepsOfRun = 3

// schedule is short.
var schedule = retry.Schedule{MaxAttempts: 3, InitialDelay: 5 * time.Millisecond, MaxDelay: 5 * time.Millisecond}

var (
	unit = genapi.StepPolicy{
		Name: "unit", Idempotent: true, LostMax: 1000, Policy: &retry.Policy{Name: "unit", Schedule: schedule},
	}
	charge = genapi.StepPolicy{Name: "charge", Policy: &retry.Policy{Name: "charge", Schedule: schedule}}
)

// manyRetries is a budget that counts them.
var manyRetries = job.BudgetPolicy{Retries: 1000, PerUnit: 1000, MaxRetries: 1000, MaxPerUnit: 1000}

func register(e *durable.Engine, out io.Writer) {
	w := worker{out}
	durable.Handle(e, stepsHandler, w.steps, durable.Budget(manyRetries))
	durable.Handle(e, heldHandler, w.held, durable.Hold())
	durable.Job(e, jobHandler, &unit, func(n int) genapi.StepID { return genapi.ID(n) },
		func(ctx context.Context, n int) (int, error) { return w.call(ctx, n, n%5 == 0) })
	durable.Job(e, chargeHandler, &charge, nil,
		func(ctx context.Context, n int) (int, error) { return w.call(ctx, n, false) })
}

// jobStep returns the id of the step of a run of jobHandler.
func jobStep(run string) string {
	n, _ := strconv.Atoi(strings.TrimPrefix(run, jobHandler+"-"))
	return fmt.Sprintf("%s/%d", unit.Name, n)
}

type worker struct{ out io.Writer }

// call is the function of a step: it returns n, unless it fails in its first attempt.
func (w worker) call(ctx context.Context, n int, fails bool) (int, error) {
	info, _ := durable.Current(ctx)
	fmt.Fprintf(w.out, "call %s %s %d\n", info.Run, info.Step, info.Attempt)
	<-time.After(2 * time.Millisecond) // the work
	if fails && info.Attempt == 1 {
		return 0, errors.New("connection refused")
	}
	return n, nil
}

// steps is the function of a run with several steps.
func (w worker) steps(ctx context.Context, n int) (int, error) {
	run, _ := durable.Current(ctx)
	for i := range stepsOfRun {
		id, attempt := "", 0
		_, err := genapi.Call(ctx, &unit, genapi.ID(i), genapi.Arguments(), func(ctx context.Context) (int, error) {
			info, _ := durable.Current(ctx)
			id, attempt = info.Step, info.Attempt
			return w.call(ctx, i, true)
		})
		if err != nil {
			return 0, err
		}
		if attempt > 0 { // it was not executed before
			fmt.Fprintf(w.out, "done %s %s %d\n", run.Run, id, attempt)
		}
	}
	return n, nil
}

// held is the function of a run with several steps. The result of a step is the number of its
// attempt, which is acknowledged when the next step is called with it.
func (w worker) held(ctx context.Context, n int) (int, error) {
	given := 0
	for i := range stepsOfRun {
		result, err := genapi.Call(ctx, &unit, genapi.ID(i), genapi.Arguments(), func(ctx context.Context) (int, error) {
			info, _ := durable.Current(ctx)
			if i > 0 {
				fmt.Fprintf(w.out, "done %s %s/%d %d\n", info.Run, unit.Name, i-1, given)
			}
			_, err := w.call(ctx, i, i == 1)
			return info.Attempt, err
		})
		if err != nil {
			return 0, err
		}
		given = result
	}
	return n, nil
}
