//go:build unix

package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/retrygen/retrygen/contrib/postgres/pgtest"
	"github.com/retrygen/retrygen/contrib/sqlite"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

var update = flag.Bool("update", false, "rewrite the expected output in the scripts")

func TestMain(m *testing.M) {
	testscript.Main(tests{m}, map[string]func(){
		"retryctl": main, "seed": seed, "sql": execute, "cut": cut,
	})
}

// tests stops the server of package pgtest after the tests.
type tests struct{ *testing.M }

// Run runs the tests.
func (t tests) Run() int { return pgtest.Main(t.M) }

func TestScript(t *testing.T) {
	t.Parallel()
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

// seed is the command seed FILE [KIND]: it creates a store by executing runs, those in
// several states without a kind.
func seed() {
	kind := ""
	if len(os.Args) > 2 {
		kind = os.Args[2]
	}
	store, err := sqlite.Open(os.Args[1])
	if err == nil {
		err = errors.Join(fills[kind](context.Background(), store), store.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "seed:", err)
		os.Exit(1)
	}
}

// fills are what the command seed executes.
var fills = map[string]func(context.Context, storage.Store) error{
	"": fill, "refused": fillRefused, "values": fillValues, "standings": fillStandings, "jobs": fillJobs,
}

// execute is the command sql FILE STATEMENT: it changes a store as no engine does.
func execute() {
	db, err := sql.Open("sqlite", os.Args[1])
	if err == nil {
		_, err = db.Exec(os.Args[2])
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sql:", err)
		os.Exit(1)
	}
}

// cut is the command cut N FILE COPY: it copies the first N bytes of a file.
func cut() {
	n, err := strconv.Atoi(os.Args[1])
	var text []byte
	if err == nil {
		text, err = os.ReadFile(os.Args[2])
	}
	if err == nil {
		err = os.WriteFile(os.Args[3], text[:n], 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cut:", err)
		os.Exit(1)
	}
}

// hostile is a text that takes over a terminal that shows it.
const hostile = "\x1b]0;owned\x07\x1b[31mred\u202e\u0085\xff\nsecond line"

// fill executes runs on a store, so that there is one in each state.
func fill(ctx context.Context, store storage.Store) error {
	e, err := durable.New(store)
	if err != nil {
		return err
	}
	shared := &breaker.Policy{Name: "bank", Failures: 3, OpenFor: time.Hour}
	quick := retry.Policy{Name: "charge", RetryUnknown: true,
		Schedule: retry.Schedule{MaxAttempts: 2, InitialDelay: time.Microsecond}}
	slow := retry.Policy{Name: "mail", RetryUnknown: true,
		Schedule: retry.Schedule{MaxAttempts: 5, InitialDelay: time.Hour}}
	charge := genapi.StepPolicy{
		Name: "Charge", Policy: &quick, Idempotent: true, OnExhausted: genapi.ExhaustedDeadLetter,
	}
	book := genapi.StepPolicy{Name: "Book", Policy: &quick, OnExhausted: genapi.ExhaustedPause, Breaker: shared}
	mail := genapi.StepPolicy{Name: "Mail", Policy: &slow, Idempotent: true, ParkAfter: time.Second}
	call := func(ctx context.Context, s *genapi.StepPolicy, id string, err error) error {
		_, err = genapi.Call(ctx, s, genapi.ID(id), genapi.Digest{},
			func(context.Context) (string, error) { return "receipt", err })
		return err
	}
	runs := []struct {
		id string
		fn func(context.Context) error
	}{
		{"orders/1", func(ctx context.Context) error { return call(ctx, &charge, "o1", nil) }},
		{"orders/2", func(ctx context.Context) error { return call(ctx, &charge, "o2", errors.New("connection refused")) }},
		{"orders/3", func(ctx context.Context) error {
			return errors.Join(call(ctx, &charge, "o3", nil), call(ctx, &charge, "o4", errors.New("HTTP 503 from bank-7")))
		}},
		{"bookings", func(ctx context.Context) error { return call(ctx, &book, "b1", errors.New("no such account")) }},
		{"mails", func(ctx context.Context) error { return call(ctx, &mail, "m1", errors.New("connection reset")) }},
		{"hostile\x1b[2J", func(ctx context.Context) error { return call(ctx, &charge, hostile, errors.New(hostile)) }},
	}
	for _, r := range runs {
		_ = e.Run(ctx, r.id, r.fn, durable.Budget(job.BudgetPolicy{Retries: 20}))
	}
	return e.Close(ctx)
}
