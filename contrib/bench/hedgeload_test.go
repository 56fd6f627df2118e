package bench

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/hedge"
)

// A queue is a service with 20 workers that take 20ms on average. It also executes
// requests that nobody waits for any more.
type queue struct {
	workers  chan struct{}
	running  sync.WaitGroup
	mu       sync.Mutex
	random   *rand.Rand
	requests int
}

func (q *queue) call(ctx context.Context, in int) (int, error) {
	q.mu.Lock()
	takes := time.Duration(20 * q.random.ExpFloat64() * float64(time.Millisecond))
	q.requests++
	q.mu.Unlock()
	done := make(chan struct{})
	q.running.Go(func() {
		q.workers <- struct{}{}
		time.Sleep(takes)
		<-q.workers
		close(done)
	})
	select {
	case <-done:
		return in, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// TestHedgesUnderLoad shows when hedging harms: at 80 % of what the service can do, most
// slow answers are slow because of the queue, and each second request makes it longer.
// A budget bounds that.
func TestHedgesUnderLoad(t *testing.T) {
	p99 := map[string]time.Duration{}
	for _, test := range []struct {
		name   string
		policy hedge.Policy
	}{
		{"not hedged", hedge.Policy{After: time.Hour}},
		{"after p95, extra 0.05", hedge.Policy{Quantile: 0.95}},
		{"after 30ms, extra 1", hedge.Policy{After: 30 * time.Millisecond, Extra: 1}},
	} {
		synctest.Test(t, func(t *testing.T) {
			q := &queue{workers: make(chan struct{}, 20), random: rand.New(rand.NewPCG(1, 2))}
			call := retrygenHedge(q.call, test.policy)
			const calls = 20_000
			arrivals := rand.New(rand.NewPCG(3, 4))
			var all sync.WaitGroup
			durations := make([]time.Duration, calls)
			for i := range calls {
				time.Sleep(time.Duration(arrivals.ExpFloat64() * float64(time.Second) / 800))
				all.Go(func() {
					began := time.Now()
					_, _ = call(t.Context(), in)
					durations[i] = time.Since(began)
				})
			}
			all.Wait()
			q.running.Wait()
			slices.Sort(durations)
			p99[test.name] = durations[calls*99/100].Round(time.Millisecond)
			t.Logf("%s: median %v, p99 %v, %.1f %% more requests", test.name,
				durations[calls/2].Round(time.Millisecond), p99[test.name], 100*float64(q.requests-calls)/calls)
		})
	}
	if p99["after 30ms, extra 1"] < 5*p99["not hedged"] || p99["after p95, extra 0.05"] > p99["not hedged"]*6/5 {
		t.Errorf("p99: %v", p99)
	}
}
