package bench

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"
)

// in defeats constant propagation into the calls under test.
var in = 41

// BenchmarkCall times every scenario of every subject on one goroutine.
func BenchmarkCall(b *testing.B) {
	each(b, func(b *testing.B, call Call) {
		ctx := b.Context()
		defer meter(b)()
		for b.Loop() {
			_, _ = call(ctx, in)
		}
	})
}

// BenchmarkParallel times the scenarios whose state is shared by all callers.
func BenchmarkParallel(b *testing.B) {
	each(b, func(b *testing.B, call Call) {
		ctx := b.Context()
		defer meter(b)()
		b.RunParallel(func(pb *testing.PB) {
			in := in
			for pb.Next() {
				_, _ = call(ctx, in)
			}
		})
	}, "Retry", "Breaker", "Budget", "Full")
}

// BenchmarkStatic times what the generator can emit: static calls, with no
// function value in between. It is the physical limit.
func BenchmarkStatic(b *testing.B) {
	ctx := b.Context()
	b.Run("direct", func(b *testing.B) {
		defer meter(b)()
		for b.Loop() {
			_, _ = fetch(ctx, in)
		}
	})
	b.Run("generated", func(b *testing.B) {
		defer meter(b)()
		for b.Loop() {
			_, _ = retryFetch(ctx, in)
		}
	})
	b.Run("generated-budget-breaker", func(b *testing.B) {
		defer meter(b)()
		for b.Loop() {
			_, _ = retryGuarded(ctx, in)
		}
	})
}

func each(b *testing.B, run func(*testing.B, Call), only ...string) {
	for _, sc := range Scenarios {
		if len(only) > 0 && !slices.Contains(only, sc.Name) {
			continue
		}
		for _, s := range subjects() {
			mk := sc.Of(s)
			if mk == nil {
				continue
			}
			b.Run(sc.Name+"/"+s.Name, func(b *testing.B) { run(b, mk()) })
		}
	}
}

// meter reports the processor time of the benchmark beside its wall time. On a
// machine shared with other work it is the steadier of the two.
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

// TestSubjects proves that each scenario does what it is timed for.
func TestSubjects(t *testing.T) {
	for _, sc := range Scenarios {
		for _, s := range subjects() {
			mk := sc.Of(s)
			if mk == nil {
				continue
			}
			t.Run(sc.Name+"/"+s.Name, func(t *testing.T) {
				call := mk()
				for range 3 {
					got, err := call(context.Background(), 41)
					if sc.Name == "Permanent" {
						if !errors.Is(err, errTransient) {
							t.Fatalf("err = %v, want one that wraps %v", err, errTransient)
						}
						continue
					}
					if err != nil || got != 42 {
						t.Fatalf("got %d, %v; want 42, nil", got, err)
					}
				}
			})
		}
	}
}
