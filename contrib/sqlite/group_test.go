//go:build unix

package sqlite_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
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

var groupUnits = flag.Int("units", 100_000, "how many units the group of BenchmarkGroupResume has")

// names returns the names of n units.
func names(n int) []string {
	units := make([]string, n)
	for i := range units {
		units[i] = fmt.Sprintf("unit-%07d", i)
	}
	return units
}

// shards is the group of childGroup: of 40 units, every fifth fails, and every
// third retries once.
func shards() *job.Group {
	return job.NewGroup(job.GroupPolicy{
		Name: "shards", Workers: 4, OnUnitFailure: job.FailureDeadLetter, Collect: 3,
		Budget: &job.BudgetPolicy{Retries: 1000, PerUnit: 1000, MaxRetries: 1000, MaxPerUnit: 1000},
	}, "job")
}

func runShards(engine *durable.Engine) (out job.Outcome[int], err error) {
	err = engine.Run(context.Background(), "job", func(ctx context.Context) (err error) {
		out, err = durable.Group(ctx, shards(), names(40), runShard, nil)
		return err
	})
	return out, err
}

// unit is a step that fails once, or is killed.
var unit = genapi.StepPolicy{
	Name: "unit", Idempotent: true, LostMax: 1000,
	Policy: &retry.Policy{
		Name:     "unit",
		Schedule: retry.Schedule{MaxAttempts: 3, InitialDelay: 5 * time.Millisecond, MaxDelay: 5 * time.Millisecond},
	},
}

// runShard is the function of a unit. It prints the attempts that it makes.
func runShard(ctx context.Context, name string) (int, error) {
	n, _ := strconv.Atoi(name[len("unit-"):])
	if n%5 == 4 {
		return 0, errors.New("broken")
	}
	return genapi.Call(ctx, &unit, genapi.ID(name), genapi.Arguments(), func(ctx context.Context) (int, error) {
		info, _ := durable.Current(ctx)
		fmt.Printf("%s %d\n", info.Step, info.Attempt)
		if info.Attempt == 1 && n%3 == 0 {
			return 0, errors.New("connection refused")
		}
		return n, nil
	})
}

// registerShards lets an engine execute the same group with workers.
func registerShards(e *durable.Engine) {
	durable.Handle(e, "shards", func(ctx context.Context, _ string) (int, error) {
		out, err := durable.GroupRuns[string, int](ctx, shards(), "shard", names(40),
			func(name string) string { return name }, nil)
		return out.Completed, err
	})
	durable.Handle(e, "shard", runShard)
}

func childGroupWork(args []string) {
	engine := must1(durable.New(must1(sqlite.Open(args[0]))))
	registerShards(engine)
	fmt.Println("works")
	must(engine.Work(context.Background(), durable.MaxRuns(4), durable.Poll(10*time.Millisecond)))
}

// TestGroupRunsKilled lets three processes execute the units of a group, and kills
// one of them again and again.
func TestGroupRunsKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	engine, err := durable.New(open(t, path))
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close(t.Context())
	registerShards(engine)
	if err := durable.Start(t.Context(), engine, "shards", "job", "x"); err != nil {
		t.Fatal(err)
	}
	output := make(chan []string, 20)
	workers := make([]*process, 3)
	launch := func(i int) {
		p := start(t, "group-work", path)
		p.expect("works")
		workers[i] = p
		go func() { output <- p.rest() }()
	}
	for i := range workers {
		launch(i)
	}
	const kills = 6
	for range kills {
		time.Sleep(rand.N(60 * time.Millisecond)) // anywhere in their work
		i := rand.IntN(len(workers))
		workers[i].kill()
		launch(i)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if got, err := durable.Await[int](ctx, engine, "job"); err != nil || got != 32 {
		t.Errorf("got %d, %v; want 32", got, err)
	}
	for _, w := range workers {
		w.kill()
	}
	seen := map[string]bool{}
	for range len(workers) + kills {
		for _, line := range <-output {
			if seen[line] {
				t.Errorf("attempt %q was made twice", line)
			}
			seen[line] = true
		}
	}
	checkGroup(t, engine)
}

func childGroup(args []string) {
	store := must1(sqlite.Open(args[0]))
	engine := must1(durable.New(store))
	fmt.Println("works")
	must1(runShards(engine))
	fmt.Println("done")
}

// TestGroupKilled kills a process again and again in the middle of a group. Every
// unit ends once, no attempt number is used twice, and the budget counts the
// retries that were granted.
func TestGroupKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	seen := map[string]bool{}
	kills, done := 0, false
	for !done {
		p := start(t, "group", path)
		p.expect("works")
		if kills < 12 {
			kills++
			time.AfterFunc(rand.N(40*time.Millisecond), func() { _ = p.cmd.Process.Kill() })
		}
		for _, line := range p.rest() {
			if done = line == "done"; seen[line] {
				t.Errorf("attempt %q was made twice", line)
			}
			seen[line] = true
		}
		p.kill()
	}
	engine, err := durable.New(open(t, path))
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close(t.Context())
	checkGroup(t, engine)
	t.Logf("%d kills", kills)
}

// checkGroup compares the counters of the group with its units, and its budget
// with the history of their steps.
func checkGroup(t *testing.T, engine *durable.Engine) {
	t.Helper()
	ended := map[storage.Status]int{}
	granted, waits := 0, 0
	for s, err := range engine.Admin().Steps(t.Context(), admin.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if s.Group != "" {
			if ended[s.Status]++; s.Attempts != 1 {
				t.Errorf("unit %s has ended %d times", s.Step, s.Attempts)
			}
			granted += s.Retries
			continue
		}
		if s.Name != unit.Name {
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
	if len(ended) != 2 || ended[storage.StatusSucceeded] != 32 || ended[storage.StatusDead] != 8 {
		t.Errorf("units by status: %v, want 32 successes and 8 dead letters", ended)
	}
	for g, err := range engine.Admin().Groups(t.Context(), admin.Filter{}) {
		if err != nil || g.Progress.Succeeded != 32 || g.Progress.Failed != 8 || g.Progress.Pending != 0 ||
			g.Retries != waits || granted != waits || !g.Ended {
			t.Errorf("%+v, %v; %d retries of the units, %d waits in their history", g, err, granted, waits)
		}
	}
}

var errStop = errors.New("stop")

// BenchmarkGroupResume measures the time until a resumed run executes the first of
// the 1,000 units that are left of a group, and the memory that it has then.
func BenchmarkGroupResume(b *testing.B) {
	store := open(b, filepath.Join(b.TempDir(), "state.db"))
	units := names(*groupUnits)
	first := len(units) - 1000 // that is left
	execute := func(called func()) {
		engine, err := durable.New(store)
		if err != nil {
			b.Fatal(err)
		}
		defer engine.Close(b.Context())
		var once sync.Once
		_ = engine.Run(b.Context(), "job", func(ctx context.Context) error {
			ctx, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			group := job.NewGroup(job.GroupPolicy{Name: "units", Workers: 256}, "job")
			_, err := durable.Group(ctx, group, units, func(_ context.Context, name string) (int, error) {
				if n, _ := strconv.Atoi(name[len("unit-"):]); n >= first {
					once.Do(called)
					cancel(errStop)
					return 0, errStop
				}
				return 1, nil
			}, nil)
			return err
		})
	}
	begun := time.Now()
	execute(func() {})
	b.Logf("%d units ended in %v", first, time.Since(begun))
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc) / 1e6
	}
	before := heap()
	var took time.Duration
	b.ResetTimer()
	for range b.N {
		begun := time.Now()
		execute(func() {
			took += time.Since(begun)
			b.ReportMetric(heap()-before, "MB")
		})
	}
	b.ReportMetric(took.Seconds()*1000/float64(b.N), "ms/resume")
}
