package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/retrygen/retrygen/contrib/sqlite"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
)

var update = flag.Bool("update", false, "rewrite the expected output in the scripts")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"retryctl": main, "seed": seed, "newer": newer})
}

func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", RequireExplicitExec: true, UpdateScripts: *update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, "TZ=UTC", "USER=ada", "HOME="+e.WorkDir)
			return nil
		},
	})
}

// exits is the command exits STATUS COMMAND: the command must exit with a status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits status command [args...]")
	}
	status := 0
	err := ts.Exec(args[1], args[2:]...)
	if failure, ok := errors.AsType[*exec.ExitError](err); ok {
		status = failure.ExitCode()
	} else {
		ts.Check(err)
	}
	ts.Logf("[stdout]\n%s[stderr]\n%s", ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	if fmt.Sprint(status) != args[0] {
		ts.Fatalf("exit status %d, want %s", status, args[0])
	}
}

// seed is the command seed FILE: it creates a store with runs in several states, by
// executing them.
func seed() {
	store, err := sqlite.Open(os.Args[1])
	if err == nil {
		err = errors.Join(fill(context.Background(), store), store.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "seed:", err)
		os.Exit(1)
	}
}

// newer is the command newer FILE: it makes a store look as if a newer version had
// written it.
func newer() {
	db, err := sql.Open("sqlite", os.Args[1])
	if err == nil {
		_, err = db.Exec("UPDATE retry_meta SET value = '99' WHERE key = 'oldest_writer'")
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "newer:", err)
		os.Exit(1)
	}
}

// hostile is a text that takes over a terminal that shows it.
const hostile = "\x1b]0;owned\x07\x1b[31mred\u202e\u0085\xff\nsecond line"

// fill executes runs on a store.
func fill(ctx context.Context, store durable.Store) error {
	e, err := durable.New(store)
	if err != nil {
		return err
	}
	quick := retry.Policy{Name: "charge", Schedule: retry.Schedule{MaxAttempts: 2, InitialDelay: time.Microsecond}}
	charge := durable.StepPolicy{
		Name: "Charge", Policy: &quick, Idempotent: true, OnExhausted: durable.ExhaustedDeadLetter,
	}
	call := func(ctx context.Context, id string, f func() error) error {
		_, err := durable.Call(ctx, &charge, durable.ID(id), durable.Digest{},
			func(context.Context) (string, error) { return "receipt", f() })
		return err
	}
	fails := func(text string) func() error { return func() error { return errors.New(text) } }
	works := func() error { return nil }
	runs := []struct {
		id string
		fn func(context.Context) error
	}{
		{"orders/1", func(ctx context.Context) error { return call(ctx, "o1", works) }},
		{"orders/2", func(ctx context.Context) error { return call(ctx, "o2", fails("connection refused")) }},
		{"orders/3", func(ctx context.Context) error {
			return errors.Join(call(ctx, "o3", works), call(ctx, "o4", fails("HTTP 503 from bank-7")))
		}},
		{"hostile\x1b[2J", func(ctx context.Context) error { return call(ctx, hostile, fails(hostile)) }},
	}
	for _, r := range runs {
		_ = e.Run(ctx, r.id, r.fn)
	}
	return e.Close(ctx)
}
