package breaker

import "time"

// A Remote is the shared copy of a breaker that several processes use: see
// [Breaker.Share]. Package runtime/durable/shared implements it on top of a store. Its
// methods may be called by multiple goroutines simultaneously. OpenUntil in the returned
// snapshots is a time by this process's clock.
type Remote interface {
	// Admit asks the shared copy for a permit for a probe, and returns the copy's state.
	Admit() (Snapshot, Permit, bool, error)
	// Record reports the sample of a probe that Admit has permitted, and returns the
	// state of the shared copy.
	Record(Permit, Sample) (Snapshot, error)
	// Changed reports that the breaker has opened, was forced open or was reset by this
	// process. Changed must not block. The new state is transferred later, by
	// [Breaker.Sync].
	Changed()
}

// sharedProbe marks the probes that a remote has admitted. The numbers of others
// never reach it.
const sharedProbe = 1 << 63

// askAgain is how long a half-open breaker refuses attempts after its remote has
// refused one.
const askAgain = 100 * time.Millisecond

// sharing is the part of a Breaker that is shared with other processes.
type sharing struct {
	remote Remote    // nil: the breaker belongs to this process alone
	asking bool      // the remote is asked
	askAt  time.Time // the remote is not asked before
	// changed reports that this process has changed the state, and that the remote
	// does not know it yet.
	changed bool
}

// Share connects the breaker to a remote, so that several processes share its state. If r
// is nil, the breaker belongs to this process alone again. While it is closed, the
// breaker counts only the attempts of its own process. When it opens, it opens in all
// processes. The processes also share the probes, which the remote admits. If the remote
// fails, the breaker decides alone until the remote responds again.
//
// Share is for packages that store breakers. Programs call the Connect method of a
// shared.Link.
func (b *Breaker) Share(r Remote) {
	b.lock()
	defer b.unlock()
	b.sharing = sharing{remote: r}
}

// Sync synchronizes the breaker with its remote. exchange receives the state of the
// breaker, and whether this process has changed it since the last Sync. exchange returns
// the state of the remote, or false if there is nothing new.
func (b *Breaker) Sync(exchange func(local Snapshot, changed bool) (Snapshot, bool, error)) error {
	b.lock()
	local, changed := b.s, b.changed
	b.unlock()
	local.Probes = nil
	remote, news, err := exchange(local, changed)
	if err != nil || !news {
		return err
	}
	b.lock()
	defer b.unlock()
	if b.s.Generation == local.Generation { // or the state has changed meanwhile
		b.changed = false
		b.adopt(&remote, ChangeShared, time.Now())
	}
	return nil
}

// adopt takes over the state of the remote. While both are closed, the
// breaker keeps its own counts.
func (b *Breaker) adopt(remote *Snapshot, why ChangeReason, now time.Time) {
	if remote.State == Closed && b.s.State == Closed {
		return
	}
	if remote.State != b.s.State {
		b.enter(min(remote.State, ForcedOpen), why, now)
	}
	b.s.Failures, b.s.Reopened = max(remote.Failures, 0), max(remote.Reopened, 0)
	if b.s.State == Open {
		b.s.OpenUntil = earliest(remote.OpenUntil, now.Add(b.openFor()))
	}
}

// earliest returns the earlier of two times.
func earliest(x, y time.Time) time.Time {
	if x.Before(y) {
		return x
	}
	return y
}

// ask asks the remote for a probe. The caller holds the lock, and the breaker is
// half-open; ask releases the lock meanwhile.
func (b *Breaker) ask(now time.Time) (Permit, bool) {
	if b.asking || now.Before(b.askAt) {
		return Permit{}, false
	}
	b.asking = true
	remote, generation := b.remote, b.s.Generation
	b.unlock()
	s, p, ok, err := remote.Admit()
	b.lock()
	now = time.Now()
	if b.asking = false; err != nil {
		return b.machine.admit(now)
	}
	if !ok {
		b.askAt = now.Add(askAgain)
	}
	if b.s.Generation == generation {
		b.adopt(&s, ChangeShared, now)
	}
	p.Probe |= sharedProbe
	return p, ok
}

// answer reports the sample of a probe to the remote. If that fails, the sample
// counts for this process.
func (b *Breaker) answer(p Permit, s Sample) {
	b.lock()
	remote, generation := b.remote, b.s.Generation
	b.unlock()
	if remote == nil {
		return // no longer shared
	}
	p.Probe &^= sharedProbe
	state, err := remote.Record(p, s)
	b.lock()
	defer b.unlock()
	switch now := time.Now(); {
	case b.s.Generation != generation: // the state has changed meanwhile
	case b.changed: // or before: the remote does not know it yet
	case err == nil:
		b.adopt(&state, answered(s, state.State), now)
	case s != Neutral && b.s.State == HalfOpen:
		b.recordHalfOpen(s == Failure, false, now)
	}
}

// answered returns why the remote has a state after the sample of a probe of this
// process. A success leaves it open if the probe was slow.
func answered(s Sample, after State) ChangeReason {
	switch {
	case s == Neutral:
		return ChangeShared
	case after == Closed:
		return ChangeProbesSucceeded
	case s == Success:
		return ChangeProbeSlow
	}
	return ChangeProbeFailed
}

// Set merges the state of another copy of the breaker into the snapshot. If the other
// copy is open or escalated, a closed snapshot becomes open and takes the larger of the
// two failure counts. If the other copy is closed or forced open, the snapshot is reset
// or forced open as well.
func (p Policy) Set(s *Snapshot, copied Snapshot, now time.Time) {
	m := p.load(s, now)
	switch {
	case copied.State == Closed:
		m.close(ChangeReset, now)
	case copied.State == ForcedOpen:
		m.enter(ForcedOpen, ChangeForced, now)
	case m.s.State == Closed && copied.State != HalfOpen:
		m.s.Failures, m.s.Reopened = max(m.s.Failures, copied.Failures), max(copied.Reopened, 0)
		m.open(ChangeShared, now)
	}
	*s = m.snapshot()
}
