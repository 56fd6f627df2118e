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

// A PolledID is the index of an instrument in [PolledInstruments].
type PolledID uint8

// The instruments whose values are read when metrics are collected.
const (
	Limit PolledID = iota
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

// PolledInstruments are the instruments whose values, counters included, are read when
// metrics are collected, by their ids: of what limits calls, and of what changes policies.
var PolledInstruments = [...]Instrument{
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

// Polled has what is asked when metrics are collected: the limits, rates, throttles and
// hedges of a program, and what changes its policies while it runs. Its methods may be
// called concurrently. The zero Polled has none.
type Polled struct {
	mu        sync.Mutex
	all       capacity.Set
	hedges    []*hedge.Hedge
	changes   []Changes
	overrides []*override.Set
}

// Add adds what limits calls. What is there already is not added again.
func (p *Polled) Add(sets ...capacity.Set) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range sets {
		p.all.Limiters = unite(p.all.Limiters, s.Limiters)
		p.all.Rates = unite(p.all.Rates, s.Rates)
		p.all.Throttles = unite(p.all.Throttles, s.Throttles)
	}
}

// AddHedges adds hedges, as Add does.
func (p *Polled) AddHedges(hedges []*hedge.Hedge) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hedges = unite(p.hedges, hedges)
}

// AddChanges adds what counts changes of policies, as Add does.
func (p *Polled) AddChanges(changes Changes) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changes = unite(p.changes, []Changes{changes})
}

// AddOverrides adds sets of overrides, as Add does.
func (p *Polled) AddOverrides(sets []*override.Set) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.overrides = unite(p.overrides, sets)
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
	id     PolledID
	labels [2]string
}

// Each calls f with the present value of each time series. Limits of one name are one time
// series: their values are added up; of shares and delays, the greatest counts.
func (p *Polled) Each(f func(id PolledID, value float64, labels []string)) {
	values := p.read()
	order := func(a, b series) int {
		return cmp.Or(cmp.Compare(a.id, b.id), slices.Compare(a.labels[:], b.labels[:]))
	}
	for _, s := range slices.SortedFunc(maps.Keys(values), order) {
		f(s.id, values[s], s.labels[:len(PolledInstruments[s.id].Labels)])
	}
}

// read returns the present values.
func (p *Polled) read() map[series]float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	values := map[series]float64{}
	add := func(id PolledID, value float64, name, more string) {
		s := series{id, [2]string{name, more}}
		if id == ThrottleShare || id == HedgeDelay {
			values[s] = max(values[s], value)
		} else {
			values[s] += value
		}
	}
	for _, l := range p.all.Limiters {
		name := l.Policy().Name
		add(Limit, float64(l.Limit()), name, "")
		add(LimitInUse, float64(l.InUse()), name, "")
		add(LimitQueued, float64(l.Queued()), name, "")
		add(Refused, float64(l.Refused()), "limited", name)
	}
	for _, r := range p.all.Rates {
		name := r.Policy().Name
		add(RateQueued, float64(r.Queued()), name, "")
		add(Refused, float64(r.Refused()), "rate_limited", name)
	}
	for _, t := range p.all.Throttles {
		name := t.Policy().Name
		add(ThrottleShare, t.Share(), name, "")
		add(Refused, float64(t.Refused()), "throttled", name)
	}
	for _, h := range p.hedges {
		name, counts := h.Policy().Name, h.Counts()
		if delay, known := h.Delay(); known {
			add(HedgeDelay, delay.Seconds(), name, "")
		}
		add(Hedges, float64(counts.Won), name, "won")
		add(Hedges, float64(counts.Lost), name, "lost")
		add(Hedges, float64(counts.Refused), name, "refused")
		add(Hedges, float64(counts.NoBudget), name, "no_budget")
	}
	for _, one := range p.changes {
		pkg, accepted, refused := one.Counts()
		add(PolicyChanges, float64(accepted), pkg, "accepted")
		add(PolicyChanges, float64(refused), pkg, "refused")
	}
	for _, set := range p.overrides {
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
