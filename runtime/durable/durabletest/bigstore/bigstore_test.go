package bigstore

import (
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// TestFill: what is created is sound, has the size, and is in all states.
func TestFill(t *testing.T) {
	store := memory.New()
	size := Size{Runs: 500, Steps: 5000, Until: time.Now()}
	if err := Fill(t.Context(), store, size); err != nil {
		t.Fatal(err)
	}
	e, err := durable.New(store)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	for v, err := range e.Admin().Verify(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		t.Error(v)
	}
	stats, err := e.Admin().Stats(t.Context(), admin.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	runs, steps := 0, 0
	for _, n := range stats.Runs {
		runs += n
	}
	for _, n := range stats.Steps {
		steps += n
	}
	if runs != size.Runs || steps != size.Steps {
		t.Errorf("%d runs and %d steps, want %d and %d", runs, steps, size.Runs, size.Steps)
	}
	for status := range stepMixes {
		if stats.Runs[status] == 0 {
			t.Errorf("no run is %v", status)
		}
	}
	for _, status := range []storage.Status{
		storage.StatusSucceeded, storage.StatusDead, storage.StatusFailed, storage.StatusWaiting, storage.StatusInDoubt,
		storage.StatusPaused, storage.StatusExecuting,
	} {
		if stats.Steps[status] == 0 {
			t.Errorf("no step is %v", status)
		}
	}
}
