package durable_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// What happened is reported once, whichever reply was lost.
func TestEventsAfterLostReply(t *testing.T) {
	failed := false
	var want []string
	for n := 0; n == 0 || failed; n++ {
		synctest.Test(t, func(t *testing.T) {
			s := durabletest.LoseReply(memory.New(), n)
			var got []string
			observe := func(_ context.Context, ev events.Event) {
				switch {
				case ev.Kind == events.EventJob:
					got = append(got, fmt.Sprint(ev.Job.Kind, " ", ev.Job.JobID, " ", ev.Job.Unit, " ", ev.Job.Text()))
				case ev.Step != "":
					got = append(got, fmt.Sprint(ev.Kind, " ", ev.Attempt, " ", ev.Wait))
				}
			}
			var reported int
			ctx := retry.WithObserver(t.Context(), func(context.Context, retry.Event) { reported++ })
			e := newEngine(t, s, durable.OnEvent(observe))
			var j journal
			err := e.Run(ctx, "one", oneStep(idempotent("charge", 3, time.Second), failing(&j, 2)),
				durable.Budget(job.BudgetPolicy{}))
			if errors.Is(err, storage.ErrUnknown) {
				failed = true // the first renewal of the lease
				return
			}
			if err != nil {
				t.Error(err)
			}
			if failed = s.Failed(); n == 0 {
				want, failed = got, true
			}
			if !slices.Equal(got, want) {
				t.Errorf("reply %d was lost: got events %q, want %q", n, got, want)
			}
			if reported != 2 {
				t.Errorf("reply %d was lost: observers saw %d events, want 2 retries", n, reported)
			}
		})
	}
}

// A function given to OnEvent is called with the context of the call.
func TestEventContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		got := map[events.Kind]any{}
		e := newEngine(t, memory.New(), durable.OnEvent(func(ctx context.Context, ev events.Event) {
			got[ev.Kind] = ctx.Value(key{})
		}))
		var j journal
		step := oneStep(idempotent("charge", 3, time.Second), failing(&j, 1))
		err := e.Run(context.WithValue(t.Context(), key{}, "run"), "one", func(ctx context.Context) error {
			return step(context.WithValue(ctx, key{}, "step"))
		})
		if err != nil {
			t.Error(err)
		}
		want := map[events.Kind]any{
			events.EventCreated: "run", events.EventStarted: "step", events.EventFailed: "step",
			events.EventSucceeded: "step", events.EventCompleted: "run",
		}
		if !maps.Equal(got, want) {
			t.Errorf("got contexts %v, want %v", got, want)
		}
	})
}

// A nastyError panics when its text is asked for.
type nastyError struct{ text string }

func (e *nastyError) Error() string { return e.text }

// An error whose methods panic is recorded by its type.
func TestErrorPanics(t *testing.T) {
	for want, p := range map[error]*retry.Policy{
		retry.ErrAttempts:     {Name: "charge", RetryUnknown: true},
		retry.ErrUnclassified: {Name: "charge"},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := newEngine(t, memory.New())
			fn := func(context.Context) (int, error) { return 0, (*nastyError)(nil) }
			err := e.Run(t.Context(), "one", oneStep(&genapi.StepPolicy{Name: "charge", Policy: p}, fn))
			wantError(t, err, want)
			if text := wantAs[*durable.StepError](t, err).Text; text != "*durable_test.nastyError" {
				t.Errorf("got text %q, want the type", text)
			}
		})
	}
}

// A claim that ends a run is reported as its end.
func TestClaimEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		fails := func(context.Context) error { return errors.New("not yet") }
		if err := p.run("one", fails, durable.Timeout(time.Minute)); err == nil {
			t.Error("got no error from the run, want that of its function")
		}
		time.Sleep(time.Minute)
		for range 2 {
			wantError(t, p.run("one", fails), durable.ErrTimedOut)
		}
		if n := len(p.saw(events.EventTimedOut)); n != 1 {
			t.Errorf("got %d events about the timeout, want 1", n)
		}
	})
}

// A function may recover from the panic of a step: that attempt is lost.
func TestStepPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		var j journal
		charge := idempotent("charge", 3, time.Second)
		panics := func(ctx context.Context) error {
			defer func() { _ = recover() }()
			_, err := call(ctx, charge, func(ctx context.Context) (int, error) { j.add(ctx); panic("once") })
			return err
		}
		unfinished := wantAs[*durable.UnfinishedError](t, p.run("one", panics))
		if !slices.Equal(unfinished.Steps, []string{"charge"}) {
			t.Errorf("got unfinished steps %q", unfinished.Steps)
		}
		err := p.run("one", func(ctx context.Context) error {
			if err := panics(ctx); err != nil {
				return err
			}
			_, err := call(ctx, charge, failing(&j, 0))
			return err
		})
		if err != nil {
			t.Error(err)
		}
		j.want(t, "charge", 1, 2, 3)
		wantHistory(t, p.Engine, "one", "charge", "1 lost, then 1s", "2 lost, then 2s", "3 succeeded")
	})
}

// A run whose function panics stays open, and is not owned. Its record says why until it
// succeeds.
func TestRunPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		p, q := startProcess(t, m), startProcess(t, m)
		func() {
			defer func() {
				if recover() != "once" {
					t.Error("the panic did not go on")
				}
			}()
			_ = p.run("one", func(context.Context) error { panic("once") })
		}()
		saw := p.saw(events.EventPanicked)
		if len(saw) != 1 || saw[0].Err.Error() != "once" || !strings.Contains(saw[0].Stack, "events_test.go") {
			t.Errorf("got %v, want one event with the panic and its stack", saw)
		}
		if r := wantRun(t, q.Engine, "one", storage.StatusOpen); r.Panic != "once" {
			t.Errorf("recorded panic %q, want once", r.Panic)
		}
		if err := q.run("one", func(context.Context) error { return nil }); err != nil {
			t.Error(err)
		}
		if got := time.Since(epoch); got > 0 {
			t.Errorf("the run was free after %v", got)
		}
		if r := wantRun(t, q.Engine, "one", storage.StatusSucceeded); r.Panic != "" {
			t.Errorf("recorded panic %q after the success", r.Panic)
		}
	})
}

// The log of a worker says what happens to a run, and asks nobody to run it.
func TestWorkerLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		h := slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
				return slog.Attr{}
			}
			return a
		}})
		e := newEngine(t, memory.New(), durable.OnEvent(events.Log(slog.New(h))))
		durable.Handle(e, "sleep", func(ctx context.Context, _ int) (int, error) {
			return 1, durable.Sleep(ctx, "grace", 2*time.Hour)
		})
		if err := durable.Start(t.Context(), e, "sleep", "one", 1); err != nil {
			t.Fatal(err)
		}
		stop := work(t, e)
		time.Sleep(3 * time.Hour)
		stop()
		until := epoch.Add(2 * time.Hour).UTC().Format(time.RFC3339)
		want := `msg=created run=one
msg=began run=one
msg=parked run=one err="run \"one\" is parked until ` + until + `"
msg=resumed run=one
msg="wait elapsed" run=one step=grace
msg=completed run=one
`
		if got := log.String(); got != want {
			t.Errorf("got log\n%s\nwant\n%s", got, want)
		}
	})
}

// A step that has lost its policy goes on counting, and keeps its key.
func TestPolicyRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		p := startProcess(t, m)
		p.killAfter(20 * time.Second)
		var j journal
		_ = p.run("one", oneStep(idempotent("charge", 9, 10*time.Second), failing(&j, 9)))
		n := len(j.attempts("charge"))
		q := startProcess(t, m)
		err := q.run("one", oneStep(&genapi.StepPolicy{Name: "charge"}, func(ctx context.Context) (int, error) {
			j.add(ctx)
			return 1, nil
		}))
		if err != nil {
			t.Error(err)
		}
		info := wantStep(t, q.Engine, "one", "charge", storage.StatusSucceeded)
		if info.Attempts != n+1 {
			t.Errorf("got %d attempts, want %d", info.Attempts, n+1)
		}
		j.want(t, "charge", 1, 2, 3)
		wantHistory(t, q.Engine, "one", "charge", "1 failed, then 10s", "2 failed, then 20s", "3 succeeded")
	})
}
