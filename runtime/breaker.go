package retry

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Breaker is a circuit breaker, shared by any number of calls and goroutines.
// It takes one sample of each attempt: success, failure or neutral. The zero
// Breaker is closed and has the default policy. A Breaker must not be copied
// after first use.
//
// A breaker without rates that is closed and has seen no failure since the last
// success costs an atomic load before an attempt and one after. With a
// FailureRate, a success also costs a clock reading and an atomic addition; with
// a SlowRate, one more clock reading. It starts neither timers nor goroutines.
type Breaker struct {
	// word is what the fast path reads: the generation, and the bits below. It
	// is written under mu. The word of the zero Breaker has no bit set.
	word   atomic.Uint64
	window atomic.Pointer[window] // nil unless closed and a rate is set
	policy BreakerPolicy          // as given; never written after NewBreaker

	mu     sync.Mutex
	limits BreakerPolicy // effective
	state  BreakerState
	// failures is the number of consecutive failures, half-open attempts
	// included.
	failures  int
	successes int // while half-open
	openUntil time.Time
	// generation is the number of states so far. The result of an attempt counts
	// only in the generation that admitted it. Zero: the breaker has not been
	// used.
	generation uint64
	probes     []probe
	lastProbe  uint64
}

// A probe is an attempt that a half-open breaker has admitted, and for which it
// waits.
type probe struct {
	id      uint64
	started time.Time
}

// The bits of Breaker.word below the generation.
const (
	admits        = 1 << iota // attempts need not ask; in a Pass: the attempt is admitted
	quiet                     // a success changes nothing
	failing                   // the last sample was a failure
	generationBit = iota
)

// NewBreaker returns a closed breaker. It panics if a field of p is negative,
// if a rate is not a number from 0 to 1, or if one of SlowCall and SlowRate is
// set without the other.
func NewBreaker(p BreakerPolicy) *Breaker {
	if err := p.validate(); err != nil {
		panic("retry: " + err.Error())
	}
	b := &Breaker{policy: p}
	b.lock()
	b.mu.Unlock()
	return b
}

// lock locks the breaker, and sets up one that has not been used.
func (b *Breaker) lock() {
	b.mu.Lock()
	if b.generation == 0 {
		b.limits = b.policy.Effective()
		b.set(StateClosed, time.Now())
	}
}

// A permit is the permission for one attempt.
type permit struct {
	pass    Pass
	probe   uint64    // of a half-open breaker, or 0
	started time.Time // zero where the pass is that of Ready
}

// State returns the current state.
func (b *Breaker) State() BreakerState {
	b.lock()
	defer b.mu.Unlock()
	return b.stateAt(time.Now())
}

// stateAt returns the state at a time. An open breaker becomes half-open when it
// is looked at, so that it needs no timer.
func (b *Breaker) stateAt(now time.Time) BreakerState {
	if b.state == StateOpen && now.After(b.openUntil) {
		b.set(StateHalfOpen, now)
	}
	return b.state
}

// set begins a new generation.
func (b *Breaker) set(s BreakerState, now time.Time) {
	b.state, b.successes, b.probes = s, 0, nil
	b.generation++
	if s == StateOpen {
		b.openUntil = now.Add(b.limits.OpenFor)
	}
	var w *window
	if s == StateClosed && b.limits.hasRate() {
		w = newWindow(&b.limits, b.generation, now)
	}
	b.window.Store(w)
	b.publish()
}

func (b *Breaker) publish() {
	word := b.generation << generationBit
	if b.state == StateClosed {
		if b.limits.SlowCall == 0 {
			word |= admits // else the start of the attempt has to be known
		}
		if b.failures > 0 {
			word |= failing
		} else if !b.limits.hasRate() {
			word |= quiet
		}
	}
	b.word.Store(word)
}

// admit returns the permit for an attempt that starts now, and false if the
// breaker refuses it.
func (b *Breaker) admit(now time.Time) (permit, bool) {
	if w := b.window.Load(); w != nil {
		return permit{pass: Pass(w.generation<<generationBit | admits), started: now}, true
	}
	b.lock()
	defer b.mu.Unlock()
	p := permit{started: now}
	switch b.stateAt(now) {
	case StateOpen, StateEscalated:
		return permit{}, false
	case StateHalfOpen:
		// A probe that does not end must not block the breaker.
		b.probes = slices.DeleteFunc(b.probes, func(p probe) bool { return now.Sub(p.started) > b.limits.OpenFor })
		if len(b.probes) >= b.limits.HalfOpenCalls {
			return permit{}, false
		}
		b.lastProbe++
		p.probe = b.lastProbe
		b.probes = append(b.probes, probe{p.probe, now})
	}
	p.pass = Pass(b.word.Load() | admits)
	return p, true
}

// never is a time at which an escalated breaker still admits nothing.
var never = time.Unix(1<<60, 0)

// admitsAt returns the time after which the breaker may admit an attempt, as
// far as is known now. Zero means that it may admit one now.
func (b *Breaker) admitsAt() time.Time {
	if _, ok := b.Ready(); ok {
		return time.Time{}
	}
	b.lock()
	defer b.mu.Unlock()
	switch b.state {
	case StateOpen:
		return b.openUntil
	case StateEscalated:
		return never
	}
	return time.Time{}
}

// A sample is what the result of an attempt shows about the service.
type sample uint8

const (
	succeeded sample = iota
	failed
	neutral // nothing
)

// record takes the sample of an attempt that has just ended.
func (b *Breaker) record(p permit, s sample) {
	if s == succeeded {
		w := b.window.Load()
		// There is a window: the breaker is closed and has a rate. While nothing
		// fails, a success only has to be counted.
		if w != nil && p.of(w.generation) && b.word.Load()&failing == 0 && w.succeeded(&p) {
			return
		}
	}
	b.recordAt(p, s, time.Now())
}

// of reports whether a generation has given the permit.
func (p *permit) of(generation uint64) bool {
	return p.pass&admits != 0 && uint64(p.pass)>>generationBit == generation
}

// recordAt takes the sample of an attempt that ended at a time. The result of
// an attempt that another generation admitted is dropped; that of a probe which
// has lost its place counts.
func (b *Breaker) recordAt(p permit, s sample, now time.Time) {
	b.lock()
	defer b.mu.Unlock()
	if !p.of(b.generation) {
		return
	}
	if i := slices.IndexFunc(b.probes, func(other probe) bool { return other.id == p.probe }); i >= 0 {
		b.probes = slices.Delete(b.probes, i, i+1)
	}
	if s == neutral {
		return
	}
	slow := b.limits.SlowCall > 0 && now.Sub(p.started) > b.limits.SlowCall
	if b.state == StateHalfOpen {
		b.probed(s == failed || slow, now)
		return
	}
	b.sampled(s == failed, slow, now)
}

// probed takes the result of an attempt that a half-open breaker admitted.
func (b *Breaker) probed(failed bool, now time.Time) {
	if failed {
		b.failures++
		b.open(now)
		return
	}
	if b.successes++; b.successes >= b.limits.Successes {
		b.failures = 0
		b.set(StateClosed, now)
	}
}

// sampled takes the result of an attempt that a closed breaker admitted.
func (b *Breaker) sampled(failed, slow bool, now time.Time) {
	if failed {
		b.failures++
	} else {
		b.failures = 0
	}
	rate := false
	if w := b.window.Load(); w != nil {
		w.count(now, failed, slow)
		rate = (failed || slow) && w.exceeds(&b.limits)
	}
	if rate || reached(b.failures, b.limits.Failures) || reached(b.failures, b.limits.EscalateAfter) {
		b.open(now)
		return
	}
	b.publish()
}

// open opens the breaker, or escalates it.
func (b *Breaker) open(now time.Time) {
	if reached(b.failures, b.limits.EscalateAfter) {
		b.set(StateEscalated, now)
		return
	}
	b.set(StateOpen, now)
}

// reached reports whether n has reached a limit. Zero is no limit.
func reached(n, limit int) bool { return limit > 0 && n >= limit }

// Reset closes the breaker, whatever its state is. No other call closes a
// breaker that is escalated.
func (b *Breaker) Reset() {
	b.lock()
	defer b.mu.Unlock()
	b.failures = 0
	b.set(StateClosed, time.Now())
}

// Save returns the state of the breaker. The attempts that are running and
// the counts of the window are not part of it.
func (b *Breaker) Save() BreakerSnapshot {
	b.lock()
	defer b.mu.Unlock()
	s := BreakerSnapshot{State: b.state, Failures: b.failures}
	if b.state == StateOpen {
		s.OpenUntil = b.openUntil
	}
	return s
}

// Restore puts the breaker into a state that [Breaker.Save] returned, and its
// window starts empty. An open breaker whose time has passed becomes half-open.
// One that would stay open for longer than OpenFor was saved under another
// clock, and stays open for OpenFor. A state that is not one of the constants
// means closed, and negative failures mean none.
func (b *Breaker) Restore(s BreakerSnapshot) {
	b.lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.failures = max(s.Failures, 0)
	if s.State > StateEscalated {
		s.State = StateClosed
	}
	b.set(s.State, now)
	if s.OpenUntil.Before(b.openUntil) {
		b.openUntil = s.OpenUntil
	}
	b.stateAt(now)
}
