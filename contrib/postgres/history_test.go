package postgres_test

import (
	"flag"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/retrygen/retrygen/contrib/postgres/pgtest"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
)

var histories = flag.Int("histories", 40, "random histories in TestRandomHistories")

// TestRandomHistories executes random histories, all at the same time: they mostly
// wait.
func TestRandomHistories(t *testing.T) {
	store := open(t, pgtest.URL(t))
	var completed atomic.Int64
	var all sync.WaitGroup
	for seed := range *histories {
		all.Go(func() {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				if durabletest.RandomHistory(t, store, uint64(seed)) {
					completed.Add(1)
				}
			})
		})
	}
	all.Wait()
	if got := completed.Load(); got < int64(*histories)/10 && !t.Failed() {
		t.Errorf("%d of %d runs completed: the test does not reach the ends of runs", got, *histories)
	}
}
