package durable_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/shared"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// newSharded returns engines over n memory stores, and the stores.
func newSharded(t *testing.T, n int) (*durable.Sharded, []*durabletest.Faulty) {
	t.Helper()
	var faulty []*durabletest.Faulty
	var stores []storage.Store
	for range n {
		f := durabletest.CrashAt(memory.New(), 0)
		faulty, stores = append(faulty, f), append(stores, f)
	}
	s, err := durable.NewSharded(stores)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) }) // the store of some has failed
	return s, faulty
}

func TestShardOfRun(t *testing.T) {
	s, _ := newSharded(t, 4)
	runs := map[*durable.Engine]int{}
	for i := range 1000 {
		run := fmt.Sprint("import-", i)
		e := s.Engine(run)
		runs[e]++
		for _, child := range []string{"/", "/a", "/a/b"} {
			if s.Engine(run+child) != e {
				t.Fatalf("%q is on another shard than %q", run+child, run)
			}
		}
	}
	for i, e := range s.Engines() {
		if n := runs[e]; n < 150 || n > 350 {
			t.Errorf("shard %d has %d of 1000 runs, want about 250", i, n)
		}
	}
	// The hash never changes: the runs of yesterday are where it says.
	for run, shard := range map[string]int{"import-7": 0, "settle-2026-11-22": 3} {
		if got := slices.Index(s.Engines(), s.Engine(run)); got != shard {
			t.Errorf("run %q is on shard %d, want %d", run, got, shard)
		}
	}
	if _, err := durable.NewSharded(nil); err == nil {
		t.Error("no shards are accepted")
	}
}

// elsewhere returns an id without the prefix of a run that is on another shard.
func elsewhere(s *durable.Sharded, run string) string {
	for i := 0; ; i++ {
		if id := fmt.Sprint("other-", i); s.Engine(id) != s.Engine(run) {
			return id
		}
	}
}

// TestOtherShard: nothing is executed on a shard to which it does not belong.
func TestOtherShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newSharded(t, 3)
		other := elsewhere(s, "one")
		e := s.Engine("one")
		never := func(context.Context) error { t.Error("executed"); return nil }
		wantError(t, e.Run(t.Context(), other, never), durable.ErrShard)
		wantError(t, durable.Start(t.Context(), e, "copy", other, 1), durable.ErrShard)
		_, err := e.Admin().Import(t.Context(), other, nil)
		wantError(t, err, durable.ErrShard)
		err = e.Run(t.Context(), "one", func(ctx context.Context) error {
			err := durable.Start(ctx, s.Engine(other), "copy", other, 1)
			if !errors.Is(err, durable.ErrShard) || !strings.Contains(err.Error(), `let its id begin with "one/"`) {
				t.Errorf("a child elsewhere: %v", err)
			}
			wantError(t, s.Engine(other).Run(ctx, other, never), durable.ErrShard)
			return durable.Start(ctx, s.Engine("one/a"), "copy", "one/a", 1)
		})
		if err != nil {
			t.Fatal(err)
		}
		for info, err := range admin.ListAll(t.Context(), s.Admins(), storage.Query{}) {
			if err != nil || info.ID != "one" && info.Parent != "one" {
				t.Errorf("%+v, %v", info, err)
			}
		}
	})
}

// TestStoredBudgetOfShards: a breaker or a budget in a store cannot be one for all
// shards. One that a link connects is.
func TestStoredBudgetOfShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newSharded(t, 2)
		policy := retry.Policy{Name: "ping", RetryUnknown: true,
			Schedule: retry.Schedule{MaxAttempts: 10, InitialDelay: time.Millisecond}}
		limit := shared.NewBudget(budget.Policy{Name: "all", Burst: 3, MinPerSecond: budget.NoRefill})
		c, err := shared.Link{Store: memory.New()}.Connect(t.Context(), shared.Set{
			Budgets: []*shared.Budget{limit},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(t.Context())
		calls := 0
		call := func(run string, step genapi.StepPolicy) (err error) {
			step.Name, step.Policy = "ping", &policy
			_ = s.Engine(run).Run(t.Context(), run, func(ctx context.Context) error {
				_, err = genapi.Call(ctx, &step, genapi.ID(), genapi.Digest{}, down(&calls))
				return nil
			})
			return err
		}
		wantError(t, call("one", genapi.StepPolicy{Budget: &budget.Policy{Name: "all"}}), durable.ErrShard)
		wantError(t, call("three", genapi.StepPolicy{Breaker: &breaker.Policy{Name: "all"}}), durable.ErrShard)
		if calls != 0 {
			t.Errorf("%d calls of refused steps", calls)
		}
		shared := genapi.StepPolicy{Shared: retry.Shared{Budget: limit}}
		wantError(t, call("two", shared), retry.ErrBudget)
		wantError(t, call(elsewhere(s, "two"), shared), retry.ErrBudget)
		if calls != 2+3 {
			t.Errorf("%d calls on two shards, want 2 and the 3 retries of the budget", calls)
		}
	})
}

// TestWorkOfShards: workers execute the runs of all shards, and lists are ordered
// by id.
func TestWorkOfShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, stores := newSharded(t, 3)
		for _, e := range s.Engines() {
			durable.Handle(e, "double", func(ctx context.Context, n int) (int, error) {
				return durable.Step(ctx, "double", nil, func(context.Context) (int, error) { return 2 * n, nil })
			})
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Work(ctx) }()
		var want []string
		for i := range 20 {
			id := fmt.Sprintf("run-%02d", i)
			want = append(want, id)
			if err := durable.Start(t.Context(), s.Engine(id), "double", id, i); err != nil {
				t.Fatal(err)
			}
		}
		for i, id := range want {
			if n, err := durable.Await[int](t.Context(), s.Engine(id), id); err != nil || n != 2*i {
				t.Errorf("%s: %d, %v; want %d", id, n, err, 2*i)
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Work: %v", err)
		}
		var runs, steps []string
		for info, err := range admin.ListAll(t.Context(), s.Admins(), storage.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			runs = append(runs, info.ID)
		}
		for info, err := range admin.StepsAll(t.Context(), s.Admins(), admin.Filter{}) {
			if err != nil {
				t.Fatal(err)
			}
			steps = append(steps, info.Run)
		}
		if !slices.Equal(runs, want) || !slices.Equal(steps, want) {
			t.Errorf("runs %v, steps of %v; want %v", runs, steps, want)
		}
		for range admin.ListAll(t.Context(), s.Admins(), storage.Query{}) {
			break // releases all shards
		}
		stores[1].Crash()
		var err error
		for _, err = range admin.ListAll(t.Context(), s.Admins(), storage.Query{}) {
		}
		wantError(t, err, storage.ErrStore)
		for _, err = range admin.ListAll(t.Context(), s.Admins(), storage.Query{From: "x"}) {
		}
		wantError(t, err, admin.ErrShards)
	})
}
