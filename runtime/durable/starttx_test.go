package durable_test

import (
	"context"
	"strings"
	"testing"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// at is a transaction that commits each statement, since memory has no others. What
// transactions do is tested with the stores that have them.
type at struct{ store *memory.Store }

func (tx at) Store() storage.Store { return tx.store }

func (tx at) Insert(ctx context.Context, n storage.Insertion) ([]bool, error) {
	return storage.InsertByUpdate(ctx, tx.store, n)
}

func (tx at) Get(ctx context.Context, keys []storage.Key) ([]storage.Record, error) {
	return tx.store.Get(ctx, keys)
}

func TestStartTx(t *testing.T) {
	m := memory.New()
	e := newEngine(t, m, durable.OnEvent(func(_ context.Context, ev events.Event) {
		if ev.Kind == events.EventCreated && ev.Run != "outer" {
			t.Error("a start was reported that may be rolled back")
		}
	}))
	durable.Handle(e, "work", func(_ context.Context, n int) (int, error) { return n, nil }, durable.Priority(4),
		durable.Budget(job.BudgetPolicy{Retries: 2, PerUnit: 1}))
	start := func(ctx context.Context, tx storage.Transaction, id string, in int, options ...durable.RunOption) error {
		return durable.StartTx(ctx, e, tx, "work", id, in, options...)
	}
	ctx := t.Context()
	for range 2 {
		if err := start(ctx, at{m}, "a", 1); err != nil {
			t.Fatal(err)
		}
	}
	if r := wantRun(t, e, "a", storage.StatusOpen); r.Priority != 4 {
		t.Errorf("got %+v", r)
	}
	err := start(ctx, at{m}, "a", 2)
	wantAs[*durable.ConflictError](t, err)
	wantError(t, err, durable.ErrConflict)
	if want := `run "a" exists with another function or input: give the new one another id`; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	wantError(t, start(ctx, at{m}, "", 1), durable.ErrID)

	if err := start(ctx, nil, "b", 1); err == nil || !strings.Contains(err.Error(), "the transaction is nil") {
		t.Errorf("got %v, want an error about the transaction", err)
	}

	refused := func(err error, want string) {
		t.Helper()
		if wantError(t, err, durable.ErrConflict); err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error about %s", err, want)
		}
	}
	refused(start(ctx, at{memory.New()}, "b", 1), "use the store of the engine")
	refused(start(ctx, at{m}, "b", 1, durable.Budget(job.BudgetPolicy{Retries: 1})), "give it to Handle")
	if err := e.Run(ctx, "outer", func(ctx context.Context) error {
		refused(start(ctx, at{m}, "b", 1), "use Start")
		return nil
	}); err != nil {
		t.Error(err)
	}
}
