package hedge

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/retrygen/retrygen/runtime/budget"
)

// saved is the greatest number of hedges that the budget of extra load saves up for
// later. It is the number that may follow each other at once, also at the start.
const saved = 10

// A Hedge decides when a function's second requests start, and counts their outcomes. All
// calls to one function share it. Do not use it for several functions, because a quantile
// of their different durations would be useless. Any number of goroutines may use it. As
// long as first requests are fast, it takes no lock. The zero Hedge starts no second
// request, and neither does a nil *Hedge.
type Hedge struct {
	policy   atomic.Pointer[Policy] // with its defaults; nil in the zero Hedge
	extra    *budget.Budget         // nil in the zero Hedge
	quantile quantile               // of the durations of first requests, if the policy has one

	won, lost, refused, noBudget atomic.Uint64
}

// New returns a hedge. It panics unless exactly one of After and Quantile is set, or if a
// field of p is negative, NaN or too large.
func New(p Policy) *Hedge {
	if err := p.validate(); err != nil {
		panic(err.Error())
	}
	p = p.Effective()
	h := &Hedge{extra: budget.New(p.extra())}
	h.policy.Store(&p)
	return h
}

// extra returns the budget of the extra load.
func (p *Policy) extra() budget.Policy {
	return budget.Policy{Ratio: p.Extra, MinPerSecond: budget.NoRefill, Burst: saved}
}

// Update changes the hedge's settings while calls use it. It keeps the counts, but
// forgets the durations if Quantile changes. Requests that have begun keep their delay.
// Update returns an error and changes nothing if [New] would panic for p or if p has a
// different Name. It may be called at any time, but not for the zero Hedge.
func (h *Hedge) Update(p Policy) error {
	update, err := h.PrepareUpdate(p)
	if err == nil {
		update()
	}
	return err
}

// PrepareUpdate returns a function that makes the update, or the error that
// [Hedge.Update] would return. To ensure that several updates are made together or not at
// all, prepare all of them first.
func (h *Hedge) PrepareUpdate(p Policy) (update func(), err error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	if old := h.policy.Load().Name; p.Name != old {
		return nil, fmt.Errorf("hedge %q: Name is %q: it cannot change", old, p.Name)
	}
	p = p.Effective()
	return func() {
		if old := h.policy.Swap(&p); p.Quantile != old.Quantile {
			h.quantile.reset()
		}
		h.extra.Update(p.extra())
	}, nil
}

// Policy returns the hedge's policy with its defaults.
func (h *Hedge) Policy() Policy {
	if p := h.policy.Load(); p != nil {
		return *p
	}
	return Policy{}
}

// Delay returns how long the first request of a race that begins now may take before the
// second one starts. It returns false if no second request would start because the
// quantile is not known yet.
func (h *Hedge) Delay() (time.Duration, bool) {
	p := h.policy.Load()
	switch {
	case p == nil:
		return 0, false
	case p.After > 0:
		return p.After, true
	}
	d := h.quantile.get()
	return max(d, p.AtLeast), d > 0
}

// Counts contains the numbers of second requests, by outcome, since a Hedge was created.
type Counts struct {
	Won      uint64 // the result of the second request was used
	Lost     uint64 // the first request had a result earlier, or the second one failed
	Refused  uint64 // not started: see ErrRefused
	NoBudget uint64 // not started, because it would have exceeded Extra
}

// Counts returns the outcomes of the second requests so far.
func (h *Hedge) Counts() Counts {
	return Counts{h.won.Load(), h.lost.Load(), h.refused.Load(), h.noBudget.Load()}
}

// note takes the duration of the first request of r. One that failed before a second one
// would have started does not count: how fast a service refuses says nothing about how
// long its answers take. One that failed later does, also because it was canceled: an
// answer would have taken longer still. If only the winners counted, the quantile would
// fall, and the share of hedges would rise.
func (h *Hedge) note(r *Race, d time.Duration, succeeded bool) {
	if succeeded || r.timer != nil && d >= r.delay {
		h.quantile.add(d, !succeeded, r.quantile)
	}
}

// count counts a second request that has returned err, and returns the outcome of its
// race. answered says whether the first request has an answer.
func (h *Hedge) count(err error, answered bool) Outcome {
	switch {
	case err == nil && !answered:
		h.won.Add(1)
		return Second
	case errors.Is(err, ErrRefused):
		h.refused.Add(1)
		return Single
	case err == errExited:
		h.lost.Add(1)
		return Single
	}
	h.lost.Add(1)
	return First
}
