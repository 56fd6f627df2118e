//go:build unix

package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/retrygen/retrygen/contrib/sqlite"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// unit is a step that fails once, or is killed.
var unit = genapi.StepPolicy{
	Name: "unit", Idempotent: true, LostMax: 1000,
	Policy: &retry.Policy{
		Name:     "unit",
		Schedule: retry.Schedule{MaxAttempts: 3, InitialDelay: 5 * time.Millisecond, MaxDelay: 5 * time.Millisecond},
	},
}

// registerJob lets an engine execute jobs, each with three steps. It prints the
// attempts that it makes.
func registerJob(e *durable.Engine) {
	durable.Handle(e, "job", func(ctx context.Context, name string) (sum int, err error) {
		for i := range 3 {
			n, err := genapi.Call(ctx, &unit, genapi.ID(i), genapi.Arguments(), func(ctx context.Context) (int, error) {
				info, _ := durable.Current(ctx)
				fmt.Printf("%s %s %d\n", info.Run, info.Step, info.Attempt)
				time.Sleep(2 * time.Millisecond) // the work
				if info.Attempt == 1 {
					return 0, errors.New("connection refused")
				}
				return i, nil
			})
			if err != nil {
				return 0, err
			}
			sum += n
		}
		return sum, nil
	}, durable.Budget(job.BudgetPolicy{Retries: 1000, PerUnit: 1000, MaxRetries: 1000, MaxPerUnit: 1000}))
}

func childWork(args []string) {
	store := must1(sqlite.Open(args[0]))
	engine := must1(durable.New(store))
	registerJob(engine)
	fmt.Println("works")
	must(engine.Work(context.Background(), durable.MaxRuns(4), durable.Poll(10*time.Millisecond)))
}

// TestWorkers lets four processes work, and kills one of them again and again.
// Every job succeeds, no attempt number is used twice, and the budget counts the
// retries that were made.
func TestWorkers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	engine, err := durable.New(open(t, path))
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close(t.Context())
	registerJob(engine)
	const jobs = 20
	for i := range jobs {
		if err := durable.Start(t.Context(), engine, "job", fmt.Sprint("job-", i), "x"); err != nil {
			t.Fatal(err)
		}
	}
	workers := make([]*process, 4)
	var printed []string
	output := make(chan []string, 100)
	launch := func(i int) {
		workers[i] = start(t, "work", path)
		workers[i].expect("works")
		p := workers[i]
		go func() { output <- p.rest() }()
	}
	for i := range workers {
		launch(i)
	}
	const kills = 10
	for range kills {
		time.Sleep(rand.N(60 * time.Millisecond)) // anywhere in their work
		i := rand.IntN(len(workers))
		workers[i].kill()
		launch(i)
	}
	for i := range jobs {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		got, err := durable.Await[int](ctx, engine, fmt.Sprint("job-", i))
		cancel()
		if got != 3 || err != nil {
			t.Errorf("job %d: %d, %v; want 3", i, got, err)
		}
	}
	for _, w := range workers {
		w.kill()
	}
	for range len(workers) + kills {
		printed = append(printed, <-output...)
	}
	seen := map[string]bool{}
	for _, line := range printed {
		if seen[line] && strings.Count(line, " ") == 2 {
			t.Errorf("attempt %q was made twice", line)
		}
		seen[line] = true
	}
	checkSteps(t, engine, jobs)
}

// checkSteps compares what is recorded of the steps with their history.
func checkSteps(t *testing.T, engine *durable.Engine, jobs int) {
	t.Helper()
	steps, lost := 0, 0
	for s, err := range engine.Admin().Steps(t.Context(), admin.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		steps++
		lost += s.Lost
		if s.Status != storage.StatusSucceeded || s.Failures > 1 {
			t.Errorf("%+v", s)
		}
		n := 0
		for a, err := range engine.Admin().Attempts(t.Context(), s.Run, s.Step) {
			if err != nil {
				t.Fatal(err)
			}
			if !a.Late {
				n++
			}
		}
		if n != s.Attempts {
			t.Errorf("%s of %s: %d entries for %d attempts", s.Step, s.Run, n, s.Attempts)
		}
	}
	if steps != 3*jobs {
		t.Errorf("%d steps, want %d", steps, 3*jobs)
	}
	t.Logf("%d attempts were lost", lost)
}
