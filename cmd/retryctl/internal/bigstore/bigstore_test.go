package bigstore

import (
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
)

// TestFill: what is created is sound, has the size, and is in all states.
func TestFill(t *testing.T) {
	store := durable.NewMemory()
	size := Size{Runs: 500, Steps: 5000, Until: time.Now()}
	if err := Fill(t.Context(), store, size); err != nil {
		t.Fatal(err)
	}
	e, err := durable.New(store)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	for v, err := range e.Verify(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		t.Error(v)
	}
	stats, err := e.Stats(t.Context(), durable.Filter{})
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
	for _, status := range []durable.Status{
		durable.StatusSucceeded, durable.StatusDead, durable.StatusFailed, durable.StatusWaiting, durable.StatusInDoubt,
		durable.StatusPaused, durable.StatusExecuting,
	} {
		if stats.Steps[status] == 0 {
			t.Errorf("no step is %v", status)
		}
	}
}
