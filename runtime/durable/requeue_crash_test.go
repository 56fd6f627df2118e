package durable_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A ward is runs that workers execute, each with some steps that are dead letters.
type ward struct {
	store *memory.Store

	mu         sync.Mutex
	repaired   bool
	executions map[string]int // of the runs
	calls      map[string]int // of the steps, after the repair
}

const wardSteps = 4

// worker starts a process that executes the runs.
func (w *ward) worker(t *testing.T) *process {
	p := startProcess(t, w.store)
	durable.Handle(p.Engine, "treat", func(ctx context.Context, _ string) (int, error) {
		info, _ := durable.Current(ctx)
		w.mu.Lock()
		w.executions[info.Run]++
		w.mu.Unlock()
		return 1, letters(letterPolicy("copy", 1), wardSteps, func(i int) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			if !w.repaired {
				return errors.New("unavailable")
			}
			w.calls[fmt.Sprint(info.Run, i)]++
			return nil
		})(ctx)
	})
	go func() { _ = p.Work(p.ctx) }()
	return p
}

// Wherever a bulk requeue dies, a second one requeues what is left. Each letter is
// executed once after that, and a run that nobody interrupts is executed once with all
// its letters.
func TestRequeueDeadCrashedEverywhere(t *testing.T) {
	for n, died := 1, true; died; n++ {
		synctest.Test(t, func(t *testing.T) {
			w := &ward{store: memory.New(), executions: map[string]int{}, calls: map[string]int{}}
			p := w.worker(t)
			for _, run := range []string{"a", "b"} {
				if err := durable.Start(t.Context(), p.Engine, "treat", run, ""); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Minute)
			w.mu.Lock()
			w.repaired = true
			w.mu.Unlock()

			faulty := durabletest.CrashAt(w.store, n)
			ctx, cancel := faulty.Context(t.Context())
			defer cancel()
			for range newEngine(t, faulty).Admin().RequeueDead(ctx, admin.Filter{}) {
			}
			died = faulty.Failed()
			wantClean(t, p.Engine)
			if !died {
				wantListed(t, p.Engine, admin.Filter{Status: []storage.Status{storage.StatusDead}})
			}
			time.Sleep(time.Minute) // more than a lease: what was requeued is executed
			wantListed(t, p.Engine, admin.Filter{Status: []storage.Status{storage.StatusOpen}})
			if _, err := requeueDead(t, newEngine(t, w.store), admin.Filter{}); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute)
			wantListed(t, p.Engine, admin.Filter{DeadLetter: true})
			wantClean(t, p.Engine)
			for _, run := range []string{"a", "b"} {
				wantRun(t, p.Engine, run, storage.StatusSucceeded)
				for i := range wardSteps {
					if got := w.calls[fmt.Sprint(run, i)]; got != 1 {
						t.Errorf("crash %d: step %d of run %s was executed %d times after the repair", n, i, run, got)
					}
					got := strings.Join(history(t, p.Engine, run, fmt.Sprint("copy/", i)), ", ")
					if got != "1 failed, 1 requeued, 2 succeeded" {
						t.Errorf("crash %d: history of step %d: %s", n, i, got)
					}
				}
				if got := w.executions[run]; !died && got != 2 || got > 3 {
					t.Errorf("crash %d: run %s was executed %d times", n, run, got)
				}
			}
		})
	}
}
