package bench

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"

	"github.com/retrygen/retrygen/internal/overload"
	"github.com/retrygen/retrygen/runtime/capacity"
)

var overloads = flag.Bool("overload", false, "run all of TestOverload, and print its table")

// An overloadLimit is a limit of one of n clients of a service: see package overload. Adaptive
// limits begin at twice of what the undisturbed service can work on, and have their defaults
// otherwise.
type overloadLimit struct {
	name string
	of   func(n int) overload.Limiter
}

var overloadLimits = []overloadLimit{
	{"none", func(int) overload.Limiter { return new(counter) }},
	{"fixed", func(n int) overload.Limiter {
		return inBubble{capacity.NewLimiter(capacity.LimiterPolicy{Limit: max(40/n, 1), MaxWait: capacity.NoWait})}
	}},
	{"retrygen, target 500 ms", func(n int) overload.Limiter { return retrygenLimit(n, 500*time.Millisecond) }},
	{"retrygen, target 250 ms", func(n int) overload.Limiter { return retrygenLimit(n, 250*time.Millisecond) }},
	{"failsafe-go", func(n int) overload.Limiter {
		b := adaptivelimiter.NewBuilder[int]().WithLimits(1, 200, uint(80/n))
		return &failsafeLimit{limiter: b.Build()}
	}},
	{"Netflix Gradient2 (port)", func(n int) overload.Limiter {
		return portedLimit{&netflix{limit: float64(80 / n), algorithm: new(gradient2)}}
	}},
	{"Netflix Vegas (port)", func(n int) overload.Limiter {
		return portedLimit{&netflix{limit: float64(80 / n), algorithm: new(vegas)}}
	}},
}

func retrygenLimit(n int, target time.Duration) overload.Limiter {
	return inBubble{capacity.NewLimiter(capacity.LimiterPolicy{Target: target, Limit: 80 / n, MaxWait: capacity.NoWait})}
}

// A counter admits all.
type counter struct{}

func (*counter) Enter(time.Duration) bool                 { return true }
func (*counter) Leave(began, now time.Duration, got bool) {}

// An inBubble is a limiter of retrygen in the clock of a testing/synctest bubble.
type inBubble struct{ *capacity.Limiter }

func (l inBubble) Enter(time.Duration) bool { return l.TryAcquire() }

func (l inBubble) Leave(began, now time.Duration, answered bool) {
	sample := capacity.Overload
	if answered {
		sample = capacity.Success
	}
	l.Done(time.Now().Add(began-now), sample)
}

// A failsafeLimit remembers the permits of failsafe-go, which measure the durations
// themselves, by the times at which the requests began.
type failsafeLimit struct {
	limiter adaptivelimiter.AdaptiveLimiter[int]
	permits map[time.Duration]adaptivelimiter.Permit
}

func (l *failsafeLimit) Enter(now time.Duration) bool {
	permit, ok := l.limiter.TryAcquirePermit()
	if ok {
		if l.permits == nil {
			l.permits = map[time.Duration]adaptivelimiter.Permit{}
		}
		l.permits[now] = permit
	}
	return ok
}

func (l *failsafeLimit) Leave(began, _ time.Duration, _ bool) {
	l.permits[began].Record() // as its executor does, for timeouts as well
	delete(l.permits, began)
}

// A portedLimit is a port in the clock of a bubble.
type portedLimit struct{ *netflix }

func (l portedLimit) Enter(time.Duration) bool { return l.enter() }

func (l portedLimit) Leave(began, now time.Duration, answered bool) {
	l.leave(time.Now().Add(began-now), answered)
}

// TestOverload compares limits in the scenarios of package overload: no other limit has a better
// worst case than the one of retrygen. Without -overload, there are only 4 clients, and no overload
// of 15 minutes.
func TestOverload(t *testing.T) {
	scenarios, clients := overload.Scenarios, []int{4}
	if *overloads {
		clients = []int{4, 1, 16}
	} else {
		scenarios = slices.DeleteFunc(slices.Clone(scenarios), func(s overload.Scenario) bool {
			return s.Phases[1].For > 2*time.Minute
		})
	}
	worst := map[string]float64{}
	var table strings.Builder
	for _, l := range overloadLimits {
		fmt.Fprintf(&table, "\n| %s |", l.name)
		worst[l.name] = 1
		for _, n := range clients {
			for _, s := range scenarios {
				var results [3]overload.Result
				synctest.Test(t, func(t *testing.T) {
					results = overload.Run(s, n, 1, func() overload.Limiter { return l.of(n) }, time.Sleep)
				})
				for _, r := range results {
					worst[l.name] = min(worst[l.name], r.Goodput)
				}
				if n == 4 {
					r := results[1]
					fmt.Fprintf(&table, " %.0f %%, %d ms |", 100*min(r.Goodput, 1), r.P99.Milliseconds())
				}
			}
		}
		fmt.Fprintf(&table, " %.0f %% |", 100*worst[l.name])
	}
	for name, share := range worst {
		if own := worst["retrygen, target 500 ms"]; share > own+0.01 {
			t.Errorf("%s keeps %.1f %% in its worst case, retrygen %.1f %%", name, 100*share, 100*own)
		}
	}
	if *overloads {
		t.Log(table.String())
	}
}
