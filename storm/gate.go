package storm

import (
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/capacity"
)

// A shelf holds one model per name and process. The models are breakers, budgets or limits on
// attempts.
type shelf[P, M any] struct {
	make     func(P, time.Time) M
	names    []string
	policies []P
	models   []M // the models of all names, process by process
}

// join returns the index of the model with the given name in the models of a process, and adds
// the model if necessary.
func (s *shelf[P, M]) join(name string, p P) int {
	for i, known := range s.names {
		if known == name {
			return i
		}
	}
	s.names, s.policies = append(s.names, name), append(s.policies, p)
	return len(s.names) - 1
}

// reset creates new models for each process.
func (s *shelf[P, M]) reset(processes int, now time.Time) {
	s.models = s.models[:0]
	for range processes {
		for _, p := range s.policies {
			s.models = append(s.models, s.make(p, now))
		}
	}
}

// of returns the model of a process at an index.
func (s *shelf[P, M]) of(process uint32, place int) M {
	return s.models[int(process)*len(s.names)+place]
}

// A rate simulates the rate limit of a process, as [capacity.Rate] does.
type rate struct {
	policy   capacity.RatePolicy
	interval time.Duration
	state    time.Time
	line
}

func newRate(p capacity.RatePolicy, _ time.Time) *rate {
	return &rate{policy: p.Effective(), interval: p.Interval()}
}

// take takes a slot. If none is free, it returns the time until one is.
func (r *rate) take(now time.Time) (wait time.Duration) {
	state, wait := r.policy.Take(r.state, now)
	if wait == 0 {
		r.state = state
	}
	return wait
}

// grant gives free slots to the waiting calls.
func (r *rate) grant(e *engine) {
	for w, ok := r.first(e); ok; w, ok = r.first(e) {
		if wait := r.take(e.time()); wait > 0 {
			e.after(int64(wait), turns, w.call, w.gen)
			return
		}
		r.pop(e).slot = r.state
		e.after(0, turned, w.call, w.gen)
	}
}

// giveBack returns an unused slot. If a later slot was taken in the meantime, the slot is lost.
func (r *rate) giveBack(e *engine, slot time.Time) {
	if r.state.Equal(slot) {
		r.state = slot.Add(-r.interval)
		r.grant(e)
	}
}

// A line holds the waiting calls, oldest first.
type line struct {
	waiters []waiter // also contains calls that no longer wait
	queued  int      // number of calls that still wait
}

// A waiter is a call that waits, with its generation.
type waiter struct{ call, gen uint32 }

// push appends a call.
func (l *line) push(call, gen uint32) {
	l.waiters = append(l.waiters, waiter{call, gen})
	l.queued++
}

// first returns the first call that still waits.
func (l *line) first(e *engine) (w waiter, ok bool) {
	for len(l.waiters) > 0 {
		if w = l.waiters[0]; e.calls.at(w.call).gen == w.gen {
			return w, true
		}
		l.waiters = l.waiters[1:]
	}
	return w, false
}

// pop removes and returns the first call, which must still wait.
func (l *line) pop(e *engine) *call {
	c := e.calls.at(l.waiters[0].call)
	l.waiters = l.waiters[1:]
	l.queued--
	c.waits = nowhere
	return c
}

// A throttle refuses a share of the attempts of a process.
type throttle struct {
	policy capacity.ThrottlePolicy
	state  capacity.ThrottleState
}

func newThrottle(p capacity.ThrottlePolicy, now time.Time) *throttle {
	return &throttle{p, capacity.NewThrottleState(p, now)}
}

// A limiter limits the number of attempts of a process that are in progress.
type limiter struct {
	policy capacity.LimiterPolicy
	limit  float64
	inUse  int
	line

	window capacity.Window // for an adaptive limit
	sum    time.Duration   // total duration of the attempts in the window that show no overload
	from   time.Time
}

func newLimiter(p capacity.LimiterPolicy, now time.Time) *limiter {
	p = p.Effective()
	return &limiter{policy: p, limit: float64(p.Limit), from: now}
}

// take takes a permit, if one is free and no call waits.
func (l *limiter) take() bool {
	if l.queued > 0 || l.inUse >= int(l.limit) {
		return false
	}
	l.inUse++
	return true
}

// full reports whether no more attempts may wait.
func (l *limiter) full() bool {
	queue := l.policy.Queue
	if queue == 0 {
		queue = int(l.limit)
	}
	return l.policy.MaxWait == capacity.NoWait || l.queued >= queue
}

// done returns a permit, and counts the sample of the attempt for an adaptive limit, as
// [capacity.Limiter.Done] does.
func (l *limiter) done(e *engine, took time.Duration, s capacity.Sample) {
	w := &l.window
	w.InUse = max(w.InUse, l.inUse)
	switch {
	case l.policy.Target <= 0:
	case s == capacity.Overload:
		w.Overload++
		w.Calls++
	case s == capacity.Success || took > l.policy.Target:
		w.Calls++
		l.sum += took.Truncate(time.Microsecond)
	}
	l.inUse--
	l.grant(e) // before the limit changes
	if now := e.time(); l.policy.Target > 0 && w.IsOver(now.Sub(l.from)) {
		if n := w.Calls - w.Overload; n > 0 {
			w.Mean = l.sum / time.Duration(n)
		}
		l.limit = l.policy.Next(l.limit, *w)
		l.window, l.sum, l.from = capacity.Window{}, 0, now
	}
	l.grant(e)
}

// grant gives free permits to waiting calls.
func (l *limiter) grant(e *engine) {
	for l.inUse < int(l.limit) {
		w, ok := l.first(e)
		if !ok {
			return
		}
		l.pop(e)
		l.inUse++
		e.after(0, permits, w.call, w.gen)
	}
}

// limiterOf, rateOf and throttleOf return the limits on the attempts of a process, or nil.

func (r *route) limiterOf(process uint32) *limiter {
	if g := r.limiter.group; g != nil {
		return g.limiters.of(r.limiter.process(process), r.limiter.place)
	}
	return nil
}

func (r *route) rateOf(process uint32) *rate {
	if g := r.rate.group; g != nil {
		return g.rates.of(r.rate.process(process), r.rate.place)
	}
	return nil
}

func (r *route) throttleOf(process uint32) *throttle {
	if g := r.throttle.group; g != nil {
		return g.throttles.of(r.throttle.process(process), r.throttle.place)
	}
	return nil
}

// gated reports whether the attempts of the route have any limit.
func (r *route) gated() bool {
	return r.limiter.group != nil || r.rate.group != nil || r.throttle.group != nil
}

// A place describes what a call waits for before an attempt.
type place uint8

const (
	nowhere place = iota
	forTurn       // for a turn of the rate
	forPermit
)

// enter asks the throttle, and then for a turn of the rate.
func (c *call) enter(i uint32) {
	r := c.route
	if t := r.throttleOf(c.process); t != nil && !t.state.Admit(r.engine.time(), r.jitter.Float64()) {
		c.refused(i, capacity.Refusal{By: capacity.ByThrottle, Name: t.policy.Name})
		return
	}
	rate := r.rateOf(c.process)
	if rate == nil {
		c.takePermit(i)
		return
	}
	now := r.engine.time()
	var wait time.Duration
	if rate.queued == 0 {
		wait = rate.take(now)
	} else {
		_, wait = rate.policy.Take(rate.state, now)
		wait += time.Duration(rate.queued) * rate.interval
	}
	switch {
	case wait == 0:
		c.rate, c.slot = rate, rate.state
		c.takePermit(i)
	case wait > rate.policy.MaxWait:
		c.refused(i, capacity.Refusal{By: capacity.ByRate, Name: rate.policy.Name, AdmitsIn: wait})
	case c.passes(wait):
		c.end(i, retry.ErrDeadline)
	default:
		c.waits, c.rate = forTurn, rate
		c.gen++
		if rate.push(i, c.gen); rate.queued == 1 {
			r.engine.after(int64(wait), turns, i, c.gen)
		}
	}
}

// takePermit takes a permit of the limiter, or waits for one.
func (c *call) takePermit(i uint32) {
	r := c.route
	l := r.limiterOf(c.process)
	switch {
	case l == nil:
		c.permitted(i)
		return
	case l.take():
		c.limiter = l
		c.permitted(i)
		return
	case l.full():
		c.giveBack()
		c.refused(i, capacity.Refusal{By: capacity.ByLimiter, Name: l.policy.Name})
		return
	}
	wait := l.policy.MaxWait
	if !c.state.Deadline.IsZero() {
		wait = min(wait, c.state.Deadline.Sub(r.engine.time()))
	}
	c.waits, c.limiter = forPermit, l
	c.gen++
	l.push(i, c.gen)
	r.engine.after(int64(wait), givesUp, i, c.gen)
}

// giveUp ends the wait for a permit, unless the call has just received one.
func (c *call) giveUp(i uint32) {
	if c.waits != forPermit {
		return
	}
	l := c.limiter
	c.leaveLine()
	c.giveBack()
	if c.passes(0) {
		c.end(i, retry.ErrDeadline)
		return
	}
	c.refused(i, capacity.Refusal{By: capacity.ByLimiter, Name: l.policy.Name})
}

// leaveLine ends a wait without an attempt.
func (c *call) leaveLine() {
	c.gen++
	switch c.waits {
	case forTurn:
		c.rate.queued--
		c.rate.grant(c.route.engine) // the next call gets the turn
		c.rate = nil
	case forPermit:
		c.limiter.queued--
		c.limiter = nil
	}
	c.waits = nowhere
}

// giveBack returns the rate's slot, if the call has one that it does not use.
func (c *call) giveBack() {
	if rate := c.rate; rate != nil {
		c.rate = nil
		rate.giveBack(c.route.engine, c.slot)
	}
}

// permitted asks for the permit of the breaker, and makes the attempt.
func (c *call) permitted(i uint32) {
	r := c.route
	c.entered = r.engine.now
	if b := r.breakerOf(c.process); b != nil {
		permit, ok := b.Admit(r.engine.time())
		if !ok {
			c.release(capacity.Neutral)
			c.giveBack()
			c.fails(i, &retry.Failure{Err: retry.ErrBreakerOpen, Refused: true})
			return
		}
		c.permit = permit
	}
	c.rate = nil // the slot is used
	c.attempt(i)
}

// leave returns the permit of an attempt that has ended, and reports its samples.
func (c *call) leave(limits, throttles capacity.Sample) {
	if t := c.route.throttleOf(c.process); t != nil {
		t.state.Report(c.route.engine.time(), throttles)
	}
	c.release(limits)
}

// release returns the permit of the limiter, if the call has one.
func (c *call) release(s capacity.Sample) {
	if l := c.limiter; l != nil {
		c.limiter = nil
		l.done(c.route.engine, time.Duration(c.route.engine.now-c.entered), s)
	}
}

// passes reports whether a wait would reach the deadline of the call.
func (c *call) passes(wait time.Duration) bool {
	return !c.state.Deadline.IsZero() && !c.route.engine.time().Add(wait).Before(c.state.Deadline)
}

// refused decides what follows an attempt that was refused.
func (c *call) refused(i uint32, by capacity.Refusal) {
	c.fails(i, &retry.Failure{Err: by, Refused: true})
}
