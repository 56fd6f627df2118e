package capacity

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/internal/overload"
)

// A simulated is a Limiter in the clock of a testing/synctest bubble.
type simulated struct {
	*Limiter
	begun time.Time
}

func (s simulated) Enter(time.Duration) bool { return s.TryAcquire() }

func (s simulated) Leave(began, _ time.Duration, answered bool) {
	sample := Overload
	if answered {
		sample = Success
	}
	s.Done(s.begun.Add(began), sample)
}

// TestSimulation disturbs a service in several ways, and expects of 1, 4 and 16 clients, each
// with an adaptive limit of its own, at least 98 % of what is possible: see package overload.
// A limit that takes the durations of an overload for normal ones fails it, after an overload
// of 15 minutes at the latest: failsafe-go/failsafe-go#127, Netflix/concurrency-limits#37 and
// #165, envoyproxy/envoy#11579.
func TestSimulation(t *testing.T) {
	const least = 0.98
	for _, s := range overload.Scenarios {
		for _, clients := range []int{1, 4, 16} {
			if testing.Short() && (clients != 4 || s.Phases[1].For > 2*time.Minute) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d clients", s.Name, clients), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					begun := time.Now()
					limiter := func() overload.Limiter {
						p := LimiterPolicy{Target: overload.Timeout / 2, Limit: 80 / clients, MaxWait: NoWait}
						return simulated{NewLimiter(p), begun}
					}
					for i, r := range overload.Run(s, clients, 1, limiter, time.Sleep) {
						if r.Goodput < least {
							t.Errorf("phase %d: %.1f %% of what is possible, p99 %v", i+1, 100*r.Goodput, r.P99)
						}
						if r.P99 > overload.Timeout*3/4 {
							t.Errorf("phase %d: p99 is %v", i+1, r.P99)
						}
					}
				})
			})
		}
	}
}
