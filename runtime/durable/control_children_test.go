package durable_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// A countedSteps is a store that counts the steps that its lists return.
type countedSteps struct {
	*memory.Store
	listed atomic.Int64
}

func (c *countedSteps) List(ctx context.Context, q storage.Query) ([]storage.Record, storage.Cursor, error) {
	records, next, err := c.Store.List(ctx, q)
	if q.Kind == storage.KindStep {
		c.listed.Add(int64(len(records)))
	}
	return records, next, err
}

// What is done to a run and its children reads the steps that have started them,
// and not those that the run and its units have called.
func TestChildrenWithoutSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &countedSteps{Store: memory.New()}
		e := newEngine(t, s)
		durable.Handle(e, "sleep", func(ctx context.Context, _ string) (int, error) {
			<-ctx.Done()
			return 0, context.Cause(ctx)
		})
		durable.Handle(e, "parent", func(ctx context.Context, _ struct{}) (int, error) {
			for i := range 100 {
				_, err := callID(ctx, idempotent("charge", 1, 0), i, func(context.Context) (int, error) { return i, nil })
				if err != nil {
					return 0, err
				}
			}
			if err := durable.Start(ctx, e, "sleep", "child", ""); err != nil {
				return 0, err
			}
			name := func(unit string) string { return unit }
			out, err := durable.GroupRuns(ctx, importGroup(job.GroupPolicy{Workers: 2}), "sleep", []string{"a", "b"}, name,
				func(job.Outcome[int]) {})
			return out.Completed, err
		})
		defer work(t, e)()
		if err := durable.Start(t.Context(), e, "parent", "one", struct{}{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		wantAll := func(want storage.Status) {
			t.Helper()
			n := 0
			for r, err := range e.Admin().List(t.Context(), storage.Query{}) {
				if err != nil {
					t.Fatal(err)
				}
				if n++; r.Status != want && (want != storage.StatusOpen || r.Status != storage.StatusParked) {
					t.Errorf("run %q is %v, want %v", r.ID, r.Status, want)
				}
			}
			if n != 4 {
				t.Errorf("got %d runs, want one and three children", n)
			}
		}
		for _, c := range []struct {
			name string
			call func(context.Context, string, ...events.Operator) error
			want storage.Status
		}{
			{"Pause", e.Admin().Pause, storage.StatusPaused},
			{"Resume", e.Admin().Resume, storage.StatusOpen},
			{"Cancel", e.Admin().Cancel, storage.StatusCanceled},
		} {
			before := s.listed.Load()
			if err := c.call(t.Context(), "one"); err != nil {
				t.Fatal(err)
			}
			if n := s.listed.Load() - before; n > 10 {
				t.Errorf("%s has read %d steps, want those of three children", c.name, n)
			}
			wantAll(c.want)
			time.Sleep(time.Minute)
		}
	})
}
