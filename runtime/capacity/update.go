package capacity

import (
	"errors"
	"fmt"
	"time"
)

// ErrAdaptive is returned for an update that would make a fixed limit adaptive or an
// adaptive limit fixed. After such an update, the attempts in progress would return their
// permits incorrectly.
var ErrAdaptive = errors.New("a limiter cannot begin or cease to adapt its limit")

// Update changes the limiter's settings while calls use it. Attempts that hold permits
// keep them, even if the limit falls below their number. Attempts that wait keep their
// MaxWait. An adaptive limit keeps its current value, within Min and Max. Update returns
// an error and changes nothing if [NewLimiter] would panic for p, if p has a different
// Name, or if the update would make a fixed limit adaptive or an adaptive limit fixed
// ([ErrAdaptive]). Update may be called at any time, but not for the zero Limiter.
func (l *Limiter) Update(p LimiterPolicy) error { return updateNow(l.PrepareUpdate(p)) }

// PrepareUpdate returns a function that makes the update, or the error that
// [Limiter.Update] would return. To ensure that several updates are made together or not
// at all, prepare all of them first.
func (l *Limiter) PrepareUpdate(p LimiterPolicy) (update func(), err error) {
	p = p.Effective()
	old := l.Policy()
	switch err := p.validate(); {
	case err != nil:
		return nil, err
	case p.Name != old.Name:
		return nil, renamed("limiter", old.Name, p.Name)
	case p.Target > 0 != l.Adaptive():
		return nil, fmt.Errorf("limiter %q: %w", p.Name, ErrAdaptive)
	}
	return func() { l.update(&p) }, nil
}

// update gives the limiter settings that are valid.
func (l *Limiter) update(p *LimiterPolicy) {
	l.policy.Store(p)
	if a := l.adaptive; a != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.limit = min(max(a.limit, float64(p.Min)), float64(p.Max))
		l.resize(p.Max, int(a.limit))
	} else {
		l.resize(p.Limit, p.Limit)
	}
}

// updateNow makes a prepared update.
func updateNow(update func(), err error) error {
	if err == nil {
		update()
	}
	return err
}

// resize changes the limit and the greatest number of permits. The greater one of the old
// and the new number holds while the limit changes, so that no permit seems to be one too
// many.
func (l *Limiter) resize(most, limit int) {
	l.most.Store(max(uint64(most), l.most.Load()))
	l.setLimit(int64(limit))
	l.most.Store(uint64(most))
}

// ErrShared is returned for an update of a rate that several processes share. The
// settings of such a rate are in the store.
var ErrShared = errors.New("a rate that processes share cannot change")

// Update changes the rate's settings while calls use it. Slots that are taken stay taken.
// The time at which all slots are free again stays the same, but is at most Burst intervals
// from now. Waiting attempts move up if the rate rises. Update returns an error and changes
// nothing if [NewRate] would panic for p, if p has a different Name, or if several
// processes share the rate ([ErrShared]). Update may be called at any time.
func (r *Rate) Update(p RatePolicy) error { return updateNow(r.PrepareUpdate(p)) }

// PrepareUpdate returns a function that makes the update, or the error that [Rate.Update]
// would return. To ensure that several updates are made together or not at all, prepare
// all of them first.
func (r *Rate) PrepareUpdate(p RatePolicy) (update func(), err error) {
	p = p.Effective()
	if err := p.validate(); err != nil {
		return nil, err
	}
	if old := r.Policy().Name; p.Name != old {
		return nil, renamed("rate", old, p.Name)
	}
	if r.isShared() {
		return nil, fmt.Errorf("rate %q: %w", p.Name, ErrShared)
	}
	return func() {
		r.rule.Store(&rateRule{p, p.spacing()})
		if r.crowded.Load() {
			r.grantSlots()
		}
	}, nil
}

// Update changes the throttle's settings while calls use it. It keeps the counts, unless
// the Window changes. Update returns an error and changes nothing if [NewThrottle] would
// panic for p or if p has a different Name. Update may be called at any time.
func (t *Throttle) Update(p ThrottlePolicy) error { return updateNow(t.PrepareUpdate(p)) }

// PrepareUpdate returns a function that makes the update, or the error that
// [Throttle.Update] would return. To ensure that several updates are made together or not
// at all, prepare all of them first.
func (t *Throttle) PrepareUpdate(p ThrottlePolicy) (update func(), err error) {
	e := p.Effective()
	if err := e.validate(); err != nil {
		return nil, err
	}
	if old := t.Policy().Name; p.Name != old {
		return nil, renamed("throttle", old, p.Name)
	}
	return func() {
		t.lock()
		defer t.unlock()
		t.policy.Store(&p)
		if t.state.limits.Window != e.Window {
			t.state = NewThrottleState(p, time.Now())
			return
		}
		t.state.limits = e
		t.state.advance(time.Now())
	}, nil
}

func renamed(kind, from, to string) error {
	return fmt.Errorf("%s %q: Name is %q: it cannot change", kind, from, to)
}
