package durable_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// An operator ends the wait of a parked step: its next attempt is due now, or it is
// skipped or has failed. A worker goes on at once, and the operator is in the history.
func TestResolveWaitingStep(t *testing.T) {
	for _, tt := range []struct {
		name     string
		how      admin.Resolution
		want     storage.Status
		attempts []int
		history  []string
		failed   bool
	}{
		{"retry", admin.Retry(), storage.StatusSucceeded, []int{1, 2},
			[]string{"1 failed, then 1h0m0s", "1 resolved", "2 succeeded"}, false},
		{"skip", admin.Succeeded(7), storage.StatusSucceeded, []int{1},
			[]string{"1 failed, then 1h0m0s", "1 resolved"}, false},
		{"fail", admin.Failed(errStop), storage.StatusFailed, []int{1},
			[]string{"1 failed, then 1h0m0s", "1 resolved"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := memory.New()
				p := startProcess(t, m)
				s := careful("charge", 2, time.Hour) // the limit of attempts stays
				s.ParkAfter, s.ResumeSpread, s.OnExhausted = time.Minute, time.Hour, genapi.ExhaustedDeadLetter
				var j journal
				durable.Handle(p.Engine, "settle", func(ctx context.Context, _ int) (int, error) {
					return call(ctx, s, failing(&j, 1))
				})
				go func() { _ = p.Work(p.ctx) }()
				if err := durable.Start(t.Context(), p.Engine, "settle", "one", 0); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				wantRun(t, p.Engine, "one", storage.StatusParked)
				began := time.Now()
				other := newEngine(t, m)
				if err := other.Admin().Resolve(t.Context(), "one", "charge", tt.how, ada); err != nil {
					t.Fatal(err)
				}
				_, err := durable.Await[int](t.Context(), p.Engine, "one")
				if (err != nil) != tt.failed {
					t.Errorf("got error %v", err)
				}
				wantAbout(t, "the rest of the run", time.Since(began), 0, 2*time.Second)
				wantStep(t, p.Engine, "one", "charge", tt.want)
				j.want(t, "charge", tt.attempts...)
				wantHistory(t, p.Engine, "one", "charge", tt.history...)
				for a, err := range p.Admin().Attempts(t.Context(), "one", "charge") {
					if err != nil || a.Outcome == events.OutcomeResolved && a.By.Name != ada.Name {
						t.Errorf("got %+v, %v, want who it was", a, err)
					}
				}
				wantClean(t, p.Engine)
			})
		})
	}
}

// A step that only waits has no attempt to retry, and a value comes by a signal.
func TestResolvePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		run := func(ctx context.Context) error {
			_, err := durable.Wait[int](ctx, "approve", time.Hour)
			return err
		}
		sleep := func(ctx context.Context) error { return durable.Sleep(ctx, "cool down", time.Hour) }
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		asParked(t, e.Run(ctx, "wait", run))
		asParked(t, e.Run(ctx, "sleep", sleep))
		for _, c := range []struct {
			run, step string
			how       admin.Resolution
			want      error
		}{
			{"wait", "approve", admin.Retry(), durable.ErrConflict},
			{"wait", "approve", admin.Succeeded(7), durable.ErrConflict},
			{"wait", "approve", admin.Failed(errStop), nil},
			{"sleep", "cool down", admin.Retry(), durable.ErrConflict},
			{"sleep", "cool down", admin.Succeeded(nil), nil},
		} {
			if err := e.Admin().Resolve(t.Context(), c.run, c.step, c.how, ada); !errors.Is(err, c.want) {
				t.Errorf("%s: got %v, want %v", c.run, err, c.want)
			}
		}
		if err := e.Run(t.Context(), "wait", run); err == nil {
			t.Error("the wait did not fail")
		}
		if err := e.Run(t.Context(), "sleep", sleep); err != nil {
			t.Error(err)
		}
		wantClean(t, e)
	})
}

// The wait of a step whose run an engine executes is that engine's.
func TestResolveWaitInExecution(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		p := startProcess(t, m)
		var j journal
		go func() { _ = p.run("one", oneStep(careful("charge", 2, time.Hour), failing(&j, 1))) }()
		time.Sleep(time.Second)
		err := newEngine(t, m).Admin().Resolve(t.Context(), "one", "charge", admin.Retry())
		if wantError(t, err, durable.ErrConflict); !strings.Contains(err.Error(), "is executed by") {
			t.Errorf("got %q, which does not say by whom", err)
		}
	})
}
