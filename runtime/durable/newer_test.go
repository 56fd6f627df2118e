package durable_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A run with a step of a newer version is left alone: its function is not called.
func TestNewerStepLeavesRunAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		p := startProcess(t, m)
		calls := 0
		var j journal
		work := func(ctx context.Context) error {
			calls++
			_, _ = callID(ctx, careful("before", 1, 0), calls, failing(&j, 0)) // not recorded yet
			_, err := call(ctx, careful("charge", 2, time.Second), failing(&j, 1))
			return err
		}
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		wantAs[*durable.ParkedError](t, p.Run(ctx, "one", work))
		migrate(t, m, storage.Key{Kind: storage.KindStep, Run: "one", ID: "charge"})
		wantError(t, p.run("one", work), storage.ErrFormat)
		if calls != 1 {
			t.Errorf("the function was called %d times, want 1", calls)
		}
		wantRun(t, p.Engine, "one", storage.StatusOpen)
	})
}

// So is a run of a worker, which comes back to it after a lease.
func TestNewerStepLeavesRunOfWorkerAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		p := startProcess(t, m)
		calls := 0
		charge := careful("charge", 2, time.Hour)
		charge.ParkAfter = time.Second
		durable.Handle(p.Engine, "pay", func(ctx context.Context, _ int) (int, error) {
			calls++
			return call(ctx, charge, func(context.Context) (int, error) { return 0, context.DeadlineExceeded })
		})
		if err := durable.Start(t.Context(), p.Engine, "pay", "one", 1); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(p.ctx)
		done := make(chan error)
		go func() { done <- p.Work(ctx) }()
		time.Sleep(time.Minute)
		migrate(t, m, storage.Key{Kind: storage.KindStep, Run: "one", ID: "charge"})
		time.Sleep(3 * time.Hour)
		if calls != 1 {
			t.Errorf("the handler was called %d times, want 1", calls)
		}
		if resumed, most := len(p.saw(events.EventResumed)), 3*60*2; resumed > most {
			t.Errorf("the run was claimed %d times, want at most once in a lease, %d", resumed, most)
		}
		wantRun(t, p.Engine, "one", storage.StatusOpen)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// Once a record could not be read, nothing is executed or acknowledged, even if
// the function of the run drops the error.
func TestNothingAfterNewerStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		p := startProcess(t, m)
		var j journal
		err := p.run("one", func(ctx context.Context) error {
			slow := careful("slow", 1, 0)
			_, _ = call(ctx, slow, func(ctx context.Context) (int, error) {
				j.add(ctx)
				migrate(t, m, storage.Key{Kind: storage.KindStep, Run: "one", ID: "slow"})
				return 1, nil
			})
			_, err := call(ctx, careful("next", 1, 0), failing(&j, 0))
			wantError(t, err, storage.ErrFormat)
			return nil
		})
		wantError(t, err, storage.ErrFormat)
		j.want(t, "slow", 1)
		j.want(t, "next")
		wantRun(t, p.Engine, "one", storage.StatusOpen)
	})
}
