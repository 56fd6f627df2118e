package bench

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/failsafe-go/failsafe-go/budget"
	"github.com/failsafe-go/failsafe-go/hedgepolicy"

	"github.com/retrygen/retrygen/runtime/hedge"
)

// A hedger makes a call that is made a second time if it takes long.
type hedger struct {
	name  string
	after func(f Call, delay time.Duration) Call // nil if it cannot
	p95   func(f Call) Call                      // after the 95th percentile, at most 5 % more
}

var hedgers = []hedger{
	{
		"direct",
		func(f Call, _ time.Duration) Call { return f },
		func(f Call) Call { return f },
	},
	{
		"retrygen",
		func(f Call, delay time.Duration) Call { return retrygenHedge(f, hedge.Policy{After: delay}) },
		func(f Call) Call { return retrygenHedge(f, hedge.Policy{Quantile: 0.95}) },
	},
	{
		"failsafe-go",
		func(f Call, delay time.Duration) Call {
			return failsafeCall(f, hedgepolicy.NewBuilderWithDelay[int](delay).Build())
		},
		func(f Call) Call {
			return failsafeCall(f, hedgepolicy.NewBuilderWithDelayQuantile[int](0.95, 1000, 64).
				WithBudget(budget.NewBuilder().WithMaxRate(0.05).WithMinConcurrency(1).Build()).Build())
		},
	},
	{name: "goroutine per call", after: goroutineHedge},
}

// retrygenHedge is written as generated code is.
func retrygenHedge(f Call, p hedge.Policy) Call {
	h := hedge.New(p)
	return func(ctx context.Context, in int) (int, error) {
		var race struct {
			hedge.Race
			value int
		}
		defer race.Close()
		first := race.Begin(ctx, h, func() {
			race.Again(func(ctx context.Context) (err error) {
				race.value, err = f(ctx, in)
				return err
			})
		})
		value, err := f(first, in)
		if race.End(err) == hedge.Second {
			return race.value, nil
		}
		return value, err
	}
}

// goroutineHedge is what people write by hand: each request in a goroutine, and the first
// answer is the result. The other request goes on after the call.
func goroutineHedge(f Call, delay time.Duration) Call {
	type result struct {
		value int
		err   error
	}
	return func(ctx context.Context, in int) (int, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		results := make(chan result, 2)
		request := func() {
			value, err := f(ctx, in)
			results <- result{value, err}
		}
		go request()
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case r := <-results:
			return r.value, r.err
		case <-timer.C:
			go request()
		}
		r := <-results
		return r.value, r.err
	}
}

// BenchmarkHedge times calls that answer before the delay, with 1 and 8 goroutines.
func BenchmarkHedge(b *testing.B) {
	for _, f := range []struct {
		name string
		call Call
	}{{"fast", fetch}, {"watching", fetchDone}} {
		for _, h := range hedgers {
			b.Run(f.name+"/1/"+h.name, func(b *testing.B) {
				call, ctx := h.after(f.call, time.Hour), b.Context()
				defer meter(b)()
				for b.Loop() {
					_, _ = call(ctx, in)
				}
			})
			b.Run(f.name+"/8/"+h.name, func(b *testing.B) {
				const goroutines = 8
				call, ctx := h.after(f.call, time.Hour), b.Context()
				defer meter(b)()
				var all sync.WaitGroup
				for i := range goroutines {
					all.Go(func() {
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

// A service answers after random durations: 3 % of them are long. It counts its requests.
type service struct {
	mu       sync.Mutex
	random   *rand.Rand
	scale    float64
	requests int
}

func (s *service) call(ctx context.Context, in int) (int, error) {
	s.mu.Lock()
	d := 10 * math.Exp(0.3*s.random.NormFloat64())
	if s.random.IntN(100) < 3 {
		d += 50 + 450*s.random.Float64()
	}
	d *= s.scale
	s.requests++
	s.mu.Unlock()
	timer := time.NewTimer(time.Duration(d * float64(time.Millisecond)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return in, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// A tail is what callers see of a service, and what they cost it.
type tail struct {
	p50, p99, p999 time.Duration
	extra          float64 // requests per call, beyond 1
}

// measure makes calls in 20 goroutines.
func measure(ctx context.Context, s *service, call Call, calls int) (t tail) {
	const goroutines = 20
	var mu sync.Mutex
	var all sync.WaitGroup
	var durations []time.Duration
	before := s.requests
	for range goroutines {
		all.Go(func() {
			for range calls / goroutines {
				began := time.Now()
				_, _ = call(ctx, in)
				mu.Lock()
				durations = append(durations, time.Since(began))
				mu.Unlock()
			}
		})
	}
	all.Wait()
	slices.Sort(durations)
	at := func(q float64) time.Duration {
		return durations[int(q*float64(len(durations)))].Round(time.Millisecond)
	}
	return tail{at(0.5), at(0.99), at(0.999), float64(s.requests-before)/float64(len(durations)) - 1}
}

var tails = flag.Bool("tails", false, "print the table of tails")

// TestTails compares what hedging at the 95th percentile achieves and costs: while
// durations do not change, and in the 2,000 calls after the service has become three
// times as slow. The clock is the one of a synctest bubble.
func TestTails(t *testing.T) {
	var table strings.Builder
	got := map[string][2]tail{}
	for _, h := range hedgers {
		if h.p95 == nil {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			s := &service{random: rand.New(rand.NewPCG(1, 2)), scale: 1}
			call := h.p95(s.call)
			measure(t.Context(), s, call, 2_000)
			steady := measure(t.Context(), s, call, 50_000)
			s.scale = 3
			slower := measure(t.Context(), s, call, 2_000)
			got[h.name] = [2]tail{steady, slower}
			fmt.Fprintf(&table, "| %s |", h.name)
			for _, got := range []tail{steady, slower} {
				fmt.Fprintf(&table, " %v | %v | %v | %.1f %% |", got.p50, got.p99, got.p999, 100*got.extra)
			}
			fmt.Fprintln(&table)
		})
	}
	if *tails {
		fmt.Print(table.String())
	}
	ours, direct := got["retrygen"], got["direct"]
	if ours[0].p99 > direct[0].p99/4 || ours[0].extra > 0.05 || ours[1].extra > 0.06 {
		t.Errorf("a quarter of the p99 for 5 %% more requests was expected:\n%s", &table)
	}
}

// TestHedges checks that each hedger makes a second request after the delay, cancels the
// first, and makes none before the delay.
func TestHedges(t *testing.T) {
	for _, h := range hedgers[1:] {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			requests := 0
			call := h.after(func(ctx context.Context, in int) (int, error) {
				mu.Lock()
				requests++
				first := requests == 1
				mu.Unlock()
				if first {
					<-ctx.Done()
					return 0, ctx.Err()
				}
				return in, nil
			}, 50*time.Millisecond)
			for range 2 {
				began := time.Now()
				got, err := call(t.Context(), in)
				if took := time.Since(began); got != in || err != nil || took > 50*time.Millisecond {
					t.Errorf("%s: got %d, %v after %v", h.name, got, err, took)
				}
			}
			if synctest.Wait(); requests != 3 {
				t.Errorf("%s: %d requests of two calls, want 3", h.name, requests)
			}
		})
	}
}
