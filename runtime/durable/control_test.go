package durable_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

var ada = admin.By("ada", "the bank is down")

// wantAudit compares what operators did, as text: action, name and reason.
func wantAudit(t *testing.T, e *durable.Engine, kind storage.Kind, run, name string, want ...string) {
	t.Helper()
	var got []string
	var last time.Time
	for a, err := range e.Admin().Audit(t.Context(), kind, run, name) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(a.Action, " by ", a.By))
		if a.Kind != kind || a.Run != run || a.Name != name || a.At.Before(last) {
			t.Errorf("got %+v, want %v %q %q after %v", a, kind, run, name, last)
		}
		last = a.At
	}
	if !slices.Equal(got, want) {
		t.Errorf("audit of %v %q %q: got %q, want %q", kind, run, name, got, want)
	}
}

// wantHeld checks that a run is paused by ada.
func wantHeld(t *testing.T, err error) {
	t.Helper()
	if paused := wantAs[*durable.PausedError](t, err); !paused.Held || paused.By != ada {
		t.Errorf("got %+v, want a run that ada has paused", paused)
	}
}

// A run that is paused while an engine executes it, here or elsewhere: the
// attempt that is executing ends and is recorded, no other one starts.
func TestPauseExecutedRun(t *testing.T) {
	for _, here := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			m := memory.New()
			a, b := startProcess(t, m), startProcess(t, m)
			operator := b
			if here {
				operator = a
			}
			var j journal
			work := func(ctx context.Context) error {
				for i := range 3 {
					_, err := callID(ctx, idempotent("charge", 3, time.Second), i, func(ctx context.Context) (int, error) {
						j.add(ctx)
						time.Sleep(10 * time.Second)
						return i, ctx.Err()
					})
					if err != nil {
						return err
					}
				}
				return nil
			}
			time.AfterFunc(15*time.Second, func() {
				for range 2 {
					if err := operator.Admin().Pause(t.Context(), "one", ada); err != nil {
						t.Error(err)
					}
				}
			})
			wantHeld(t, a.run("one", work))
			wantStep(t, b.Engine, "one", "charge/1", storage.StatusSucceeded)
			wantRun(t, b.Engine, "one", storage.StatusPaused)
			wantHeld(t, b.run("one", work))
			j.want(t, "charge/2")
			if events := a.saw(events.EventPaused); len(events) != 1 {
				t.Errorf("got the events %+v, want one", events)
			}
			if err := operator.Admin().Resume(t.Context(), "one", admin.By("bob", "it is back")); err != nil {
				t.Fatal(err)
			}
			if err := b.run("one", work); err != nil {
				t.Error(err)
			}
			for i := range 3 {
				j.want(t, fmt.Sprint("charge/", i), 1)
			}
			wantAudit(t, b.Engine, storage.KindRun, "one", "", "paused by ada: the bank is down", "resumed by bob: it is back")
			wantError(t, b.Admin().Pause(t.Context(), "one"), durable.ErrConflict)
			wantError(t, b.Admin().Resume(t.Context(), "one"), durable.ErrConflict)
			wantError(t, b.Admin().Pause(t.Context(), "none"), durable.ErrNotFound)
			wantError(t, b.Admin().Resume(t.Context(), "none"), durable.ErrNotFound)
		})
	}
}

// A wait ends with a pause; after it, the rest of the wait is waited for.
func TestPauseDuringWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		var j journal
		work := oneStep(careful("charge", 3, time.Hour), failing(&j, 1))
		begin := time.Now()
		time.AfterFunc(time.Minute, func() { _ = p.Admin().Pause(t.Context(), "one", ada) })
		wantHeld(t, p.run("one", work))
		wantAbout(t, "the execution", time.Since(begin), time.Minute, time.Minute)
		if err := p.Admin().Resume(t.Context(), "one"); err != nil {
			t.Fatal(err)
		}
		if err := p.run("one", work); err != nil {
			t.Fatal(err)
		}
		wantAbout(t, "all of it", time.Since(begin), time.Hour, time.Hour)
		j.want(t, "charge", 1, 2)
	})
}

// A run that is resumed before its execution has ended goes on, or can be called
// again. A function that fails meanwhile does not end the pause, and one that
// succeeds ends the run.
func TestPauseRaces(t *testing.T) {
	for name, c := range map[string]struct {
		resume bool
		err    error
		want   storage.Status
	}{
		"resumed":        {true, nil, storage.StatusSucceeded},
		"resumed failed": {true, errors.New("boom"), storage.StatusFailed},
		"failed":         {false, errors.New("boom"), storage.StatusPaused},
		"succeeded":      {false, nil, storage.StatusSucceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := memory.New()
				a, b := startProcess(t, m), startProcess(t, m)
				err := a.run("one", func(context.Context) error {
					if err := b.Admin().Pause(t.Context(), "one", ada); err != nil {
						t.Error(err)
					}
					if c.resume {
						if err := b.Admin().Resume(t.Context(), "one"); err != nil {
							t.Error(err)
						}
					}
					return c.err
				})
				wantRun(t, b.Engine, "one", c.want)
				if c.want == storage.StatusPaused {
					wantHeld(t, err)
				} else if !errors.Is(err, c.err) {
					t.Errorf("got %v, want %v", err, c.err)
				}
			})
		})
	}
	t.Run("resumed while it ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := startProcess(t, memory.New())
			var j journal
			ends := 0
			work := oneStep(careful("charge", 1, 0), func(ctx context.Context) (int, error) {
				if j.add(ctx); ends == 0 {
					_ = p.Admin().Pause(t.Context(), "one", ada)
					if err := p.Admin().Resume(t.Context(), "one"); err != nil {
						t.Error(err)
					}
				}
				ends++
				return 1, nil
			})
			wantHeld(t, p.run("one", work))
			wantRun(t, p.Engine, "one", storage.StatusOpen)
			if err := p.run("one", work); err != nil {
				t.Error(err)
			}
			j.want(t, "charge", 1)
		})
	})
}

// A pause outlives the process that executes the run, and the operator's
// cancellation ends it.
func TestPauseOfDeadProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		a, b := startProcess(t, m), startProcess(t, m)
		var j journal
		work := oneStep(idempotent("charge", 3, time.Second), func(ctx context.Context) (int, error) {
			if info := j.add(ctx); info.Attempt == 1 {
				<-ctx.Done()
				return 0, ctx.Err()
			}
			return 1, nil
		})
		time.AfterFunc(time.Second, func() {
			if err := b.Admin().Pause(t.Context(), "one", ada); err != nil {
				t.Error(err)
			}
			a.kill()
		})
		_ = a.run("one", work)
		time.Sleep(time.Minute)
		wantHeld(t, b.run("one", work))
		if err := b.Admin().Resume(t.Context(), "one"); err != nil {
			t.Fatal(err)
		}
		if err := b.run("one", work); err != nil {
			t.Error(err)
		}
		j.want(t, "charge", 1, 2)
		wantHistory(t, b.Engine, "one", "charge", "1 lost, then 1s", "2 succeeded")
	})
}

// A run with a step in doubt that is paused by an operator as well needs both.
func TestPauseAndDoubt(t *testing.T) {
	for _, resumeFirst := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			p := startProcess(t, memory.New())
			s := careful("charge", 1, 0)
			s.OnExhausted = genapi.ExhaustedPause
			var j journal
			work := oneStep(s, failing(&j, 1))
			if paused := wantAs[*durable.PausedError](t, p.run("one", work)); paused.Held {
				t.Errorf("got %+v, want a run that waits for its step", paused)
			}
			wantError(t, p.Admin().Resume(t.Context(), "one"), durable.ErrConflict)
			if err := p.Admin().Pause(t.Context(), "one", ada); err != nil {
				t.Fatal(err)
			}
			paused := wantAs[*durable.PausedError](t, p.run("one", work))
			if !paused.Held || !slices.Equal(paused.Steps, []string{"charge"}) {
				t.Errorf("got %+v, want ada and the step", paused)
			}
			resolve := func() error { return p.Admin().Resolve(t.Context(), "one", "charge", admin.Retry(), ada) }
			resume := func() error { return p.Admin().Resume(t.Context(), "one") }
			operations := []func() error{resolve, resume}
			if resumeFirst {
				operations = []func() error{resume, resolve}
			}
			for _, operation := range operations {
				wantRun(t, p.Engine, "one", storage.StatusPaused)
				if err := operation(); err != nil {
					t.Fatal(err)
				}
			}
			wantRun(t, p.Engine, "one", storage.StatusOpen)
			if err := p.run("one", work); err != nil {
				t.Error(err)
			}
		})
	}
}

// Workers leave a paused run alone, with the runs it has started. A run that has
// not begun does not begin before its time.
func TestPauseWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		var copied atomic.Int64
		durable.Handle(e, "copy", func(ctx context.Context, n int) (int, error) {
			return durable.Step(ctx, "copy", nil, func(context.Context) (int, error) { copied.Add(1); return n, nil })
		})
		durable.Handle(e, "all", func(ctx context.Context, n int) (int, error) {
			for i := range n {
				id := fmt.Sprint("all/", i)
				later := durable.StartAt(time.Now().Add(time.Duration(i) * time.Hour))
				if err := durable.Start(ctx, e, "copy", id, i, later); err != nil {
					return 0, err
				}
			}
			sum := 0
			for i := range n {
				got, err := durable.Await[int](ctx, e, fmt.Sprint("all/", i))
				if err != nil {
					return 0, err
				}
				sum += got
			}
			return sum, nil
		})
		defer work(t, e)()
		begin := time.Now()
		if err := durable.Start(t.Context(), e, "all", "all", 5); err != nil {
			t.Fatal(err)
		}
		time.Sleep(90 * time.Minute)
		if err := e.Admin().Pause(t.Context(), "all/2", admin.By("bob", "")); err != nil {
			t.Fatal(err)
		}
		if err := e.Admin().Pause(t.Context(), "all", ada); err != nil {
			t.Fatal(err)
		}
		time.Sleep(24 * time.Hour)
		if got := copied.Load(); got != 2 {
			t.Errorf("%d were copied, want 2", got)
		}
		wantAudit(t, e, storage.KindRun, "all/3", "", "paused by ada: the bank is down")
		if err := e.Admin().Resume(t.Context(), "all"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if got := copied.Load(); got != 4 {
			t.Errorf("%d were copied, want 4: one is paused by somebody else", got)
		}
		if err := e.Admin().Resume(t.Context(), "all/2"); err != nil {
			t.Fatal(err)
		}
		if got, err := durable.Await[int](t.Context(), e, "all"); got != 10 || err != nil {
			t.Errorf("got %d, %v; want 10", got, err)
		}

		begin = time.Now()
		if err := durable.Start(t.Context(), e, "copy", "later", 1, durable.StartAt(begin.Add(time.Hour))); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(e.Admin().Pause(t.Context(), "later"), e.Admin().Resume(t.Context(), "later")); err != nil {
			t.Fatal(err)
		}
		if _, err := durable.Await[int](t.Context(), e, "later"); err != nil {
			t.Fatal(err)
		}
		wantAbout(t, "the start", time.Since(begin), time.Hour, time.Hour+3*time.Second)
	})
}

// Requeue does not end a pause.
func TestRequeueInPausedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		var j journal
		job := oneStep(letterPolicy("charge", 1), failing(&j, 1))
		wantError(t, p.run("one", job), retry.ErrAttempts)
		if err := p.Admin().Pause(t.Context(), "one", ada); err != nil {
			t.Fatal(err)
		}
		if err := p.Admin().Requeue(t.Context(), "one", "charge"); err != nil {
			t.Fatal(err)
		}
		wantHeld(t, p.run("one", job))
		if err := p.Admin().Resume(t.Context(), "one"); err != nil {
			t.Fatal(err)
		}
		if err := p.run("one", job); err != nil {
			t.Error(err)
		}
	})
}

// Lost replies do not let an operator's change fail, nor happen twice.
func TestOperateLostReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var updates atomic.Int64
		p := startProcess(t, &hooked{Store: memory.New(), hook: func(
			ctx context.Context, sel storage.Select, decide decision, next update,
		) error {
			err := next(ctx, sel, decide)
			if err == nil && !isRenewal(sel) && updates.Add(1)%2 == 1 {
				return storage.ErrUnknown // and not the next time
			}
			return err
		}})
		var j journal
		wantError(t, p.run("one", oneStep(letterPolicy("charge", 1), failing(&j, 1))), retry.ErrAttempts)
		for _, operation := range []func() error{
			func() error { return p.Admin().Pause(t.Context(), "one", ada) },
			func() error { return p.Admin().Resume(t.Context(), "one", ada) },
			func() error { return p.Admin().Requeue(t.Context(), "one", "charge", admin.RequeueBy(ada)) },
			func() error { return p.Admin().Cancel(t.Context(), "one", ada) },
		} {
			if err := operation(); err != nil {
				t.Fatal(err)
			}
		}
		wantHistory(t, p.Engine, "one", "charge", "1 failed", "1 requeued")
		wantAudit(t, p.Engine, storage.KindRun, "one", "", "paused by ada: the bank is down",
			"resumed by ada: the bank is down", "canceled by ada: the bank is down")
		if events := p.saw(events.EventRunCanceled); len(events) != 1 || events[0].By != ada {
			t.Errorf("got the events %+v, want one by ada", events)
		}
	})
}

// A run that is paused starts no further run, although its engine does not yet know
// of the pause.
func TestPausedRunStartsNoChild(t *testing.T) {
	m := memory.New()
	e, operator := newEngine(t, m), newEngine(t, m)
	err := e.Run(t.Context(), "one", func(ctx context.Context) error {
		if err := operator.Admin().Pause(ctx, "one"); err != nil {
			t.Fatal(err)
		}
		return durable.Start(ctx, e, "copy", "child", 1)
	})
	if paused, ok := errors.AsType[*durable.PausedError](err); !ok || !paused.Held {
		t.Errorf("got %v, want the pause", err)
	}
	for r, err := range e.Admin().List(t.Context(), storage.Query{}) {
		if err != nil || r.ID != "one" || r.Status != storage.StatusPaused {
			t.Errorf("got run %q, %v, %v", r.ID, r.Status, err)
		}
	}
}

// A pause that somebody has ended meanwhile does not end the next execution.
func TestPauseEndedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New(), durable.OnEvent(func(_ context.Context, ev events.Event) {
			if ev.Kind == events.EventPaused {
				time.Sleep(time.Minute)
			}
		}))
		boom := errors.New("boom")
		wantError(t, e.Run(t.Context(), "one", func(context.Context) error { return boom }), boom)
		go func() { _ = e.Admin().Pause(t.Context(), "one", ada) }()
		synctest.Wait()
		if err := e.Admin().Resume(t.Context(), "one"); err != nil {
			t.Fatal(err)
		}
		var j journal
		err := e.Run(t.Context(), "one", func(ctx context.Context) error {
			time.Sleep(2 * time.Minute)
			return oneStep(careful("charge", 1, 0), failing(&j, 0))(ctx)
		})
		if err != nil {
			t.Error(err)
		}
	})
}
