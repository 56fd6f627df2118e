package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/retrygen/retrygen/contrib/postgres"
	"github.com/retrygen/retrygen/contrib/postgres/pgtest"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// openSharded opens shards that are closed when the test ends.
func openSharded(t *testing.T, urls ...string) ([]storage.Store, error) {
	t.Helper()
	stores, err := postgres.OpenSharded(t.Context(), urls)
	t.Cleanup(func() {
		for _, s := range stores {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return stores, err
}

// TestPlacesOfShards: databases are refused if they would not have the runs that
// the hash looks for there.
func TestPlacesOfShards(t *testing.T) {
	a, b, c := pgtest.URL(t), pgtest.URL(t), pgtest.URL(t)
	if _, err := openSharded(t, a, b); err != nil {
		t.Fatal(err)
	}
	if _, err := openSharded(t, a, b); err != nil {
		t.Errorf("again: %v", err)
	}
	for name, urls := range map[string][]string{
		"one more": {a, b, c}, "one less": {a}, "another order": {b, a}, "twice the same": {a, a},
	} {
		if _, err := openSharded(t, urls...); !errors.Is(err, storage.ErrFormat) {
			t.Errorf("%s: err = %v, want ErrFormat", name, err)
		}
	}
	if s, err := postgres.Open(t.Context(), b); !errors.Is(err, storage.ErrFormat) {
		t.Errorf("a shard alone: %v, %v; want ErrFormat", s, err)
	}
	alone := pgtest.URL(t)
	put(t, open(t, alone), storage.Record{Key: runKey("run"), Status: storage.StatusOpen, Bucket: month,
		Body: []byte("{}")})
	if _, err := openSharded(t, alone, pgtest.URL(t)); !errors.Is(err, storage.ErrFormat) {
		t.Errorf("with runs that are not sharded: err = %v, want ErrFormat", err)
	}
	d, e := pgtest.URL(t), pgtest.URL(t)
	if _, err := openSharded(t, d, e); err != nil {
		t.Fatal(err)
	}
	if _, err := openSharded(t, a, e); !errors.Is(err, storage.ErrFormat) {
		t.Errorf("databases of two programs: err = %v, want ErrFormat", err)
	}
	if _, err := openSharded(t); !errors.Is(err, storage.ErrStore) {
		t.Errorf("no shards: err = %v, want ErrStore", err)
	}
	if _, err := postgres.OpenSharded(t.Context(), []string{a, b}, postgres.Listen(a)); !errors.Is(err, storage.ErrStore) {
		t.Errorf("Listen: err = %v, want ErrStore", err)
	}
}

// TestShardsOpenedAtOnce: processes that open new shards simultaneously agree.
func TestShardsOpenedAtOnce(t *testing.T) {
	urls := []string{pgtest.URL(t), pgtest.URL(t)}
	errs := make([]error, 4)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { _, errs[i] = openSharded(t, urls...) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}

// TestShardedJobs: parents and their children are executed on two databases, and
// no database has a part of another one's run.
func TestShardedJobs(t *testing.T) {
	stores, err := openSharded(t, pgtest.URL(t), pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	s, err := durable.NewSharded(stores)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range s.Engines() {
		durable.Handle(e, "part", func(ctx context.Context, n int) (int, error) {
			return durable.Step(ctx, "square", nil, func(context.Context) (int, error) { return n * n, nil })
		})
		durable.Handle(e, "sum", func(ctx context.Context, run string) (total int, err error) {
			for i := range 3 {
				if err := durable.Start(ctx, e, "part", fmt.Sprint(run, "/", i), i); err != nil {
					return 0, err
				}
			}
			for i := range 3 {
				n, err := durable.Await[int](ctx, e, fmt.Sprint(run, "/", i))
				if err != nil {
					return 0, err
				}
				total += n
			}
			return total, nil
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Work(ctx) }()
	var want []string
	for i := range 6 {
		run := fmt.Sprint("job-", i)
		want = append(want, run, run+"/0", run+"/1", run+"/2")
		if err := durable.Start(t.Context(), s.Engine(run), "sum", run, run); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 6 {
		run := fmt.Sprint("job-", i)
		if total, err := durable.Await[int](t.Context(), s.Engine(run), run); err != nil || total != 5 {
			t.Errorf("%s: %d, %v; want 5", run, total, err)
		}
	}
	cancel()
	if err := errors.Join(<-done, s.Close(t.Context())); err != nil {
		t.Error(err)
	}
	var got []string
	for info, err := range admin.ListAll(t.Context(), s.Admins(), storage.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, info.ID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("runs %v, want %v", got, want)
	}
	for i, e := range s.Engines() {
		n := 0
		for info, err := range e.Admin().List(t.Context(), storage.Query{}) {
			if n++; err != nil || s.Engine(info.ID) != e {
				t.Errorf("shard %d has run %q, %v", i, info.ID, err)
			}
		}
		if n == 0 {
			t.Errorf("shard %d has no runs", i)
		}
	}
}
