package bench

import (
	"context"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/capacity"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/memory"
)

// in is a variable, so that the compiler knows nothing about it.
var in = 41

// BenchmarkCall times every scenario of every library on one goroutine.
func BenchmarkCall(b *testing.B) {
	for _, sc := range Scenarios {
		for _, s := range subjects() {
			of := sc.Of(s)
			if of == nil {
				continue
			}
			b.Run(sc.Name+"/"+s.Name, func(b *testing.B) {
				call := of()
				ctx, cancel := sc.under(b.Context())
				defer cancel()
				defer meter(b)()
				for b.Loop() {
					_, _ = call(ctx, in)
				}
			})
		}
	}
}

// BenchmarkParallel8 times breakers, and what else is shared, under the calls
// of 8 goroutines.
func BenchmarkParallel8(b *testing.B) {
	const goroutines = 8
	for _, sc := range Scenarios {
		if !slices.Contains([]string{"Breaker", "FailureRate", "Guarded", "Full"}, sc.Name) {
			continue
		}
		for _, s := range subjects() {
			of := sc.Of(s)
			if of == nil {
				continue
			}
			b.Run(sc.Name+"/"+s.Name, func(b *testing.B) {
				call, ctx := of(), b.Context()
				defer meter(b)()
				var all sync.WaitGroup
				for i := range goroutines {
					all.Go(func() {
						in := in
						for range (b.N + i) / goroutines {
							_, _ = call(ctx, in)
						}
					})
				}
				all.Wait()
			})
		}
	}
}

// BenchmarkStatic times calls without a function value in between. Its
// instructions are counted too: see instructions.
func BenchmarkStatic(b *testing.B) {
	ctx := b.Context()
	b.Run("direct", func(b *testing.B) {
		defer meter(b)()
		for b.Loop() {
			_, _ = fetch(ctx, in)
		}
	})
	b.Run("retrygen", func(b *testing.B) {
		defer meter(b)()
		for b.Loop() {
			_, _ = retryFetch(ctx, in)
		}
	})
	b.Run("retrygen-breaker", func(b *testing.B) {
		defer meter(b)()
		for b.Loop() {
			_, _ = retryBroken(ctx, in)
		}
	})
	b.Run("retrygen-budget", func(b *testing.B) {
		defer meter(b)()
		for b.Loop() {
			_, _ = retryPaid(ctx, in)
		}
	})
	b.Run("retrygen-breaker-budget", func(b *testing.B) {
		defer meter(b)()
		for b.Loop() {
			_, _ = retryGuarded(ctx, in)
		}
	})
	b.Run("retrygen-limit", func(b *testing.B) {
		defer meter(b)()
		for b.Loop() {
			_, _ = retryPooled(ctx, in)
		}
	})
	b.Run("retrygen-live", func(b *testing.B) {
		defer meter(b)()
		for b.Loop() {
			_, _ = retryRenewed(ctx, in)
		}
	})
	b.Run("retrygen-live-breaker", func(b *testing.B) {
		defer meter(b)()
		for b.Loop() {
			_, _ = retryRenewedBroken(ctx, in)
		}
	})
	// The deadline of the caller is the earlier one, so that no context is derived.
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	b.Run("retrygen-timeout", func(b *testing.B) {
		defer meter(b)()
		for b.Loop() {
			_, _ = retryLimitedLong(limited, fetch, in)
		}
	})
	b.Run("retrygen-live-timeout", func(b *testing.B) {
		defer meter(b)()
		for b.Loop() {
			_, _ = retryRenewedLimited(limited, fetch, in)
		}
	})
	limiter := capacity.NewLimiter(capacity.LimiterPolicy{Limit: permits})
	b.Run("limiter", func(b *testing.B) {
		defer meter(b)()
		for b.Loop() {
			if limiter.TryAcquire() {
				_, _ = fetch(ctx, in)
				limiter.Release()
			}
		}
	})
}

// BenchmarkDurable times a success that is not recorded.
func BenchmarkDurable(b *testing.B) {
	engine, err := durable.New(memory.New())
	if err != nil {
		b.Fatal(err)
	}
	defer engine.Close(b.Context())
	err = engine.Run(b.Context(), "bench", func(ctx context.Context) error {
		b.Run("failures", func(b *testing.B) {
			defer meter(b)()
			for b.Loop() {
				_, _ = retryStepped(ctx, in)
			}
		})
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// meter adds the processor time to what a benchmark reports. Other work on the
// machine disturbs it less than it disturbs the wall time.
func meter(b *testing.B) (stop func()) {
	b.ReportAllocs()
	start := cpuTime()
	return func() {
		b.ReportMetric(float64(cpuTime()-start)/float64(b.N), "cpu-ns/op")
	}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
