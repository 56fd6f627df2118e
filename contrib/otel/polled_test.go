package otelretry

import (
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/capacity"
	"github.com/retrygen/retrygen/runtime/hedge"
	"github.com/retrygen/retrygen/runtime/override"
)

// TestCapacity: the instruments have what limits calls when they are collected.
func TestCapacity(t *testing.T) {
	x := newExported(t, Options{})
	limiter := capacity.NewLimiter(capacity.LimiterPolicy{Name: "db", Limit: 2, MaxWait: capacity.NoWait})
	x.ObserveCapacity(capacity.Set{Limiters: []*capacity.Limiter{limiter}})
	x.ObserveHedges(hedge.New(hedge.Policy{Name: "Client.Find", After: 10 * time.Millisecond}))
	for range 3 {
		_ = limiter.Acquire(t.Context())
	}
	want(t, x.measured(t), `
retry.concurrency.in_use ({permit}) [retry.concurrency=db] 2
retry.concurrency.limit ({permit}) [retry.concurrency=db] 2
retry.concurrency.queued ({attempt}) [retry.concurrency=db] 0
retry.hedge.delay (s) [retry.hedge=Client.Find] 0.01
retry.hedges ({request}) [retry.hedge=Client.Find retry.outcome=lost] 0
retry.hedges ({request}) [retry.hedge=Client.Find retry.outcome=no_budget] 0
retry.hedges ({request}) [retry.hedge=Client.Find retry.outcome=refused] 0
retry.hedges ({request}) [retry.hedge=Client.Find retry.outcome=won] 0
retry.refused ({attempt}) [retry.name=db retry.reason=limited] 1
`)
}

// changes counts versions of a policy file.
type changes struct{ accepted, refused int }

func (c changes) Counts() (string, int, int) { return "example.com/shop", c.accepted, c.refused }

// TestChanges: the instruments have what changes policies while the program runs.
func TestChanges(t *testing.T) {
	x := newExported(t, Options{})
	x.ObserveChanges(changes{3, 1})
	overrides := override.NewSet()
	x.ObserveOverrides(overrides)
	want(t, x.measured(t), `
retry.overrides ({override}) [retry.action=attempts limited] 0
retry.overrides ({override}) [retry.action=breakers held closed] 0
retry.overrides ({override}) [retry.action=breakers held open] 0
retry.policy.changes ({version}) [retry.outcome=accepted retry.package=example.com/shop] 3
retry.policy.changes ({version}) [retry.outcome=refused retry.package=example.com/shop] 1
`)
}
