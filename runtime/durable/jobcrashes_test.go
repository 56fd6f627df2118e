package durable_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
)

// jobCrashes are stories in which an attempt does not end, or nobody can record how: see
// TestJobTwins.
var jobCrashes = []jobStory{
	{"killed", func(w *twin) {
		w.killed()
		w.look()
		w.works()
		time.Sleep(time.Minute)
	}},
	{"killed, and the call timeout passes", func(w *twin) {
		w.policy.Policy.Timeout = 50 * time.Second
		w.killed()
		w.works()
		time.Sleep(time.Minute)
	}},
	{"killed, in doubt, retried", func(w *twin) {
		w.policy.Idempotent = false
		w.killed()
		w.works()
		time.Sleep(time.Minute)
		w.look()
		w.check("resolve", w.admin.Admin().Resolve(w.Context(), "one", twinID, admin.Retry()))
		time.Sleep(time.Minute)
	}},
	{"killed, fails", func(w *twin) {
		w.policy.Idempotent, w.policy.OnLost = false, genapi.OnLostFail
		w.killed()
		w.works()
		time.Sleep(time.Minute)
	}},
	{"killed, canceled, resolved", func(w *twin) {
		w.noID = true
		w.killed()
		w.check("cancel", w.admin.Admin().Cancel(w.Context(), "one"))
		time.Sleep(time.Minute)
		w.look()
		for s := range w.admin.Admin().Steps(w.Context(), admin.Filter{}) {
			w.check("resolve", w.admin.Admin().Resolve(w.Context(), "one", s.Step, admin.Succeeded(1)))
		}
		w.works()
		time.Sleep(time.Minute)
	}},
	{"killed, paused, resumed", func(w *twin) {
		w.killed()
		w.check("pause", w.admin.Admin().Pause(w.Context(), "one"))
		w.works()
		time.Sleep(time.Minute)
		w.look()
		w.check("resume", w.admin.Admin().Resume(w.Context(), "one"))
		time.Sleep(time.Minute)
	}},
	{"killed each time", func(w *twin) {
		w.policy.LostMax, w.timeless = 3, true
		w.begin(func(ctx context.Context, _, _ int) error {
			<-ctx.Done()
			return ctx.Err()
		})
		for range 4 {
			p := w.works()
			time.Sleep(time.Minute)
			p.kill()
		}
		w.works()
		time.Sleep(time.Minute)
	}},
	{"killed, and the timeout of the run passes", func(w *twin) {
		w.killed(durable.Timeout(40 * time.Second))
		w.works()
		time.Sleep(time.Minute)
	}},
	{"timeout of the run", func(w *twin) {
		w.begin(func(ctx context.Context, _, _ int) error {
			<-ctx.Done()
			return ctx.Err()
		})
		w.works(durable.Timeout(time.Minute))
		time.Sleep(10 * time.Minute)
	}},
	{"timeout of the run, ignored", func(w *twin) {
		w.begin(func(context.Context, int, int) error {
			time.Sleep(2 * time.Minute)
			return nil
		})
		w.works(durable.Timeout(time.Minute))
		time.Sleep(10 * time.Minute)
	}},
	{"drained", func(w *twin) {
		w.begin(func(ctx context.Context, _, attempt int) error {
			if attempt == 1 {
				<-ctx.Done()
			}
			return ctx.Err()
		})
		stop := work(w.T, w.process().Engine, durable.Drain(time.Second))
		time.Sleep(time.Second)
		stop()
		w.look()
		w.works()
		time.Sleep(time.Minute)
	}},
	{"drained, ignored", func(w *twin) {
		w.begin(func(_ context.Context, _, attempt int) error {
			time.Sleep(10 * time.Second)
			return nil
		})
		stop := work(w.T, w.process().Engine, durable.Drain(time.Second))
		time.Sleep(time.Second)
		stop()
		time.Sleep(time.Minute)
	}},
	{"goexit", func(w *twin) {
		w.timeless = true
		w.begin(func(_ context.Context, _, attempt int) error {
			if attempt == 1 {
				runtime.Goexit()
			}
			return nil
		})
		w.works()
		time.Sleep(time.Minute)
	}},
	{"goexit, not recorded", func(w *twin) {
		w.timeless = true
		w.begin(func(_ context.Context, _, attempt int) error {
			if attempt == 1 {
				w.stopped.Store(true)
				runtime.Goexit()
			}
			return nil
		})
		w.works()
		time.Sleep(5 * time.Second)
		w.stopped.Store(false)
		time.Sleep(time.Minute)
	}},
	{"fenced", func(w *twin) {
		w.begin(func(_ context.Context, _, attempt int) error {
			if attempt == 1 {
				time.Sleep(5 * time.Minute) // and the context is ignored
			}
			return nil
		})
		w.works()
		time.Sleep(time.Second)
		w.stopped.Store(true)
		time.Sleep(time.Minute)
		w.stopped.Store(false)
		time.Sleep(time.Second)
		w.works()
		time.Sleep(10 * time.Minute)
	}},
	{"killed, limited", func(w *twin) {
		w.killed(durable.Concurrency(1))
		w.works(durable.Concurrency(1))
		time.Sleep(time.Minute)
	}},
	{"killed, another in its place", func(w *twin) {
		w.killed(durable.Concurrency(1))
		w.set(func(context.Context, int, int) error {
			time.Sleep(20 * time.Second)
			return nil
		})
		if err := durable.Start(w.Context(), w.admin, "job", "a", 8, durable.Priority(5)); err != nil {
			w.Fatal(err)
		}
		w.timeless = true
		w.works(durable.Concurrency(1))
		time.Sleep(5 * time.Minute)
	}},
	{"killed while it drains", func(w *twin) {
		w.policy.Idempotent, w.timeless = false, true
		w.begin(func(ctx context.Context, _, attempt int) error {
			if attempt == 1 {
				time.Sleep(time.Minute) // the context is ignored
			}
			return nil
		})
		p := w.process()
		ctx, stop := context.WithCancel(p.ctx)
		go func() { _ = p.Work(ctx, durable.Drain(time.Second)) }()
		time.Sleep(time.Second)
		stop()
		time.Sleep(5 * time.Second)
		p.kill()
		time.Sleep(2 * time.Minute)
		w.works()
		time.Sleep(time.Minute)
	}},
}

// killed starts the run, and kills the process during its first attempt, for longer than
// its lease.
func (w *twin) killed(options ...durable.HandleOption) {
	var killed atomic.Bool
	w.begin(func(ctx context.Context, _, attempt int) error {
		if killed.CompareAndSwap(false, true) {
			<-ctx.Done()
		}
		return ctx.Err()
	})
	p := w.works(options...)
	time.Sleep(2 * time.Second)
	p.kill()
	time.Sleep(time.Minute)
}
