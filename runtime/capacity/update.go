package capacity

import (
	"errors"
	"fmt"
	"time"
)

// ErrAdaptive is the error of an update by which a limiter would begin or cease to adapt
// its limit: attempts that are in progress would return their permits in the wrong way.
var ErrAdaptive = errors.New("a limiter cannot begin or cease to adapt its limit")

// Update gives the limiter other settings while calls use it. Attempts that hold permits
// keep them, even if the limit falls below their number. Attempts that wait keep their
// MaxWait. An adaptive limit stays where it is, within Min and Max. Update returns an
// error, and changes nothing, if [NewLimiter] would panic for p, if p has another Name,
// or [ErrAdaptive]. It may be called at any time, but not for the zero Limiter.
func (l *Limiter) Update(p LimiterPolicy) error { return updateNow(l.PrepareUpdate(p)) }

// PrepareUpdate returns the error of [Limiter.Update], or the function that makes the update.
// Code that updates several things together, or none of them, prepares all updates first.
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

// ErrShared is the error of an update of a rate that processes share: the record in the store
// has its settings.
var ErrShared = errors.New("a rate that processes share cannot change")

// Update gives the rate other settings while calls use it. Slots that are taken stay
// taken. The next slot is free when it would have been, but at most a Burst of slots from
// now. Attempts that wait move up if the rate rises. Update returns an error, and changes
// nothing, if [NewRate] would panic for p, if p has another Name, or [ErrShared]. It may
// be called at any time.
func (r *Rate) Update(p RatePolicy) error { return updateNow(r.PrepareUpdate(p)) }

// PrepareUpdate returns the error of [Rate.Update], or the function that makes the update.
// Code that updates several things together, or none of them, prepares all updates first.
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

// Update gives the throttle other settings while calls use it. It keeps what it has counted,
// unless the Window changes. Update returns an error, and changes nothing, if [NewThrottle]
// would panic for p or if p has another Name. It may be called at any time.
func (t *Throttle) Update(p ThrottlePolicy) error { return updateNow(t.PrepareUpdate(p)) }

// PrepareUpdate returns the error of [Throttle.Update], or the function that makes the update.
// Code that updates several things together, or none of them, prepares all updates first.
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
