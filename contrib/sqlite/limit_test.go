//go:build unix

package sqlite_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/retrygen/retrygen/contrib/sqlite"
	"github.com/retrygen/retrygen/runtime/durable"
)

// mostCharges is how many runs childLimitWork executes at a time, in all processes.
const mostCharges = 3

func registerCharge(e *durable.Engine, locks string) {
	durable.Handle(e, "charge", func(ctx context.Context, _ int) (int, error) {
		return chargeOnce(locks)
	}, durable.Concurrency(mostCharges))
}

// chargeOnce returns 1 if it held one of as many files as runs may be executed at a
// time. The locks of a process that is killed are released with it.
func chargeOnce(locks string) (int, error) {
	for i := range mostCharges {
		f, err := syscall.Open(filepath.Join(locks, fmt.Sprint(i)), syscall.O_CREAT|syscall.O_RDWR, 0o600)
		if err != nil {
			return 0, err
		}
		defer syscall.Close(f)
		if syscall.Flock(f, syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			time.Sleep(rand.N(10 * time.Millisecond)) // the work
			return 1, nil
		}
	}
	return 0, nil // too many
}

func childLimitWork(args []string) {
	engine := must1(durable.New(must1(sqlite.Open(args[0]))))
	registerCharge(engine, args[1])
	fmt.Println("works")
	must(engine.Work(context.Background(), durable.MaxRuns(4), durable.Poll(10*time.Millisecond)))
}

// TestConcurrencyKilled lets three processes execute the runs of a handler with a limit,
// and kills one of them again and again. There are never more executions than the limit,
// and no slot is lost: every run ends.
func TestConcurrencyKilled(t *testing.T) {
	path, locks := filepath.Join(t.TempDir(), "state.db"), t.TempDir()
	engine, err := durable.New(open(t, path))
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close(t.Context())
	const runs = 150
	for i := range runs {
		if err := durable.Start(t.Context(), engine, "charge", fmt.Sprint(i), i); err != nil {
			t.Fatal(err)
		}
	}
	workers := make([]*process, 3)
	for i := range workers {
		workers[i] = start(t, "limit-work", path, locks)
	}
	for _, w := range workers {
		w.expect("works")
	}
	for range 8 {
		time.Sleep(rand.N(40 * time.Millisecond)) // anywhere in their work
		i := rand.IntN(len(workers))
		workers[i].kill()
		workers[i] = start(t, "limit-work", path, locks)
		workers[i].expect("works")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i := range runs {
		if got, err := durable.Await[int](ctx, engine, fmt.Sprint(i)); err != nil || got != 1 {
			t.Fatalf("run %d: got %d, %v; want 1: no more than %d at a time", i, got, err, mostCharges)
		}
	}
}
