package retry

import (
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

	mu sync.Mutex
	machine
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
	b.unlock()
	return b
}

// lock locks the breaker, and sets up one that has not been used.
func (b *Breaker) lock() {
	b.mu.Lock()
	if b.s.Generation == 0 {
		b.limits = b.policy.Effective()
		b.set(StateClosed, time.Now())
	}
}

// unlock publishes what the fast path reads, and unlocks the breaker.
func (b *Breaker) unlock() {
	if b.window.Load() != b.counts {
		b.window.Store(b.counts)
	}
	word := b.s.Generation << generationBit
	if b.s.State == StateClosed && b.limits.SlowCall == 0 {
		word |= admits // else the start of the attempt has to be known
	}
	if b.s.Failures > 0 {
		word |= failing
	} else if b.s.calm(&b.limits) {
		word |= quiet
	}
	b.word.Store(word)
	b.mu.Unlock()
}

// permit returns the permit for the attempt that p admits.
func (p Pass) permit() Permit {
	if p&admits == 0 {
		return Permit{}
	}
	return Permit{Generation: uint64(p) >> generationBit}
}

// State returns the current state.
func (b *Breaker) State() BreakerState {
	b.lock()
	defer b.unlock()
	return b.at(time.Now())
}

// admit returns the permit for an attempt that starts now, and false if the
// breaker refuses it.
func (b *Breaker) admit(now time.Time) (Permit, bool) {
	if w := b.window.Load(); w != nil {
		return Permit{Generation: w.generation, Started: now}, true
	}
	b.lock()
	defer b.unlock()
	return b.machine.admit(now)
}

// admitsAt returns the time after which the breaker may admit an attempt, as
// far as is known now. Zero means that it may admit one now.
func (b *Breaker) admitsAt() time.Time {
	if _, ok := b.Ready(); ok {
		return time.Time{}
	}
	b.lock()
	defer b.unlock()
	return b.s.admitsAt()
}

// record takes the sample of an attempt that has just ended.
func (b *Breaker) record(p Permit, s Sample) {
	if s == SampleSuccess {
		w := b.window.Load()
		// There is a window: the breaker is closed and has a rate. While nothing
		// fails, a success only has to be counted.
		if w != nil && p.Generation == w.generation && b.word.Load()&failing == 0 && w.succeeded(&p) {
			return
		}
	}
	b.lock()
	defer b.unlock()
	b.machine.record(p, s, time.Now())
}

// Reset closes the breaker, whatever its state is. No other call closes a
// breaker that is escalated.
func (b *Breaker) Reset() {
	b.lock()
	defer b.unlock()
	b.s.Failures = 0
	b.set(StateClosed, time.Now())
}

// Save returns the state of the breaker. The attempts that are running and
// the counts of the window are not part of it.
func (b *Breaker) Save() BreakerSnapshot {
	b.lock()
	defer b.unlock()
	return BreakerSnapshot{State: b.s.State, Failures: b.s.Failures, OpenUntil: b.s.OpenUntil}
}

// Restore puts the breaker into a state that [Breaker.Save] returned, and its
// window starts empty. An open breaker whose time has passed becomes half-open.
// One that would stay open for longer than OpenFor was saved under another
// clock, and stays open for OpenFor. A state that is not one of the constants
// means closed, and negative failures mean none.
func (b *Breaker) Restore(s BreakerSnapshot) {
	b.lock()
	defer b.unlock()
	b.restore(s, time.Now())
}
