package durable_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/job"
)

// deploy executes a run with a step that takes very long, and ends its context after
// a minute.
func deploy(t *testing.T, p *process, s *durable.StepPolicy, options ...durable.RunOption) error {
	t.Helper()
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	time.AfterFunc(time.Minute, cancel)
	return p.Run(ctx, "one", oneStep(s, func(ctx context.Context) (int, error) {
		<-ctx.Done()
		return 0, ctx.Err()
	}), options...)
}

// An orderly shutdown is neither a failure nor a lost attempt, and takes nothing
// from a budget.
func TestShutdownsAreNoLosses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := durable.NewMemory()
		s := idempotent("call", 2, 2*time.Second)
		budget := durable.Budget(job.BudgetPolicy{Retries: 1, PerUnit: 1})
		const deployments = 50
		for range deployments {
			p := startProcess(t, m)
			wantError(t, deploy(t, p, s, budget), context.Canceled)
			if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		p := startProcess(t, m)
		got := wantStep(t, p.Engine, "one", "call", durable.StatusWaiting)
		if got.Attempts != deployments || got.Interrupted != deployments || got.Lost+got.Failures+got.Retries != 0 {
			t.Errorf("got %+v, want %d interrupted attempts and nothing else", got, deployments)
		}
		if h := history(t, p.Engine, "one", "call"); h[0] != "1 interrupted, then 2s" || h[9] != "10 interrupted, then 2s" {
			t.Errorf("got the history %q", h)
		}
		// A failure and its retry: the limits are those of a new step.
		calls := 0
		if err := p.run("one", oneStep(s, func(context.Context) (int, error) {
			if calls++; calls == 1 {
				return 0, errors.New("unavailable")
			}
			return 1, nil
		})); err != nil || calls != 2 {
			t.Errorf("got %v after %d calls, want a success after 2", err, calls)
		}
		stats, err := p.Stats(t.Context(), durable.Filter{})
		if err != nil || stats.Interrupted != deployments || stats.Lost != 0 || stats.Failures != 1 {
			t.Errorf("got %+v, %v", stats, err)
		}
	})
}

// An attempt that never has the time it needs does not go on for ever.
func TestInterruptionsHaveALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, durable.NewMemory())
		s := idempotent("call", 3, time.Second)
		for range 99 {
			wantError(t, deploy(t, p, s), context.Canceled)
		}
		wantStep(t, p.Engine, "one", "call", durable.StatusWaiting)
		_ = deploy(t, p, s)
		got := wantStep(t, p.Engine, "one", "call", durable.StatusFailed)
		if got.Reason != retry.ErrLost || got.Interrupted != 100 {
			t.Errorf("got %+v, want that the step is exhausted by 100 interruptions", got)
		}
	})
}
