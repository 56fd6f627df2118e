package breaker

import (
	"sync"
	"sync/atomic"
	"time"
)

// A Breaker is a circuit breaker, shared by any number of calls and goroutines. It
// records a sample of each attempt: success, failure or neutral. The zero Breaker is
// closed and has the zero [Policy], with its defaults. A Breaker must not be copied after
// first use.
//
// If a breaker has no rates, is closed and has seen no failure since the last success, it
// costs one atomic load before each attempt and one after it. With a FailureRate, a
// success also costs a clock reading and an atomic addition. A SlowRate adds one more
// clock reading. With WindowCalls, a FailureRate needs no clock reading. Once the last
// WindowCalls attempts have all succeeded, the breaker costs no more than a breaker
// without rates. A breaker starts no timers or goroutines.
type Breaker struct {
	// word contains the generation and the bits below, for the fast path. It is
	// written under mu. The word of the zero Breaker has no bit set.
	word   atomic.Uint64
	window atomic.Pointer[window] // nil unless closed and a rate is set
	policy atomic.Pointer[Policy] // as given; nil in the zero Breaker; written under mu

	mu sync.Mutex
	machine
	holding
	sharing
	watching
}

// The bits of Breaker.word below the generation.
const (
	admits        = 1 << iota // attempts need no lock; in a Pass: the attempt is admitted
	quiet                     // a success changes nothing
	failing                   // the last sample was a failure
	generationBit = iota
)

// New returns a closed breaker. It panics if a field of p is negative, if a rate is not a
// number from 0 to 1, or if only one of SlowCall and SlowRate is set.
func New(p Policy) *Breaker {
	if err := p.validate(); err != nil {
		panic(err.Error())
	}
	b := new(Breaker)
	b.policy.Store(&p)
	b.lock()
	b.unlock()
	return b
}

// lock locks the breaker, and initializes a zero Breaker.
func (b *Breaker) lock() {
	b.mu.Lock()
	if b.s.Generation == 0 {
		b.limits = b.Policy()
		b.enter(Closed, "", time.Now())
	}
}

// unlock stores word and window for the fast path, unlocks the breaker, and
// reports a change of the state to the observers.
func (b *Breaker) unlock() {
	counts := b.counts
	if b.holdsOpen() {
		counts = nil // Admit uses the window to admit attempts without the lock
	}
	if b.window.Load() != counts {
		b.window.Store(counts)
	}
	word := b.s.Generation << generationBit
	if b.s.State == Closed && b.limits.SlowCall == 0 && !b.holdsOpen() {
		word |= admits // SlowCall needs the start time of the attempt
	}
	if b.s.Failures > 0 {
		word |= failing
	} else if b.calm() {
		word |= quiet
	}
	b.word.Store(word)
	notify := b.noteChange()
	b.mu.Unlock()
	if notify {
		b.notify()
	}
}

// Policy returns the breaker's policy with its defaults. Its Count must not be changed.
func (b *Breaker) Policy() Policy {
	if p := b.policy.Load(); p != nil {
		return p.Effective()
	}
	return Policy{}.Effective()
}

// State returns the state that calls see now. A breaker that has been open for longer
// than OpenFor is half-open.
func (b *Breaker) State() State {
	state, _ := b.Outlook()
	return state
}

// Admit returns a permit for an attempt that starts now, or false if the breaker refuses
// the attempt. Each permit must be returned with the sample of its attempt: see
// [Breaker.Record].
func (b *Breaker) Admit() (Permit, bool) {
	if pass, ok := b.Ready(); ok {
		return pass.Permit(), true // without reading the clock
	}
	now := time.Now()
	if w := b.window.Load(); w != nil {
		return Permit{Generation: w.generation, Started: now}, true
	}
	b.lock()
	defer b.unlock()
	if b.expireHold(now); b.holdsOpen() {
		return Permit{}, false
	}
	permit, ok := b.admit(now)
	if !ok && b.holdsClosed() {
		return Permit{Started: now}, true // whose sample does not count
	}
	return permit, ok
}

// admit asks the remote if the breaker is shared and half-open, and the state machine
// otherwise.
func (b *Breaker) admit(now time.Time) (Permit, bool) {
	if b.remote != nil && b.stateAt(now) == HalfOpen {
		return b.ask(now)
	}
	return b.machine.admit(now)
}

// MayAdmit reports whether the breaker is closed or half-open, without taking a permit.
// Call it before waiting for anything else that an attempt needs. A half-open breaker may
// still refuse the attempt.
func (b *Breaker) MayAdmit() bool {
	return b.IsClosed() || b.State() == HalfOpen
}

// Record records the sample of an attempt that was admitted with p and has just ended. If
// an attempt shows nothing about the service, its sample is [Neutral], and a half-open
// breaker admits another attempt in its place. If the state has changed since the breaker
// admitted the attempt, Record ignores the sample.
func (b *Breaker) Record(p Permit, s Sample) {
	if p.Probe&sharedProbe != 0 {
		b.answer(p, s)
		return
	}
	if s == Success {
		w := b.window.Load()
		// There is a window: the breaker is closed and has a rate. While nothing
		// fails, a success only has to be counted.
		if w != nil && p.Generation == w.generation && b.word.Load()&failing == 0 && w.succeeded(&p) {
			if w.steady() { // from now on, successes need not be counted
				b.lock()
				b.unlock()
			}
			return
		}
	}
	b.lock()
	before := b.s.Generation
	b.machine.record(p, s, time.Now())
	if b.s.Generation != before {
		b.changed = b.s.State != Closed // a probe of this process alone may have closed it
	}
	b.unlockChanged()
}

// unlockChanged unlocks the breaker, and notifies its remote if necessary.
func (b *Breaker) unlockChanged() {
	remote, changed := b.remote, b.changed
	b.unlock()
	if changed && remote != nil {
		remote.Changed()
	}
}

// ForceOpen opens the breaker, whatever its state, and keeps it open until
// [Breaker.Reset]. Until then, it admits no attempt, not even a probe. Use it to stop all
// calls to a service, for example during maintenance. Attempts in progress continue, but
// their results do not count. If the breaker is shared, ForceOpen opens it in all
// processes, including processes that start later.
func (b *Breaker) ForceOpen() {
	b.lock()
	b.enter(ForcedOpen, ChangeForced, time.Now())
	b.changed = true
	b.unlockChanged()
}

// Reset closes the breaker, whatever its state, and forgets its failures. Only Reset and
// [Breaker.Restore] can close a breaker that is escalated or was forced open. If the
// breaker is shared, Reset closes it in all processes.
func (b *Breaker) Reset() {
	b.lock()
	b.close(ChangeReset, time.Now())
	b.changed = true
	b.unlockChanged()
}

// Save returns the state of the breaker. The state does not include attempts in progress
// or the window's counts.
func (b *Breaker) Save() Snapshot {
	b.lock()
	defer b.unlock()
	return Snapshot{State: b.s.State, Failures: b.s.Failures, OpenUntil: b.s.OpenUntil, Reopened: b.s.Reopened}
}

// Restore sets the breaker to a state that [Breaker.Save] returned, with an empty window.
// An open breaker whose OpenUntil has passed becomes half-open. Even if the state was
// saved with a different clock, the breaker does not stay open longer than if it had
// opened now. Restore treats a State that is not one of the constants as closed, and a
// negative count as 0.
func (b *Breaker) Restore(s Snapshot) {
	b.lock()
	defer b.unlock()
	b.restore(s, time.Now())
}
