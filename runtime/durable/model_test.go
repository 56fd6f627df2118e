package durable_test

import (
	"flag"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/memory"
)

var histories = flag.Int("histories", 2_000, "random histories in TestRandomHistories")

// TestRandomHistories executes random histories in memory.
func TestRandomHistories(t *testing.T) {
	var next, completed atomic.Int64
	n := int64(*histories)
	if testing.Short() {
		n /= 10
	}
	t.Run("group", func(t *testing.T) {
		for shard := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(shard), func(t *testing.T) {
				t.Parallel()
				for seed := next.Add(1); seed <= n && !t.Failed(); seed = next.Add(1) {
					synctest.Test(t, func(t *testing.T) {
						if durabletest.RandomHistory(t, memory.New(), uint64(seed)) {
							completed.Add(1)
						}
						time.Sleep(time.Minute) // the goroutines of processes that died end
					})
				}
			})
		}
	})
	if got := completed.Load(); got < n/10 && !t.Failed() {
		t.Errorf("%d of %d runs completed: the test does not reach the ends of runs", got, n)
	}
}
