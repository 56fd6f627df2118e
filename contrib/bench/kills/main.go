//go:build unix

// Kills repeatedly kills processes that execute runs on PostgreSQL or SQLite, and checks
// that the store has recorded what the processes have done.
//
//	go run ./kills -on sqlite -n 1000
//	go run ./kills -on postgres -n 1000
//
// It prints its counts, and exits with status 1 if a promise is broken. Package
// runtime/durable/durabletest/kills contains the runs and the workers, and lists the
// promises.
//
// On PostgreSQL, it starts a server, and also kills this server. The workers reach the
// server through a proxy. The proxy cuts connections, sometimes between a commit and its
// reply, and sometimes passes on nothing for longer than a lease. On two busy processors,
// -n 1000 takes two minutes on SQLite and eight on PostgreSQL.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"time"

	"github.com/retrygen/retrygen/contrib/postgres"
	"github.com/retrygen/retrygen/contrib/postgres/pgtest"
	"github.com/retrygen/retrygen/contrib/sqlite"
	"github.com/retrygen/retrygen/runtime/durable/durabletest/kills"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

func main() {
	if len(os.Args) == 4 && os.Args[1] == workerArg {
		os.Exit(worker(os.Args[2], os.Args[3]))
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// workerArg is the first argument of a worker. The kind of store and its place follow.
const workerArg = "worker-process"

func run(args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("kills", flag.ContinueOnError)
	flags.SetOutput(errs)
	n := flags.Int("n", 100, "number of kills")
	on := flags.String("on", "sqlite", "sqlite or postgres")
	open := map[string]func(context.Context, *place) error{"sqlite": onSQLite, "postgres": onPostgres}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil || flags.NArg() > 0 || *n < 1 || open[*on] == nil:
		fmt.Fprintln(errs, "kills: want -n above 0, -on sqlite or postgres, and no arguments: see -help")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	begin := time.Now()
	p := &place{Trial: kills.Trial{Kills: *n}}
	defer p.close()
	if err := open[*on](ctx, p); err != nil {
		fmt.Fprintln(errs, "kills:", err)
		return 1
	}
	report, err := p.Run(ctx)
	if report != nil {
		fmt.Fprintf(out, "%s, %v\n%s", *on, time.Since(begin).Round(time.Second), report)
	}
	if err != nil {
		fmt.Fprintln(errs, "kills:", err)
	}
	if err != nil || len(report.Violations) > 0 {
		return 1
	}
	return 0
}

// A place is a trial, and what is left of it in the end.
type place struct {
	kills.Trial
	rest []func()
}

func (p *place) close() {
	for _, f := range slices.Backward(p.rest) {
		f()
	}
}

// onSQLite lets a trial use a new file.
func onSQLite(_ context.Context, p *place) error {
	dir, err := os.MkdirTemp("", "kills-")
	if err != nil {
		return err
	}
	p.rest = append(p.rest, func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "state.db")
	store, err := sqlite.Open(path)
	if err != nil {
		return err
	}
	p.rest = append(p.rest, func() { _ = store.Close() })
	p.Store, p.Worker = store, workerOn("sqlite", path)
	return nil
}

// onPostgres lets a trial use a new server.
func onPostgres(ctx context.Context, p *place) error {
	server, err := pgtest.New("fsync=on")
	if err != nil {
		return err
	}
	p.rest = append(p.rest, server.Remove)
	url := server.DatabaseURL("postgres")
	store, err := postgres.Open(ctx, url)
	if err != nil {
		return err
	}
	p.rest = append(p.rest, func() { _ = store.Close() })
	proxy, through, err := pgtest.Listen(url)
	if err != nil {
		return err
	}
	p.rest = append(p.rest, proxy.Close)
	cutCommits := func() error { proxy.CutCommits(1 + rand.IntN(10)); return nil }
	cutOff := func() error {
		proxy.Freeze(true)
		time.AfterFunc(kills.Lease*3/2, func() { proxy.Freeze(false) })
		return nil
	}
	p.Store, p.Worker = store, workerOn("postgres", through)
	p.Disturb = []func() error{
		cutCommits, func() error { proxy.Cut(); return nil }, cutCommits,
		func() error { server.Kill(); return server.StartAgain() }, cutOff,
	}
	return nil
}

// workerOn returns the command of a worker.
func workerOn(kind, place string) func() *exec.Cmd {
	return func() *exec.Cmd { return exec.Command(os.Args[0], workerArg, kind, place) }
}

// worker is the process.
func worker(kind, place string) int {
	ctx := context.Background()
	store, err := openStore(ctx, kind, place)
	for err != nil && kind == "postgres" { // the server restarts
		time.Sleep(10 * time.Millisecond)
		store, err = openStore(ctx, kind, place)
	}
	if err == nil {
		err = kills.Work(ctx, store, os.Stdout)
	}
	fmt.Fprintln(os.Stderr, "kills:", err)
	return 1
}

func openStore(ctx context.Context, kind, place string) (storage.Store, error) {
	if kind == "postgres" {
		return postgres.Open(ctx, place)
	}
	return sqlite.Open(place)
}
