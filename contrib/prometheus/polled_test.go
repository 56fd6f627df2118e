package promretry

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/retrygen/retrygen/internal/measure"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/capacity"
	"github.com/retrygen/retrygen/runtime/genapi"
	"github.com/retrygen/retrygen/runtime/hedge"
	"github.com/retrygen/retrygen/runtime/override"
)

const wantCapacity = `
# HELP retry_concurrency_in_use Permits of a concurrency limit that attempts hold.
# TYPE retry_concurrency_in_use gauge
retry_concurrency_in_use{concurrency="db"} 2
# HELP retry_concurrency_limit Permits of a concurrency limit.
# TYPE retry_concurrency_limit gauge
retry_concurrency_limit{concurrency="db"} 6
# HELP retry_concurrency_queued Attempts that wait for a permit of a concurrency limit.
# TYPE retry_concurrency_queued gauge
retry_concurrency_queued{concurrency="db"} 1
# HELP retry_hedge_delay_seconds How long a first request takes before a second one starts.
# TYPE retry_hedge_delay_seconds gauge
retry_hedge_delay_seconds{hedge="Client.Find"} 0.01
# HELP retry_hedges_total Second requests that were due, by outcome.
# TYPE retry_hedges_total counter
retry_hedges_total{hedge="Client.Find",outcome="lost"} 0
retry_hedges_total{hedge="Client.Find",outcome="no_budget"} 0
retry_hedges_total{hedge="Client.Find",outcome="refused"} 0
retry_hedges_total{hedge="Client.Find",outcome="won"} 1
retry_hedges_total{hedge="Client.List",outcome="lost"} 0
retry_hedges_total{hedge="Client.List",outcome="no_budget"} 0
retry_hedges_total{hedge="Client.List",outcome="refused"} 0
retry_hedges_total{hedge="Client.List",outcome="won"} 0
# HELP retry_overrides Overrides in force.
# TYPE retry_overrides gauge
retry_overrides{action="attempts limited"} 1
retry_overrides{action="breakers held closed"} 0
retry_overrides{action="breakers held open"} 0
# HELP retry_policy_changes_total Versions of policy files that were loaded while the program runs, by outcome.
# TYPE retry_policy_changes_total counter
retry_policy_changes_total{outcome="accepted",package="example.com/shop"} 3
retry_policy_changes_total{outcome="refused",package="example.com/shop"} 1
# HELP retry_rate_queued Attempts that wait for their turn at a rate.
# TYPE retry_rate_queued gauge
retry_rate_queued{rate="partner"} 0
# HELP retry_refused_total Attempts that a limit, a rate or a throttle has refused.
# TYPE retry_refused_total counter
retry_refused_total{name="db",reason="limited"} 0
retry_refused_total{name="partner",reason="rate_limited"} 1
retry_refused_total{name="search",reason="throttled"} 0
# HELP retry_throttle_share Share of the attempts that a throttle refuses.
# TYPE retry_throttle_share gauge
retry_throttle_share{throttle="search"} 0.9
`

// changes counts versions of a policy file.
type changes struct{ accepted, refused int }

func (c changes) Counts() (string, int, int) { return "example.com/shop", c.accepted, c.refused }

// TestCapacity: the metrics have what limits calls when they are collected. Of two
// limits with one name they have the sum, and a limit that is observed twice counts once.
func TestCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := capacity.NewLimiter(capacity.LimiterPolicy{Name: "db", Limit: 1, MaxWait: time.Hour})
		five := capacity.NewLimiter(capacity.LimiterPolicy{Name: "db", Limit: 5})
		rate := capacity.NewRate(capacity.RatePolicy{Name: "partner", Events: 1, MaxWait: capacity.NoWait})
		throttle := capacity.NewThrottle(capacity.ThrottlePolicy{Name: "search", MinCalls: 1})
		fixed := hedge.New(hedge.Policy{Name: "Client.Find", After: 10 * time.Millisecond})
		unknown := hedge.New(hedge.Policy{Name: "Client.List", Quantile: 0.95})
		m := New(Options{})
		set := capacity.Set{
			Limiters: []*capacity.Limiter{one, five}, Rates: []*capacity.Rate{rate}, Throttles: []*capacity.Throttle{throttle},
		}
		m.ObserveCapacity(set)
		m.ObserveCapacity(set)
		m.ObserveHedges(fixed, unknown)
		live := genapi.LivePackage{Policies: []*retry.Live{retry.NewLive(&retry.Policy{Name: "read"})}}
		overrides := override.NewSet(live)
		defer overrides.Close()
		_, err := overrides.Put(override.Override{Target: "*", MaxAttempts: 1, Until: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		m.ObserveOverrides(overrides)
		m.ObserveChanges(changes{3, 1})

		_, _ = one.TryAcquire(), five.TryAcquire()
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = one.Acquire(ctx) }()
		for range 2 {
			_ = rate.Wait(t.Context())
		}
		for range 9 {
			throttle.Report(capacity.Overload)
		}
		slow := true
		_, _ = hedge.Do(t.Context(), fixed, func(ctx context.Context) (int, error) {
			if slow {
				slow = false
				<-ctx.Done()
			}
			return 0, ctx.Err()
		})
		synctest.Wait()
		var names []string
		for _, d := range measure.PolledInstruments {
			names = append(names, d.Prometheus)
		}
		if err := testutil.CollectAndCompare(m, strings.NewReader(wantCapacity), names...); err != nil {
			t.Error(err)
		}
		if problems, err := testutil.CollectAndLint(m); err != nil || len(problems) > 0 {
			t.Errorf("%v, %v", problems, err)
		}
		cancel()
	})
}
