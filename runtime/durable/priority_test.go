package durable_test

import (
	"context"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// TestPriority: a worker claims the due runs of the highest priority first, and among
// equals those that have been due longest. Runs that a run starts have its priority
// unless they are given another.
func TestPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		var order []string
		note := func(_ context.Context, name string) (int, error) {
			order = append(order, name)
			return 0, nil
		}
		durable.Handle(e, "note", note)
		durable.Handle(e, "urgent", func(ctx context.Context, name string) (int, error) {
			if err := durable.Start(ctx, e, "note", "child", "child"); err != nil {
				return 0, err
			}
			if err := durable.Start(ctx, e, "note", "calm child", "calm child", durable.Priority(-2)); err != nil {
				return 0, err
			}
			_, err := durable.GroupRuns(ctx, importGroup(job.GroupPolicy{}), "note", []string{"unit"},
				func(unit string) string { return unit }, func(job.Outcome[int]) {})
			return 0, err
		}, durable.Priority(5))
		start := func(handler, id string, options ...durable.RunOption) {
			t.Helper()
			if err := durable.Start(t.Context(), e, handler, id, id, options...); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		start("note", "later", durable.Priority(9), durable.StartAt(time.Now().Add(time.Minute)))
		start("note", "low", durable.Priority(-1))
		start("note", "first")
		start("note", "second")
		start("note", "high", durable.Priority(7))
		start("urgent", "parent")
		stop := work(t, e, durable.MaxRuns(1))
		defer stop()
		for _, id := range []string{"parent", "calm child", "later"} {
			if _, err := durable.Await[int](t.Context(), e, id); err != nil {
				t.Fatal(err)
			}
		}
		got := strings.Join(slices.DeleteFunc(slices.Clone(order), func(name string) bool {
			return name == "child" || name == "unit"
		}), ", ")
		if want := "high, first, second, low, calm child, later"; got != want {
			t.Errorf("got the order %s; want %s", got, want)
		}
		for run, err := range e.Admin().List(t.Context(), storage.Query{}) {
			want := map[string]int{
				"parent": 5, "child": 5, "calm child": -2, "unit": 5, "later": 9, "high": 7, "low": -1,
			}
			if err != nil || run.Priority != want[path.Base(run.ID)] {
				t.Errorf("run %s has priority %d, error %v; want %d", run.ID, run.Priority, err, want[path.Base(run.ID)])
			}
		}
	})
}

// TestPriorityOutOfRange: a priority that a store cannot keep is refused, and no run
// is created.
func TestPriorityOutOfRange(t *testing.T) {
	e := newEngine(t, memory.New())
	durable.Handle(e, "double", double)
	none := func(context.Context) error { return nil }
	for _, n := range []int{-32769, 32768} {
		for what, err := range map[string]error{
			"Start": durable.Start(t.Context(), e, "double", "id", 1, durable.Priority(n)),
			"Run":   e.Run(t.Context(), "id", none, durable.Priority(n)),
		} {
			if err == nil || !strings.Contains(err.Error(), "is not between -32768 and 32767") {
				t.Errorf("%s with priority %d: got error %v", what, n, err)
			}
		}
	}
	for run := range e.Admin().List(t.Context(), storage.Query{}) {
		t.Errorf("run %s exists", run.ID)
	}
}
