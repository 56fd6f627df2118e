package retry

import (
	"context"
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/capacity"
	"github.com/retrygen/retrygen/runtime/hedge"
)

// TestHedgedAllocs: a success before the delay allocates the race with its result, the function
// for the timer, and the timer.
func TestHedgedAllocs(t *testing.T) {
	h := hedge.New(hedge.Policy{After: time.Hour})
	g := capacity.Gate{Limiter: capacity.NewLimiter(capacity.LimiterPolicy{Limit: 10})}
	p := Policy{}
	request := func(context.Context) (string, error) { return "first", nil }
	allocs := testing.AllocsPerRun(1000, func() {
		if _, err := hedged(context.Background(), &p, Shared{Gate: g}, h, nil, request); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 3 {
		t.Errorf("%v allocations, want 3", allocs)
	}
}
