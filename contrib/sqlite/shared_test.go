//go:build unix

package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/retrygen/retrygen/contrib/sqlite"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/shared"
)

func openShared(t *testing.T, dir string) shared.Store {
	store, err := sqlite.Open(filepath.Join(dir, "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return store
}

func TestSharedBudget(t *testing.T)  { durabletest.RunBudget(t, openShared) }
func TestSharedBreaker(t *testing.T) { durabletest.RunBreaker(t, openShared) }

// drained is a budget that children empty.
var drained = budget.Policy{Name: "drained", Burst: 200, MinPerSecond: budget.NoRefill}

// childDrain takes retries until there are none, and prints a line for each
// before it takes the next one.
func childDrain(args []string) {
	store := must1(sqlite.Open(args[0]))
	b := shared.NewBudget(drained)
	ctx := context.Background()
	must1(shared.Link{Store: store}.Connect(ctx, shared.Set{Budgets: []*shared.Budget{b}}))
	fmt.Println("connected")
	waitForLine()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for b.Withdraw() == nil {
				mu.Lock()
				fmt.Println("retry")
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	// Exits without Close, as after a crash: nothing may be left that another one
	// could spend twice.
}

// TestProcessesShareBudget: 4 processes, one of which is killed, never make more
// retries than the budget has, and fewer only by what the killed one had leased.
func TestProcessesShareBudget(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	var processes []*process
	for range 4 {
		p := start(t, "drain", path)
		p.expect("connected")
		processes = append(processes, p)
	}
	processes[0].send()
	processes[0].expect("retry") // before the others can take all
	for _, p := range processes[1:] {
		p.send()
	}
	processes[0].kill()
	total := 1
	for _, p := range processes {
		total += len(p.rest())
	}
	if most := int(drained.Burst); total > most || total < most/2-4 {
		t.Errorf("%d retries of 4 processes, want %d, or fewer by at most a half and what was not printed", total, most)
	}
}

// probed is a breaker whose probes children make in durable steps.
var probed = breaker.Policy{Name: "probed", Failures: 1, OpenFor: 2 * time.Second}

// childProbe executes a step under the breaker, which fails if the second
// argument says so, and otherwise waits for a line.
func childProbe(args []string) {
	store := must1(sqlite.Open(args[0]))
	e := must1(durable.New(store))
	s := genapi.StepPolicy{
		Name: "ping", Breaker: &probed,
		Policy: &retry.Policy{Name: "ping", Schedule: retry.Schedule{MaxAttempts: 1}},
	}
	fmt.Println("ready")
	waitForLine()
	err := e.Run(context.Background(), args[1], func(ctx context.Context) error {
		_, err := genapi.Call(ctx, &s, genapi.ID(), genapi.Digest{}, func(context.Context) (int, error) {
			if args[1] == "fails" {
				return 0, errors.New("connection refused")
			}
			fmt.Println("probe")
			waitForLine()
			return 1, nil
		})
		return err
	})
	switch {
	case errors.Is(err, retry.ErrBreakerOpen):
		fmt.Println("refused")
	case err != nil:
		fmt.Println("failed")
	default:
		fmt.Println("succeeded")
	}
}

// TestProcessesShareProbe: of the durable steps of 4 processes, a half-open breaker
// admits one. If its process is killed, it admits another.
func TestProcessesShareProbe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	probe := func(run string) *process {
		p := start(t, "probe", path, run)
		p.expect("ready")
		return p
	}
	first := probe("fails")
	var processes []*process
	for i := range 4 {
		processes = append(processes, probe(fmt.Sprint("run", i)))
	}
	last := probe("last")
	first.send()
	first.expect("failed")
	time.Sleep(probed.OpenFor + 50*time.Millisecond) // the breaker is half-open then
	var owner *process
	for _, p := range processes {
		p.send()
	}
	for _, p := range processes {
		switch line := p.line(); {
		case line == "probe" && owner == nil:
			owner = p
		case line != "refused":
			t.Errorf("a process printed %q, want one probe and refusals", line)
		}
	}
	if owner == nil {
		t.Fatal("no process made the probe")
	}
	owner.kill()
	time.Sleep(probed.OpenFor + 50*time.Millisecond)
	last.send()
	last.expect("probe")
	last.send()
	last.expect("succeeded")
}
