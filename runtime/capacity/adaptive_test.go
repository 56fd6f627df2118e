package capacity

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestAdaptive offers twice of what a service of 10 workers can do.
func TestAdaptive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(LimiterPolicy{Target: 50 * time.Millisecond, Limit: 100, MaxWait: NoWait})
		workers := make(chan struct{}, 10)
		var late, done atomic.Int64
		for i := range 20_000 { // 2,000 per second, of which 1,000 are possible
			time.Sleep(500 * time.Microsecond)
			if !l.TryAcquire() {
				continue
			}
			go func() {
				began := time.Now()
				workers <- struct{}{}
				time.Sleep(10 * time.Millisecond)
				<-workers
				l.Done(began, Success)
				if i > 10_000 {
					done.Add(1)
					if time.Since(began) > 75*time.Millisecond {
						late.Add(1)
					}
				}
			}()
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if done.Load() < 4900 || late.Load() > done.Load()/100 || l.Limit() < 20 || l.Limit() > 70 {
			t.Errorf("in 5s: %d done, %d of them late, limit %d", done.Load(), late.Load(), l.Limit())
		}
		idle(t, l)
	})
}
