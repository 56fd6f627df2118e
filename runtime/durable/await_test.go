package durable_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/memory"
)

// Runs that wait for each other end: one of them gets an error that names all.
func TestAwaitCycle(t *testing.T) {
	for _, n := range []int{1, 2, 3, 20} {
		synctest.Test(t, func(t *testing.T) {
			m := memory.New()
			var mu sync.Mutex
			var conflicts []string
			first := newEngine(t, m)
			for i := range n {
				if err := durable.Start(t.Context(), first, "wait", fmt.Sprint("run-", i), i); err != nil {
					t.Fatal(err)
				}
			}
			for _, e := range []*durable.Engine{first, newEngine(t, m)} { // two workers
				durable.Handle(e, "wait", func(ctx context.Context, i int) (int, error) {
					got, err := durable.Await[int](ctx, e, fmt.Sprint("run-", (i+1)%n))
					if errors.Is(err, durable.ErrConflict) {
						mu.Lock()
						conflicts = append(conflicts, err.Error())
						mu.Unlock()
					}
					return got, err
				})
				defer work(t, e)()
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			for i := range n {
				_, err := durable.Await[int](ctx, first, fmt.Sprint("run-", i))
				wantAs[*durable.RunError](t, err)
			}
			if len(conflicts) == 0 {
				t.Fatal("no run got ErrConflict")
			}
			text := conflicts[0]
			for i := range min(n, 3) {
				if n <= 3 && !strings.Contains(text, fmt.Sprintf(`"run-%d"`, i)) || len(text) > 200 {
					t.Errorf("%d runs: the error %q does not name the runs in 200 bytes", n, text)
				}
			}
		})
	}
}

// A run that waits without parking finds that it is awaited, too.
func TestAwaitCycleWithRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		durable.Handle(p.Engine, "wait", func(ctx context.Context, run string) (int, error) {
			return durable.Await[int](ctx, p.Engine, run)
		})
		defer work(t, p.Engine)()
		err := p.run("outer", func(ctx context.Context) error {
			for _, run := range [][2]string{{"second", "outer"}, {"first", "second"}} {
				if err := durable.Start(ctx, p.Engine, "wait", run[0], run[1]); err != nil {
					return err
				}
			}
			_, err := durable.Await[int](ctx, p.Engine, "first")
			return err
		})
		wantError(t, err, durable.ErrConflict)
	})
}

// Runs that wait for the same one, along several paths, are no cycle.
func TestAwaitDiamond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		durable.Handle(e, "sum", func(ctx context.Context, runs []string) (int, error) {
			sum := 1
			for _, run := range runs {
				n, err := durable.Await[int](ctx, e, run)
				if err != nil {
					return 0, err
				}
				sum += n
			}
			time.Sleep(time.Minute)
			return sum, nil
		})
		defer work(t, e)()
		for _, runs := range [][]string{{"base"}, {"a", "base"}, {"b", "base", "a"}, {"top", "a", "b"}} {
			if err := durable.Start(t.Context(), e, "sum", runs[0], runs[1:]); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		if got, err := durable.Await[int](t.Context(), e, "top"); got != 7 || err != nil {
			t.Errorf("got %d, %v; want 7", got, err)
		}
	})
}
