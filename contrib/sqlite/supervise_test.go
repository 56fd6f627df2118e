//go:build unix

package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"

	"github.com/retrygen/retrygen/contrib/sqlite"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// A slowBug is a panic value that is printed slowly. The Go runtime asks for its text after
// the deferred functions have run, and ends the process afterward. Whatever a deferred
// function has woken up can go on until then.
type slowBug struct{}

func (slowBug) Error() string {
	time.Sleep(100 * time.Millisecond)
	return "a bug"
}

// childSupervise works. It prints what happens to runs and steps, and dies of the
// run "crash".
func childSupervise(args []string) {
	debug.SetTraceback("none")
	store := must1(sqlite.Open(args[0]))
	engine := must1(durable.New(store, durable.OnEvent(func(_ context.Context, e events.Event) {
		fmt.Println(e.Kind, e.Run)
	})))
	step := genapi.StepPolicy{Name: "step", Idempotent: true, Policy: &retry.Policy{
		Name: "step", RetryUnknown: true,
		Schedule: retry.Schedule{MaxAttempts: 3, InitialDelay: time.Millisecond, MaxDelay: retry.None},
	}}
	call := func(ctx context.Context, s genapi.StepPolicy, fn func(context.Context) (int, error)) (int, error) {
		return genapi.Call(ctx, &s, genapi.ID(), genapi.Arguments(), fn)
	}
	durable.Handle(engine, "wait", func(ctx context.Context, _ int) (int, error) {
		s := step
		s.Policy = &retry.Policy{Name: "step", RetryUnknown: true,
			Schedule: retry.Schedule{InitialDelay: time.Hour, MaxDelay: time.Hour}}
		return call(ctx, s, func(context.Context) (int, error) { return 0, errors.New("unavailable") })
	})
	durable.Handle(engine, "execute", func(ctx context.Context, _ int) (int, error) {
		return call(ctx, step, func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() })
	})
	durable.Handle(engine, "crash", func(ctx context.Context, how string) (int, error) {
		switch how {
		case "exit":
			os.Exit(3)
		case "unit": // in a goroutine of its own
			g := job.NewGroup(job.GroupPolicy{Name: "group"}, "job")
			_, err := durable.Group(ctx, g, []string{"a"}, func(context.Context, string) (int, error) { panic(slowBug{}) }, nil)
			return 0, err
		}
		panic("a bug")
	})
	must(engine.Work(context.Background(), durable.Poll(10*time.Millisecond)))
}

// until reads lines until it has read all that are wanted, in any order.
func (p *process) until(lines ...string) {
	p.t.Helper()
	missing := map[string]bool{}
	for _, line := range lines {
		missing[line] = true
	}
	for len(missing) > 0 {
		delete(missing, p.line())
	}
}

// TestCrashesArePaused: a run that kills each process that executes it is paused
// after 10 of them. A run that only waits is not, and the panic of another run makes
// no attempt a lost one.
func TestCrashesArePaused(t *testing.T) {
	for _, how := range []string{"panic", "unit", "exit"} {
		t.Run(how, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.db")
			engine, err := durable.New(open(t, path))
			if err != nil {
				t.Fatal(err)
			}
			defer engine.Close(t.Context())
			launch := func(name, input string) {
				t.Helper()
				if err := durable.Start(t.Context(), engine, name, name, input); err != nil {
					t.Fatal(err)
				}
			}
			start := func() *process { return start(t, "supervise", path) }
			p := start()
			begin := func(name string) {
				t.Helper()
				if err := durable.Start(t.Context(), engine, name, name, 1); err != nil {
					t.Fatal(err)
				}
			}
			begin("wait")
			p.until("attempt failed wait")
			if how != "exit" { // of a killed process, nobody knows the cause
				begin("execute")
				p.until("attempt started execute")
			}
			launch("crash", how)
			for n := range 10 {
				p.rest()
				_ = p.cmd.Wait()
				if n < 9 {
					p = start()
				}
			}
			p = start()
			p.until("paused crash")
			for run, err := range engine.Admin().List(t.Context(), storage.Query{}) {
				if err != nil {
					t.Fatal(err)
				}
				if want := run.ID == "crash"; want != (run.Status == storage.StatusPaused) || !want && run.Recoveries > 0 {
					t.Errorf("run %s is %v after %d recoveries", run.ID, run.Status, run.Recoveries)
				}
			}
			for s, err := range engine.Admin().Steps(t.Context(), admin.Filter{}) {
				if err != nil || s.Lost > 0 {
					t.Errorf("got %+v, %v; want no lost attempt", s, err)
				}
			}
		})
	}
}
