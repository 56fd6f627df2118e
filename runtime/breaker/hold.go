package breaker

import "time"

// holding is the part of a Breaker that an operator holds open or closed for some time.
// The state machine goes on as before, so that the breaker has the state afterwards that
// it would have had without the hold.
type holding struct {
	held  bool
	as    State // Open or Closed
	until time.Time
}

// HoldOpen makes the breaker refuse all attempts in this process until the given time. It
// allows an operator to stop the calls to a service without having to remember to allow
// them again. Until then, calls see an open breaker. The results of attempts in progress
// still count, so the breaker may actually be open afterwards. A later call to HoldOpen
// or [Breaker.HoldClosed] replaces the hold, and [Breaker.EndHold] ends it. If the given
// time has already passed, HoldOpen ends an earlier hold. [Breaker.Reset] does not end a
// hold.
func (b *Breaker) HoldOpen(until time.Time) { b.hold(Open, until) }

// HoldClosed makes the breaker admit all attempts in this process until the given time,
// whatever its state. Use it if you know that the failures do not matter or that the
// breaker is too strict. During the hold, the breaker's state changes as usual. After the
// hold, the state takes effect again. See [Breaker.HoldOpen].
func (b *Breaker) HoldClosed(until time.Time) { b.hold(Closed, until) }

// EndHold ends the effect of HoldOpen or HoldClosed, if any.
func (b *Breaker) EndHold() { b.hold(Closed, time.Time{}) }

func (b *Breaker) hold(as State, until time.Time) {
	b.lock()
	defer b.unlock()
	now := time.Now()
	if b.stateAt(now); !now.Before(until) {
		b.endHold(now)
		return
	}
	b.holding = holding{held: true, as: as, until: until}
	b.why, b.when = ChangeHeld, now
}

// endHold ends a hold, if there is one.
func (b *Breaker) endHold(now time.Time) {
	if b.held {
		b.holding = holding{}
		b.why, b.when = ChangeHoldEnded, now
	}
}

// expireHold ends a hold whose time has passed. The caller holds the lock, and calls it
// before it looks at the state, so that a hold needs no timer.
func (b *Breaker) expireHold(now time.Time) {
	if b.held && !now.Before(b.until) {
		b.endHold(now)
	}
}

// holdsOpen and holdsClosed report whether a hold of that kind has not ended.
func (h *holding) holdsOpen() bool   { return h.held && h.as == Open }
func (h *holding) holdsClosed() bool { return h.held && h.as == Closed }

// shown returns the state and the end of OpenFor that calls see.
func (b *Breaker) shown() (State, time.Time) {
	switch {
	case b.holdsOpen():
		return Open, b.until
	case b.holdsClosed():
		return Closed, time.Time{}
	}
	return b.s.State, b.s.OpenUntil
}

// Outlook returns the state that calls see now. If the state is [Open], it also returns
// the time at which the breaker stops refusing attempts, as set by OpenFor or
// [Breaker.HoldOpen].
func (b *Breaker) Outlook() (State, time.Time) {
	b.lock()
	defer b.unlock()
	now := time.Now()
	b.expireHold(now)
	b.stateAt(now)
	return b.shown()
}
