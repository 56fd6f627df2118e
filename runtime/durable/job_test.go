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

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A jobTrial is a run that is one step, over a store that may fail.
type jobTrial struct {
	*testing.T
	memory *memory.Store
	fail   atomic.Bool // all updates of the worker
	lose   atomic.Bool // the reply to its next claim

	failSteps atomic.Bool // the updates of steps
	worker    *process
	other     *durable.Engine // which registers the same handler, without a worker

	journal journal
	policy  *genapi.StepPolicy
	fn      func(ctx context.Context, attempt int) error // of the step
}

// begin starts the worker, with statements of its store if swift is set, and the run.
func (j *jobTrial) begin(swift bool, fn func(ctx context.Context, attempt int) error, options ...durable.HandleOption) {
	j.memory, j.fn = memory.New(), fn
	below := &hooked{Store: j.memory, hook: func(
		ctx context.Context, sel storage.Select, decide decision, next update,
	) error {
		ofStep := func(k storage.Key) bool { return k.Kind == storage.KindStep }
		if j.fail.Load() || j.failSteps.Load() && slices.ContainsFunc(sel.Keys, ofStep) {
			return fmt.Errorf("%w: no answer", storage.ErrStore)
		}
		claims := false
		err := next(ctx, sel, func(tx storage.Tx) (storage.Writes, error) {
			w, err := decide(tx)
			claims = slices.ContainsFunc(w.Put, func(r storage.Record) bool { return r.Owner != "" && r.Fence == 1 })
			return w, err
		})
		if claims && err == nil && j.lose.CompareAndSwap(true, false) {
			return storage.ErrUnknown
		}
		return err
	}}
	j.worker = &process{store: durabletest.CrashAt(below, 0)}
	var store storage.Store = j.worker.store
	if swift {
		store = durabletest.Swift{Faulty: j.worker.store}
	}
	j.worker.Engine = newEngine(j.T, store, durable.OnEvent(j.worker.observe))
	j.other = newEngine(j.T, j.memory)
	if j.policy == nil {
		j.policy = idempotent("charge", 3, time.Second)
	}
	for _, e := range []*durable.Engine{j.worker.Engine, j.other} {
		durable.Job(e, "job", j.policy, func(n int) genapi.StepID { return genapi.ID(n) },
			func(ctx context.Context, n int) (int, error) {
				info := j.journal.add(ctx)
				return 10 * n, j.fn(ctx, info.Attempt)
			}, options...)
	}
	if err := durable.Start(j.Context(), j.other, "job", "one", 7); err != nil {
		j.Fatal(err)
	}
}

const jobStep = "charge/7"

// want checks the end of the run, the history of its step, and whether the step has a
// record.
func (j *jobTrial) want(status storage.Status, folded bool, history ...string) {
	j.Helper()
	wantRun(j.T, j.other, "one", status)
	wantHistory(j.T, j.other, "one", jobStep, history...)
	records, err := j.memory.Get(j.Context(), []storage.Key{{Kind: storage.KindStep, Run: "one", ID: jobStep}})
	if err != nil {
		j.Fatal(err)
	}
	if got := records[0].Version == 0; got != folded {
		j.Errorf("the run stands for its step: %v, want %v", got, folded)
	}
	for v, err := range j.other.Admin().Verify(j.Context()) {
		j.Errorf("verify: %+v, %v", v, err)
	}
}

// failTimes fails the first n attempts.
func failTimes(n int) func(context.Context, int) error {
	return func(_ context.Context, attempt int) error {
		if attempt <= n {
			return errors.New("unavailable")
		}
		return nil
	}
}

// TestJob: what becomes of a run that is its only step, and where that is recorded.
func TestJob(t *testing.T) {
	succeed := failTimes(0)
	cases := map[string]func(j *jobTrial, swift bool){
		"success": func(j *jobTrial, swift bool) {
			j.begin(swift, succeed)
			defer work(j.T, j.worker.Engine)()
			time.Sleep(time.Minute)
			j.want(storage.StatusSucceeded, true, "1 succeeded")
			if got, err := durable.Await[int](j.Context(), j.other, "one"); got != 70 || err != nil {
				j.Errorf("got %d, %v; want 70", got, err)
			}
			records, _ := j.memory.Get(j.Context(), []storage.Key{{Kind: storage.KindRun, Run: "one"}})
			if records[0].Version != 3 {
				j.Errorf("the run was written %d times, want 3", records[0].Version)
			}
			for _, kind := range []events.Kind{events.EventStarted, events.EventSucceeded, events.EventCompleted} {
				if n := len(j.worker.saw(kind)); n != 1 {
					j.Errorf("%d events %v, want 1", n, kind)
				}
			}
		},
		"failures": func(j *jobTrial, swift bool) {
			j.begin(swift, failTimes(2))
			defer work(j.T, j.worker.Engine)()
			time.Sleep(time.Minute)
			j.want(storage.StatusSucceeded, false, "1 failed, then 1s", "2 failed, then 2s", "3 succeeded")
			if s := wantStep(j.T, j.other, "one", jobStep, storage.StatusSucceeded); s.Retries != 2 || s.Policy != "charge" {
				j.Errorf("got %+v, want two retries", s)
			}
		},
		"exhausted": func(j *jobTrial, swift bool) {
			j.begin(swift, failTimes(9))
			defer work(j.T, j.worker.Engine)()
			time.Sleep(time.Minute)
			j.want(storage.StatusFailed, false, "1 failed, then 1s", "2 failed, then 2s", "3 failed")
		},
		"killed": func(j *jobTrial, swift bool) {
			j.begin(swift, func(ctx context.Context, attempt int) error {
				if attempt == 1 {
					j.worker.kill()
					<-ctx.Done()
				}
				return ctx.Err()
			})
			go func() { _ = j.worker.Work(j.Context()) }()
			time.Sleep(time.Minute)
			if s := wantStep(j.T, j.other, "one", "charge", storage.StatusExecuting); s.Attempts != 1 || s.Started.IsZero() {
				j.Errorf("got %+v, want that attempt 1 executes", s)
			}
			defer work(j.T, j.other)()
			time.Sleep(time.Minute)
			j.want(storage.StatusSucceeded, false, "1 lost, then 1s", "2 succeeded")
			j.journal.want(j.T, jobStep, 1, 2)
		},
		"in doubt": func(j *jobTrial, swift bool) {
			j.policy = careful("charge", 3, time.Second)
			j.begin(swift, func(ctx context.Context, _ int) error {
				j.worker.kill()
				<-ctx.Done()
				return ctx.Err()
			})
			go func() { _ = j.worker.Work(j.Context()) }()
			time.Sleep(time.Second)
			defer work(j.T, j.other)()
			time.Sleep(time.Minute)
			wantStep(j.T, j.other, "one", jobStep, storage.StatusInDoubt)
			j.want(storage.StatusPaused, false, "1 lost")
		},
		"canceled meanwhile": func(j *jobTrial, swift bool) {
			j.begin(swift, func(context.Context, int) error {
				time.Sleep(time.Second)
				return nil
			})
			defer work(j.T, j.worker.Engine)()
			time.Sleep(time.Second / 2)
			if err := j.other.Admin().Cancel(j.Context(), "one"); err != nil {
				j.Fatal(err)
			}
			time.Sleep(time.Minute)
			j.want(storage.StatusCanceled, false, "1 succeeded")
		},
		"paused meanwhile": func(j *jobTrial, swift bool) {
			j.begin(swift, func(context.Context, int) error {
				time.Sleep(time.Second)
				return errors.New("unavailable")
			})
			defer work(j.T, j.worker.Engine)()
			time.Sleep(time.Second / 2)
			if err := j.other.Admin().Pause(j.Context(), "one"); err != nil {
				j.Fatal(err)
			}
			time.Sleep(time.Minute)
			j.want(storage.StatusPaused, false, "1 failed, then 1s")
		},
		"end not recorded": func(j *jobTrial, swift bool) {
			j.begin(swift, func(_ context.Context, attempt int) error {
				j.fail.Store(attempt == 1)
				return nil
			})
			stop := work(j.T, j.worker.Engine, durable.Drain(time.Second))
			time.Sleep(time.Second)
			stop() // the store does not answer
			j.fail.Store(false)
			time.Sleep(2 * time.Minute) // the engine lives, and releases the run
			defer work(j.T, j.worker.Engine)()
			time.Sleep(time.Minute)
			j.want(storage.StatusSucceeded, false, "1 lost, then 1s", "2 succeeded")
			j.journal.want(j.T, jobStep, 1, 2)
		},
		"only the release recorded": func(j *jobTrial, swift bool) {
			j.begin(swift, func(_ context.Context, attempt int) error {
				if attempt == 1 {
					j.failSteps.Store(true)
					return errors.New("unavailable")
				}
				return nil
			})
			stop := work(j.T, j.worker.Engine, durable.Drain(time.Second))
			time.Sleep(time.Second)
			stop()
			j.failSteps.Store(false)
			defer work(j.T, j.other)()
			time.Sleep(time.Minute)
			j.want(storage.StatusSucceeded, false, "1 lost, then 1s", "2 succeeded")
			j.journal.want(j.T, jobStep, 1, 2)
		},
		"claim lost": func(j *jobTrial, swift bool) {
			j.begin(swift, succeed)
			j.lose.Store(true)
			defer work(j.T, j.worker.Engine)()
			time.Sleep(time.Minute)
			j.want(storage.StatusSucceeded, false, "1 succeeded")
			j.journal.want(j.T, jobStep, 1)
		},
		"fenced": func(j *jobTrial, swift bool) {
			j.begin(swift, func(ctx context.Context, attempt int) error {
				if attempt == 1 {
					time.Sleep(3 * time.Minute) // and the context is ignored
				}
				return nil
			})
			defer work(j.T, j.worker.Engine)()
			time.Sleep(time.Second)
			j.fail.Store(true)
			time.Sleep(time.Minute)
			defer work(j.T, j.other)()
			time.Sleep(time.Minute)
			j.fail.Store(false)
			time.Sleep(time.Hour)
			j.want(storage.StatusSucceeded, false, "1 lost, then 1s", "1 succeeded, late", "2 succeeded")
		},
		"timeout": func(j *jobTrial, swift bool) {
			j.begin(swift, func(ctx context.Context, _ int) error {
				<-ctx.Done()
				return ctx.Err()
			}, durable.Timeout(time.Minute))
			defer work(j.T, j.worker.Engine)()
			time.Sleep(time.Hour)
			j.want(storage.StatusTimedOut, false, "1 interrupted, then 1s")
		},
		"limited": func(j *jobTrial, swift bool) {
			j.begin(swift, succeed, durable.Concurrency(1))
			defer work(j.T, j.worker.Engine)()
			time.Sleep(time.Minute)
			j.want(storage.StatusSucceeded, true, "1 succeeded")
		},
		"child": func(j *jobTrial, swift bool) {
			j.begin(swift, func(ctx context.Context, attempt int) error {
				return durable.Start(ctx, j.worker.Engine, "job", "two", 8)
			})
			defer work(j.T, j.worker.Engine)()
			time.Sleep(time.Minute)
			j.want(storage.StatusSucceeded, true, "1 succeeded")
			wantRun(j.T, j.other, "two", storage.StatusSucceeded)
		},
	}
	for name, play := range cases {
		for _, swift := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, swift %v", name, swift), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { play(&jobTrial{T: t}, swift) })
			})
		}
	}
}

// TestJobKey: the step has the id and the idempotency key that a call of it in a run has.
func TestJobKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		s := idempotent("charge", 3, time.Second)
		var keys []string
		note := func(ctx context.Context) (int, error) {
			info, _ := durable.Current(ctx)
			keys = append(keys, info.Step+" "+info.Key)
			return 1, nil
		}
		durable.Job(e, "job", s, func(n int) genapi.StepID { return genapi.ID(n) },
			func(ctx context.Context, _ int) (int, error) { return note(ctx) })
		start(t, e, "job", "one")
		stop := work(t, e)
		time.Sleep(time.Second)
		stop()
		other := newEngine(t, memory.New())
		err := other.Run(t.Context(), "one", func(ctx context.Context) error {
			_, err := callID(ctx, s, 1, note)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(keys) != 2 || keys[0] != keys[1] {
			t.Errorf("got %q, want the same twice", keys)
		}
	})
}

// TestJobLists: operators find the steps that runs stand for, in their places.
func TestJobLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		e := newEngine(t, m)
		durable.Job(e, "job", idempotent("charge", 3, time.Second), nil,
			func(_ context.Context, n int) (int, error) { return n, nil })
		durable.Handle(e, "steps", func(ctx context.Context, n int) (int, error) {
			return call(ctx, idempotent("other", 3, time.Second), func(context.Context) (int, error) { return n, nil })
		})
		var want []string
		for i := range 2500 {
			id, handler, step := fmt.Sprintf("%04d", i), "steps", "other"
			if i%3 > 0 {
				handler, step = "job", "charge"
			}
			start(t, e, handler, id)
			want = append(want, id+" "+step)
		}
		stop := work(t, e, durable.MaxRuns(100))
		time.Sleep(time.Minute)
		stop()
		got := func(f admin.Filter) (ids []string) {
			for s, err := range e.Admin().Steps(t.Context(), f) {
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, s.Run+" "+s.Step)
			}
			return ids
		}
		if ids := got(admin.Filter{}); !slices.Equal(ids, want) {
			t.Errorf("got %d steps, want %d in their order", len(ids), len(want))
		}
		if ids := got(admin.Filter{AfterRun: "1234", AfterStep: "charge", Limit: 3}); !slices.Equal(ids, want[1235:1238]) {
			t.Errorf("got %q after 1234, want %q", ids, want[1235:1238])
		}
		if ids := got(admin.Filter{Attention: true}); len(ids) > 0 {
			t.Errorf("got %q, of which none needs attention", ids)
		}
		var attempts []string
		for a, err := range e.Admin().History(t.Context(), admin.Filter{}) {
			if err != nil {
				t.Fatal(err)
			}
			attempts = append(attempts, a.Run+" "+a.Step)
		}
		if !slices.Equal(attempts, want) {
			t.Errorf("got the history of %d attempts, want %d in their order", len(attempts), len(want))
		}
		stats, err := e.Admin().Stats(t.Context(), admin.Filter{})
		if err != nil || stats.Steps[storage.StatusSucceeded] != 2500 || stats.Attempts != 2500 {
			t.Errorf("got %+v, %v; want 2500 steps", stats, err)
		}
		s, err := e.Admin().Describe(t.Context(), "0001", "charge")
		if err != nil || s.Attempts != 1 || s.Status != storage.StatusSucceeded {
			t.Errorf("got %+v, %v", s, err)
		}
		values, err := e.Admin().Values(t.Context(), "0001", "charge")
		if err != nil || values.Result == nil {
			t.Errorf("got %+v, %v; want the result of the step", values, err)
		}
	})
}
