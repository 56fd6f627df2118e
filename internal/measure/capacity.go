package measure

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/retrygen/retrygen/runtime/capacity"
	"github.com/retrygen/retrygen/runtime/hedge"
	"github.com/retrygen/retrygen/runtime/override"
)

// The labels of what limits calls.
var (
	limit    = Label{"concurrency", "retry.concurrency"}
	rate     = Label{"rate", "retry.rate"}
	throttle = Label{"throttle", "retry.throttle"}
	hedged   = Label{"hedge", "retry.hedge"}
	refuser  = Label{"name", "retry.name"}
	program  = Label{"package", "retry.package"}
	action   = Label{"action", "retry.action"}
)

// A CapacityID is the index of an instrument in [CapacityInstruments].
type CapacityID uint8

// The instruments of what limits calls.
const (
	Limit CapacityID = iota
	LimitInUse
	LimitQueued
	RateQueued
	ThrottleShare
	Refused
	HedgeDelay
	Hedges
	PolicyChanges
	Overrides
)

// CapacityInstruments are the instruments of what limits calls, by their ids. The values
// of all of them, counters included, are read when metrics are collected.
var CapacityInstruments = [...]Instrument{
	Limit: {Gauge, "retry_concurrency_limit", "retry.concurrency.limit", "{permit}",
		"Permits of a concurrency limit.", []Label{limit}, false, nil},
	LimitInUse: {Gauge, "retry_concurrency_in_use", "retry.concurrency.in_use", "{permit}",
		"Permits of a concurrency limit that attempts hold.", []Label{limit}, false, nil},
	LimitQueued: {Gauge, "retry_concurrency_queued", "retry.concurrency.queued", "{attempt}",
		"Attempts that wait for a permit of a concurrency limit.", []Label{limit}, false, nil},
	RateQueued: {Gauge, "retry_rate_queued", "retry.rate.queued", "{attempt}",
		"Attempts that wait for their turn at a rate.", []Label{rate}, false, nil},
	ThrottleShare: {Gauge, "retry_throttle_share", "retry.throttle.share", "",
		"Share of the attempts that a throttle refuses.", []Label{throttle}, false, nil},
	Refused: {Count, "retry_refused_total", "retry.refused", "{attempt}",
		"Attempts that a limit, a rate or a throttle has refused.", []Label{stopped, refuser}, false, nil},
	HedgeDelay: {Gauge, "retry_hedge_delay_seconds", "retry.hedge.delay", "s",
		"How long a first request takes before a second one starts.", []Label{hedged}, false, nil},
	Hedges: {Count, "retry_hedges_total", "retry.hedges", "{request}",
		"Second requests that were due, by outcome.", []Label{hedged, captured}, false, nil},
	PolicyChanges: {Count, "retry_policy_changes_total", "retry.policy.changes", "{version}",
		"Versions of policy files that were loaded while the program runs, by outcome.",
		[]Label{program, captured}, false, nil},
	Overrides: {Gauge, "retry_overrides", "retry.overrides", "{override}",
		"Overrides in force.", []Label{action}, false, nil},
}

// Changes counts the versions of the policy file of a package that were loaded: a
// live.Control does.
type Changes interface {
	Counts() (pkg string, accepted, refused int)
}

// Capacity are the limits, rates, throttles and hedges of a program, and what changes its
// policies while it runs. Its methods may be called concurrently. The zero Capacity has none.
type Capacity struct {
	mu        sync.Mutex
	all       capacity.Set
	hedges    []*hedge.Hedge
	changes   []Changes
	overrides []*override.Set
}

// Add adds what limits calls. What is there already is not added again.
func (c *Capacity) Add(sets ...capacity.Set) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range sets {
		c.all.Limiters = unite(c.all.Limiters, s.Limiters)
		c.all.Rates = unite(c.all.Rates, s.Rates)
		c.all.Throttles = unite(c.all.Throttles, s.Throttles)
	}
}

// AddHedges adds hedges, as Add does.
func (c *Capacity) AddHedges(hedges []*hedge.Hedge) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hedges = unite(c.hedges, hedges)
}

// AddChanges adds what counts changes of policies, as Add does.
func (c *Capacity) AddChanges(changes []Changes) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes = unite(c.changes, changes)
}

// AddOverrides adds sets of overrides, as Add does.
func (c *Capacity) AddOverrides(sets []*override.Set) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.overrides = unite(c.overrides, sets)
}

// unite appends the elements of more that list does not have.
func unite[T comparable](list, more []T) []T {
	for _, x := range more {
		if !slices.Contains(list, x) {
			list = append(list, x)
		}
	}
	return list
}

// A series is the name of a time series.
type series struct {
	id     CapacityID
	labels [2]string
}

// Each calls f with the present value of each time series. Limits of one name are one time
// series: their values are added up; of shares and delays, the greatest counts.
func (c *Capacity) Each(f func(id CapacityID, value float64, labels []string)) {
	values := c.read()
	order := func(a, b series) int {
		return cmp.Or(cmp.Compare(a.id, b.id), slices.Compare(a.labels[:], b.labels[:]))
	}
	for _, s := range slices.SortedFunc(maps.Keys(values), order) {
		f(s.id, values[s], s.labels[:len(CapacityInstruments[s.id].Labels)])
	}
}

// read returns the present values.
func (c *Capacity) read() map[series]float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	values := map[series]float64{}
	add := func(id CapacityID, value float64, name, more string) {
		s := series{id, [2]string{name, more}}
		if id == ThrottleShare || id == HedgeDelay {
			values[s] = max(values[s], value)
		} else {
			values[s] += value
		}
	}
	for _, l := range c.all.Limiters {
		name := l.Policy().Name
		add(Limit, float64(l.Limit()), name, "")
		add(LimitInUse, float64(l.InUse()), name, "")
		add(LimitQueued, float64(l.Queued()), name, "")
		add(Refused, float64(l.Refused()), "limited", name)
	}
	for _, r := range c.all.Rates {
		name := r.Policy().Name
		add(RateQueued, float64(r.Queued()), name, "")
		add(Refused, float64(r.Refused()), "rate_limited", name)
	}
	for _, t := range c.all.Throttles {
		name := t.Policy().Name
		add(ThrottleShare, t.Share(), name, "")
		add(Refused, float64(t.Refused()), "throttled", name)
	}
	for _, h := range c.hedges {
		name, counts := h.Policy().Name, h.Counts()
		if delay, known := h.Delay(); known {
			add(HedgeDelay, delay.Seconds(), name, "")
		}
		add(Hedges, float64(counts.Won), name, "won")
		add(Hedges, float64(counts.Lost), name, "lost")
		add(Hedges, float64(counts.Refused), name, "refused")
		add(Hedges, float64(counts.NoBudget), name, "no_budget")
	}
	for _, one := range c.changes {
		pkg, accepted, refused := one.Counts()
		add(PolicyChanges, float64(accepted), pkg, "accepted")
		add(PolicyChanges, float64(refused), pkg, "refused")
	}
	for _, set := range c.overrides {
		for _, what := range [...]string{"attempts limited", "breakers held open", "breakers held closed"} {
			add(Overrides, 0, what, "")
		}
		for _, o := range set.List() {
			what := "attempts limited"
			if o.Breaker != "" {
				what = o.Action()
			}
			add(Overrides, 1, what, "")
		}
	}
	return values
}
