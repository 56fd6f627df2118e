package durable_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// A unit that is a dead letter is listed once, not with the step whose error it has,
// and a bulk requeue leaves none. A step that is a dead letter in a unit that has
// succeeded is listed. No worker executes a run before its last letter was requeued,
// however slow the store is.
func TestUnitRunIsListedOnce(t *testing.T) {
	for _, slow := range []time.Duration{0, 20 * time.Millisecond, 4 * time.Second} {
		synctest.Test(t, func(t *testing.T) { listUnitsOnce(t, slow) })
	}
}

func listUnitsOnce(t *testing.T, slow time.Duration) {
	var repaired atomic.Bool
	f := &farm{store: memory.New(), group: func() *job.Group {
		return importGroup(job.GroupPolicy{OnUnitFailure: job.FailureDeadLetter})
	}}
	for i := range 12 {
		f.units = append(f.units, fmt.Sprintf("u%02d", i))
	}
	load := letterPolicy("load", 1)
	f.op = func(ctx context.Context, unit string) (int, error) {
		_, err := call(ctx, load, func(context.Context) (int, error) {
			if !repaired.Load() && unit < "u06" {
				return 0, errors.New("connection refused")
			}
			return 1, nil
		})
		if unit == "u05" { // goes on without it
			return 1, nil
		}
		return 1, err
	}
	var p *process
	for range 2 { // over a store that takes its time
		p = startProcess(t, &hooked{Store: f.store, hook: func(
			ctx context.Context, sel storage.Select, decide decision, next update,
		) error {
			time.Sleep(slow)
			return next(ctx, sel, decide)
		}})
		f.register(p.Engine)
		worker := p
		go func() { _ = worker.Work(worker.ctx, durable.MaxRuns(3)) }()
	}
	if err := durable.Start(t.Context(), p.Engine, "import", "one", "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := durable.Await[int](t.Context(), p.Engine, "one"); err != nil {
		t.Fatal(err)
	}
	want := []string{"one:/import/u00", "one:/import/u01", "one:/import/u02", "one:/import/u03", "one:/import/u04",
		"one/import/u05:load"}
	wantListed(t, p.Engine, admin.Filter{DeadLetter: true}, want...)
	wantStep(t, p.Engine, "one/import/u00", "load", storage.StatusFailed)
	repaired.Store(true)
	n := 0
	for r, err := range p.Admin().RequeueDead(t.Context(), admin.Filter{}, admin.RequeueBy(ada)) {
		if n++; err != nil || r.Err != nil {
			t.Errorf("requeued %s: %v, %v", r.Letter.Step, r.Err, err)
		}
	}
	if n != len(want) {
		t.Errorf("%d dead letters were requeued, want %d", n, len(want))
	}
	time.Sleep(10 * time.Minute)
	wantListed(t, p.Engine, admin.Filter{DeadLetter: true})
	if got := counters(t, f.store, "one", "import"); got[0] != 0 || got[1] != 12 || got[2] != 0 {
		t.Errorf("got counters %v, want 12 that have succeeded", got)
	}
	wantClean(t, p.Engine)
}
