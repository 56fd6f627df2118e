package durable_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/budget"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/shared"
)

var ping = genapi.StepPolicy{Name: "ping", Policy: &retry.Policy{Name: "ping"}, Idempotent: true}

func benchmarkStep(b *testing.B, s *genapi.StepPolicy) {
	e, err := durable.New(memory.New())
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close(b.Context())
	b.ReportAllocs()
	err = e.Run(b.Context(), "bench", func(ctx context.Context) error {
		for i := 0; b.Loop(); i++ {
			_, err := genapi.Call(ctx, s, genapi.ID(i), genapi.Digest{}, func(context.Context) (int, error) { return i, nil })
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkStep measures what a step costs next to its store.
func BenchmarkStep(b *testing.B) {
	b.Run("attempts", func(b *testing.B) { benchmarkStep(b, &ping) })
	failures := ping
	failures.Record = genapi.RecordFailures
	b.Run("failures", func(b *testing.B) { benchmarkStep(b, &failures) })
	b.Run("nil", func(b *testing.B) { benchmarkStep(b, &genapi.StepPolicy{Name: "ping"}) })
}

// BenchmarkResume measures a finished step that is called again.
func BenchmarkResume(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			e, err := durable.New(memory.New())
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close(b.Context())
			stop := fmt.Errorf("stop")
			job := func(ctx context.Context) error {
				for i := range n {
					_, err := genapi.Call(ctx, &ping, genapi.ID(i), genapi.Digest{}, func(context.Context) (int, error) {
						return i, nil
					})
					if err != nil {
						return err
					}
				}
				return stop
			}
			if err := e.Run(b.Context(), "bench", job); err != stop {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := e.Run(b.Context(), "bench", job); err != stop {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/step")
		})
	}
}

// BenchmarkDeposit is what the success of a call costs in its budget while nothing
// fails: in one of the process, and in one that a store shares.
func BenchmarkDeposit(b *testing.B) {
	policy := budget.Policy{Name: "server"}
	own, common := budget.New(policy), shared.NewBudget(policy)
	c, err := shared.Link{Store: memory.New()}.Connect(b.Context(), shared.Set{
		Budgets: []*shared.Budget{common},
	})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close(b.Context())
	b.Run("process", func(b *testing.B) {
		for b.Loop() {
			own.Deposit()
		}
	})
	b.Run("store", func(b *testing.B) {
		for b.Loop() {
			common.Deposit()
		}
	})
}

// BenchmarkWork executes b.N runs with a trivial function by one worker, which
// claims them.
func BenchmarkWork(b *testing.B) {
	for _, slots := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(slots), func(b *testing.B) {
			e, err := durable.New(memory.New())
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close(b.Context())
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			var left atomic.Int64
			left.Store(int64(b.N))
			durable.Handle(e, "count", func(context.Context, int) (int, error) {
				if left.Add(-1) == 0 {
					cancel()
				}
				return 0, nil
			})
			for i := range b.N {
				if err := durable.Start(b.Context(), e, "count", fmt.Sprintf("run-%08d", i), i); err != nil {
					b.Fatal(err)
				}
			}
			b.ResetTimer()
			if err := e.Work(ctx, durable.MaxRuns(slots)); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
		})
	}
}
