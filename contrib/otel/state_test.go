package otelretry

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/job"
)

// TestState: the gauges are those of the store, until they are stopped.
func TestState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newExported(t, Options{})
		e, err := durable.New(memory.New())
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close(t.Context())
		once := &retry.Policy{Name: "once", Schedule: retry.Schedule{MaxAttempts: 1}}
		for run, on := range map[string]genapi.OnExhausted{
			"dead": genapi.ExhaustedDeadLetter, "paused": genapi.ExhaustedPause,
		} {
			s := genapi.StepPolicy{Name: "ping", Policy: once, OnExhausted: on}
			_ = e.Run(t.Context(), run, func(ctx context.Context) error {
				_, _ = genapi.Call(ctx, &s, genapi.ID(), genapi.Arguments(), func(context.Context) (int, error) {
					return 0, errors.New("connection refused")
				})
				return nil
			})
		}
		durable.Handle(e, "work", func(context.Context, int) (int, error) { return 0, nil })
		if err := durable.Start(t.Context(), e, "work", "due", 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(90 * time.Second)
		stop, err := x.ObserveState(e, StateOptions{Runs: true})
		if err != nil {
			t.Fatal(err)
		}
		want(t, x.measured(t), `
retry.durable.due_runs ({run}) [] 1
retry.durable.oldest_due (s) [] 90
retry.durable.paused_runs ({run}) [] 1
retry.durable.runs ({run}) [retry.status=open] 1
retry.durable.runs ({run}) [retry.status=paused] 1
retry.durable.runs ({run}) [retry.status=succeeded] 1
retry.durable.state.read (s) [] 0
retry.durable.state.truncated () [retry.of=due_runs] 0
retry.durable.state.truncated () [retry.of=paused_runs] 0
retry.durable.state.truncated () [retry.of=runs] 0
retry.durable.state.truncated () [retry.of=steps] 0
retry.durable.state.up () [] 1
retry.durable.steps ({step}) [retry.status=dead letter] 1
retry.durable.steps ({step}) [retry.status=executing] 0
retry.durable.steps ({step}) [retry.status=in doubt] 0
retry.durable.steps ({step}) [retry.status=paused] 1
retry.durable.steps ({step}) [retry.status=waiting] 0
`)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		want(t, x.measured(t), "\n")
	})
}

// TestUnitFailures: units that have failed are counted, a batch at a time.
func TestUnitFailures(t *testing.T) {
	x := newExported(t, Options{})
	for _, n := range []int{2, 3} {
		e := job.Event{Kind: job.EventFailures, JobID: "j1", Group: "copy", Failures: make([]job.Failure, n)}
		x.ObserveJob(t.Context(), e)
	}
	want(t, x.measured(t), "retry.unit.failures ({unit}) [group=copy] 5")
}
