package durable_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// counted returns the runs n-from to n-(to-1), whose inputs are their numbers.
func counted(from, to int) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for i := from; i < to && yield(fmt.Sprintf("n-%05d", i), i); i++ {
		}
	}
}

// joined returns runs of several sequences.
func joined(all ...iter.Seq2[string, int]) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for _, runs := range all {
			for id, in := range runs {
				if !yield(id, in) {
					return
				}
			}
		}
	}
}

func one(id string, in int) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) { yield(id, in) }
}

// eachStore calls test with a store that inserts runs in one statement, and with one that
// does not. lose says after which point a reply of the store is lost, or 0.
func eachStore(t *testing.T, lose int, test func(*testing.T, *memory.Store, storage.Store)) {
	t.Run("update", func(t *testing.T) {
		m := memory.New()
		test(t, m, durabletest.LoseReply(m, lose))
	})
	t.Run("insert", func(t *testing.T) {
		m := memory.New()
		test(t, m, durabletest.Swift{Faulty: durabletest.LoseReply(m, lose)})
	})
}

func TestStartMany(t *testing.T) {
	eachStore(t, 0, func(t *testing.T, _ *memory.Store, s storage.Store) {
		created := 0
		e := newEngine(t, s, durable.OnEvent(func(_ context.Context, ev events.Event) {
			if ev.Kind == events.EventCreated {
				created++
			}
		}))
		const n = 6500 // more than one statement
		start := func(runs iter.Seq2[string, int], want int) error {
			t.Helper()
			before := created
			got, err := durable.StartMany(t.Context(), e, "work", runs, durable.Priority(7), durable.Timeout(time.Hour))
			if got != want || created-before != want {
				t.Errorf("created %d runs, with %d events, want %d", got, created-before, want)
			}
			return err
		}
		if err := start(counted(0, n), n); err != nil {
			t.Fatal(err)
		}
		if err := start(counted(100, n+100), 100); err != nil {
			t.Errorf("runs that exist: %v", err)
		}
		if err := start(joined(one("twice", 1), one("twice", 1)), 1); err != nil {
			t.Errorf("the same run twice: %v", err)
		}
		if err := durable.Start(t.Context(), e, "other", "other", 1); err != nil {
			t.Fatal(err)
		}
		err := start(joined(one("n-00007", 8), one("other", 1), one("new", 1), one("twice", 2), one("new", 2)), 1)
		got, want := wantAs[*durable.ConflictError](t, err), []string{"n-00007", "other", "twice", "new"}
		if !slices.Equal(got.Runs, want) {
			t.Errorf("conflicts %q, want %q", got.Runs, want)
		}
		wantError(t, err, durable.ErrConflict)
		if want := `4 runs exist with another function or input: give new ones other ids: ` +
			`"n-00007", "other", "twice" and 1 more`; err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
		r := wantRun(t, e, "n-06599", storage.StatusOpen)
		if r.Handler != "work" || r.Priority != 7 || r.Deadline.Sub(r.Created) != time.Hour {
			t.Errorf("got %+v", r)
		}
	})
}

// TestStartManyIsStart: StartMany records what Start does, with every option.
func TestStartManyIsStart(t *testing.T) {
	future := time.Now().Add(time.Hour)
	for name, options := range map[string][]durable.RunOption{
		"none": nil,
		"all": {
			durable.Version(2), durable.Retention(time.Hour), durable.FailedRetention(time.Minute), durable.Timeout(-1),
		},
		"at":       {durable.StartAt(future), durable.Timeout(time.Hour), durable.Priority(-3)},
		"at past":  {durable.StartAt(future.AddDate(-1, 0, 0)), durable.Timeout(time.Hour)},
		"budgeted": {durable.Budget(job.BudgetPolicy{Retries: 3, PerUnit: 1})},
	} {
		t.Run(name, func(t *testing.T) {
			eachStore(t, 0, func(t *testing.T, m *memory.Store, s storage.Store) {
				e := newEngine(t, s)
				if err := durable.Start(t.Context(), e, "work", "a", 1, options...); err != nil {
					t.Fatal(err)
				}
				if _, err := durable.StartMany(t.Context(), e, "work", one("b", 1), options...); err != nil {
					t.Fatal(err)
				}
				for _, kind := range []storage.Kind{storage.KindRun, storage.KindBudget} {
					both, err := m.Get(t.Context(), []storage.Key{{Kind: kind, Run: "a"}, {Kind: kind, Run: "b"}})
					if err != nil {
						t.Fatal(err)
					}
					later := both[1].Created.Sub(both[0].Created)
					for i, r := range both {
						r.Key.Run = ""
						if at := []*time.Time{&r.Created, &r.Due, &r.Deadline}; i == 1 {
							for _, at := range at {
								if !at.IsZero() && !at.Equal(future.UTC().Round(0)) && !at.Equal(future.UTC().Round(0).Add(time.Hour)) {
									*at = at.Add(-later)
								}
							}
						}
						both[i] = r
					}
					if got, want := fmt.Sprintf("%+v", both[1]), fmt.Sprintf("%+v", both[0]); got != want {
						t.Errorf("got %s\nwant %s", got, want)
					}
				}
			})
		})
	}
}

func TestStartManyChildren(t *testing.T) {
	eachStore(t, 0, func(t *testing.T, _ *memory.Store, s storage.Store) {
		e := newEngine(t, s)
		err := e.Run(t.Context(), "parent", func(ctx context.Context) error {
			for range 2 {
				if _, err := durable.StartMany(ctx, e, "work", counted(0, 1200), durable.Budget(job.BudgetPolicy{})); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(steps(t, e, "parent")); got != 1200 {
			t.Errorf("the parent records %d children", got)
		}
		if r := wantRun(t, e, "n-01199", storage.StatusOpen); r.Parent != "parent" {
			t.Errorf("the parent is %q", r.Parent)
		}
	})
}

// TestStartManyLostReply: after a lost reply, and when it is called again after an error,
// StartMany goes on, and takes no run for that of somebody else.
func TestStartManyLostReply(t *testing.T) {
	for point := 1; point <= 4; point++ {
		eachStore(t, point, func(t *testing.T, _ *memory.Store, s storage.Store) {
			e := newEngine(t, s)
			if _, err := durable.StartMany(t.Context(), e, "work", counted(0, 5100)); err != nil {
				t.Errorf("point %d: %v", point, err)
			}
			wantRun(t, e, "n-05099", storage.StatusOpen)
		})
	}
}

func TestStartManyStops(t *testing.T) {
	eachStore(t, 0, func(t *testing.T, _ *memory.Store, s storage.Store) {
		e := newEngine(t, s)
		n, err := durable.StartMany(t.Context(), e, "work", joined(counted(0, 5100), one("", 1)))
		if wantError(t, err, durable.ErrID); n != 5000 {
			t.Errorf("created %d runs before an id that is not possible", n)
		}
		_, err = durable.StartMany(t.Context(), e, "no name", one("a", 1))
		wantError(t, err, durable.ErrID)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("enough"))
		_, err = durable.StartMany(ctx, e, "work", one("a", 1))
		wantError(t, err, storage.ErrStore)
	})
}
