//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/retrygen/retrygen/contrib/postgres"
	"github.com/retrygen/retrygen/contrib/postgres/pgtest"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/durabletest/kills"
	"github.com/retrygen/retrygen/runtime/durable/events"
)

// childWork is a worker on the database at a URL. A server that restarts may refuse
// its first connection.
func childWork(args []string) {
	store, err := postgres.Open(context.Background(), args[0])
	for err != nil {
		store, err = postgres.Open(context.Background(), args[0])
	}
	must(kills.Work(context.Background(), store, os.Stdout))
}

// TestWorkers lets processes work on one database, while workers are killed and stopped
// for longer than their lease, connections are cut, some after a commit, and the server
// is killed and restarted. contrib/bench/kills does so for longer.
func TestWorkers(t *testing.T) {
	server := pgtest.Start(t)
	url := server.URL(t)
	proxy, through := pgtest.NewProxy(t, url)
	cutCommits := func() error { proxy.CutCommits(1 + rand.IntN(5)); return nil }
	trial := kills.Trial{
		Store: open(t, url), Worker: func() *exec.Cmd { return child("work", through) }, Kills: 20,
		Disturb: []func() error{
			cutCommits, func() error { server.Kill(); return server.StartAgain() }, cutCommits,
			func() error { proxy.Cut(); return nil },
		},
	}
	report, err := trial.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if t.Log(report); len(report.Violations) > 0 || report.Outcomes[events.OutcomeLost] == 0 {
		t.Error("want no violations, and attempts that are lost")
	}
}

// TestNewTimeline: after a failover no run is claimed, until that is accepted.
func TestNewTimeline(t *testing.T) {
	server := pgtest.Start(t, "fsync=off")
	store := open(t, server.URL(t))
	engine, err := durable.New(store)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close(t.Context())
	nothing := func(context.Context) error { return nil }
	if err := engine.Run(t.Context(), "before", nothing); err != nil {
		t.Fatal(err)
	}
	server.Promote(t)
	// The first update may meet with the connections of the old server.
	if err := engine.Run(t.Context(), "after", nothing); !errors.Is(err, durable.ErrIncarnation) {
		t.Fatalf("got error %v, want ErrIncarnation", err)
	}
	if err := engine.Admin().Accept(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := engine.Run(t.Context(), "after", nothing); err != nil {
		t.Errorf("accepted: %v", err)
	}
}

// TestWorkerNotified: a worker executes the run of another program without waiting
// for its poll, and so does a caller of Await.
func TestWorkerNotified(t *testing.T) {
	url := pgtest.URL(t)
	engines := make([]*durable.Engine, 2)
	for i := range engines {
		var err error
		if engines[i], err = durable.New(open(t, url)); err != nil {
			t.Fatal(err)
		}
		defer engines[i].Close(t.Context())
	}
	durable.Handle(engines[0], "double", func(_ context.Context, n int) (int, error) { return 2 * n, nil })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error)
	go func() { done <- engines[0].Work(ctx, durable.Poll(time.Hour)) }()
	for i := range 20 {
		id := fmt.Sprint("run-", i)
		if err := durable.Start(ctx, engines[1], "double", id, i); err != nil {
			t.Fatal(err)
		}
		if got, err := durable.Await[int](ctx, engines[1], id); got != 2*i || err != nil {
			t.Fatalf("got %d, %v; want %d", got, err, 2*i)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
