//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/retrygen/retrygen/contrib/postgres"
	"github.com/retrygen/retrygen/contrib/postgres/pgtest"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// shards is the number of units of the group.
const shards = 40

// unit is a step that fails once, or is killed.
var unit = genapi.StepPolicy{
	Name: "unit", Idempotent: true, LostMax: 1000,
	Policy: &retry.Policy{
		Name:     "unit",
		Schedule: retry.Schedule{MaxAttempts: 3, InitialDelay: 5 * time.Millisecond, MaxDelay: 5 * time.Millisecond},
	},
}

// registerGroup lets an engine execute a group of runs. Every fifth of them fails.
// It prints the attempts that it makes.
func registerGroup(e *durable.Engine) {
	durable.Handle(e, "import", func(ctx context.Context, _ string) (int, error) {
		g := job.NewGroup(job.GroupPolicy{
			Name: "import", Workers: 10, OnUnitFailure: job.FailureDeadLetter,
			Budget: &job.BudgetPolicy{Retries: 1000, PerUnit: 1000, MaxRetries: 1000, MaxPerUnit: 1000},
		}, "job")
		var units []string
		for i := range shards {
			units = append(units, fmt.Sprintf("shard-%d", i))
		}
		out, err := durable.GroupRuns[string, int](ctx, g, "shard", units, func(shard string) string { return shard }, nil)
		return out.Completed, err
	})
	durable.Handle(e, "shard", func(ctx context.Context, shard string) (int, error) {
		if strings.HasSuffix(shard, "4") || strings.HasSuffix(shard, "9") {
			return 0, errors.New("broken")
		}
		return genapi.Call(ctx, &unit, genapi.ID(), genapi.Arguments(), func(ctx context.Context) (int, error) {
			info, _ := durable.Current(ctx)
			fmt.Println(shard, info.Attempt)
			<-time.After(2 * time.Millisecond) // the work
			if info.Attempt == 1 {
				return 0, errors.New("connection refused")
			}
			return 1, nil
		})
	})
}

func childGroup(args []string) {
	store, err := postgres.Open(context.Background(), args[0])
	must(err)
	engine, err := durable.New(store, durable.Lease(time.Second))
	must(err)
	registerGroup(engine)
	must(engine.Work(context.Background(), durable.MaxRuns(4), durable.Poll(50*time.Millisecond)))
}

// TestGroupRuns lets three workers execute the units of a group, and kills one of
// them again and again. Every unit ends once, no attempt is executed twice, and the
// budget counts the retries that all workers were granted.
func TestGroupRuns(t *testing.T) {
	url := pgtest.URL(t)
	engine, err := durable.New(open(t, url))
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close(t.Context())
	registerGroup(engine)
	if err := durable.Start(t.Context(), engine, "import", "job", "x"); err != nil {
		t.Fatal(err)
	}
	var out output
	workers := make([]*process, 3)
	for i := range workers {
		workers[i] = start(t, &out, "group", url)
	}
	for range 5 {
		for n := out.count(); out.count() < n+5 && t.Context().Err() == nil; {
			<-time.After(time.Millisecond)
		}
		i := rand.IntN(len(workers))
		workers[i].kill()
		workers[i] = start(t, &out, "group", url)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := durable.Await[int](ctx, engine, "job")
	if err != nil || got != shards*4/5 {
		t.Errorf("got %d, %v; want %d", got, err, shards*4/5)
	}
	for _, w := range workers {
		w.kill()
	}
	out.all.Wait()
	seen := map[string]bool{}
	for _, line := range out.lines {
		if seen[line] {
			t.Errorf("attempt %q was made twice", line)
		}
		seen[line] = true
	}
	checkGroup(t, engine)
}

// checkGroup compares the counters of the group with its units, and its budget
// with the history of their steps.
func checkGroup(t *testing.T, engine *durable.Engine) {
	t.Helper()
	units, granted, waits := map[storage.Status]int{}, 0, 0
	for s, err := range engine.Admin().Steps(t.Context(), admin.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if s.Group != "" {
			units[s.Status]++
			granted += s.Retries
			continue
		}
		for a, err := range engine.Admin().Attempts(t.Context(), s.Run, s.Step) {
			if err != nil {
				t.Fatal(err)
			}
			if a.Wait > 0 {
				waits++
			}
		}
	}
	if units[storage.StatusSucceeded] != shards*4/5 || units[storage.StatusDead] != shards/5 || len(units) != 2 {
		t.Errorf("units by status: %v", units)
	}
	for g, err := range engine.Admin().Groups(t.Context(), admin.Filter{}) {
		if err != nil || !g.Ended || g.Progress.Succeeded != shards*4/5 || g.Progress.Failed != shards/5 ||
			g.Retries != waits || granted != waits || waits < shards*4/5 {
			t.Errorf("%+v, %v; %d retries of the units, %d waits in their history", g, err, granted, waits)
		}
	}
}
