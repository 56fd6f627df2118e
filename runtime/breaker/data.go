package breaker

import (
	"slices"
	"strings"
	"time"
)

// A Snapshot is the state of a breaker. It is plain data that can be stored, for example
// as JSON: see [Breaker.Save]. If a breaker is a record in a store, [Policy.Admit] and
// [Policy.Record] update its Snapshot. The zero Snapshot is closed.
type Snapshot struct {
	State     State     `json:"state"`
	Failures  int       `json:"failures"`            // consecutive, including half-open attempts
	OpenUntil time.Time `json:"open_until,omitzero"` // set only in state Open
	// Reopened is how many times in a row the breaker has opened again from the half-open
	// state. Reopened stops growing once the open time has reached MaxOpenFor.
	Reopened int `json:"reopened,omitzero"`

	// The fields below are zero in a snapshot that Breaker.Save returned.

	// Generation is incremented by each state change. The result of an attempt counts
	// only in the generation that admitted it.
	Generation uint64   `json:"generation,omitzero"`
	Successes  int      `json:"successes,omitzero"`  // successful attempts in the half-open state
	Probes     []Permit `json:"probes,omitzero"`     // the attempts in progress that a half-open breaker admitted
	LastProbe  uint64   `json:"last_probe,omitzero"` // the highest probe number
	// WindowFrom is the start of the current tenth of the window. It is set only
	// while the breaker is closed and has a rate.
	WindowFrom time.Time `json:"window_from,omitzero"`
	// Window contains three counts for each tenth of the window: all attempts, failed
	// attempts and slow attempts. The last tenth is the current one.
	Window [][3]int64 `json:"window,omitzero"`
	// Calls contains the most recent attempts, oldest first, if the policy has
	// WindowCalls. Each attempt is one letter: s for a success, f for a failure, and S or
	// F if the attempt was slow.
	Calls string `json:"calls,omitzero"`
}

// WindowCounts returns the numbers of all attempts, failed attempts and slow attempts
// recorded in Window or Calls.
func (s *Snapshot) WindowCounts() (calls, failed, slow int64) {
	for _, tenth := range s.Window {
		calls, failed, slow = calls+tenth[0], failed+tenth[1], slow+tenth[2]
	}
	count := func(letters string) (n int64) {
		for _, letter := range letters {
			n += int64(strings.Count(s.Calls, string(letter)))
		}
		return n
	}
	return calls + count("sSfF"), failed + count("fF"), slow + count("SF")
}

// A Permit is a breaker's permission for one attempt. It is plain data. The zero Permit
// permits nothing.
type Permit struct {
	Generation uint64    `json:"generation"`       // the breaker's generation when it admitted the attempt
	Probe      uint64    `json:"probe,omitzero"`   // number of the probe, starting at 1; 0 for other attempts
	Started    time.Time `json:"started,omitzero"` // when the attempt started; may be zero if SlowCall is not set
}

// A Sample is the result of one attempt, as a breaker counts it.
type Sample uint8

// The samples.
const (
	Neutral Sample = iota // shows nothing about the service; not counted
	Success               // the service works
	Failure               // the service failed
)

// Admit returns true and a permit for an attempt that starts at now, or false if the
// breaker refuses the attempt. It updates *s. The policy must be valid for [New].
//
// Admit and Record depend only on their arguments and never change a slice of *s in
// place, so a transaction may repeat either of them on a copy of the snapshot. Even if s
// was written by a machine with a different clock, an open breaker stays open for at most
// OpenFor.
func (p Policy) Admit(s *Snapshot, now time.Time) (Permit, bool) {
	m := p.load(s, now)
	permit, ok := m.admit(now)
	*s = m.snapshot()
	return permit, ok
}

// Record counts the sample of an attempt that ended at now. It updates *s. If the state
// has changed since the breaker admitted the attempt, the sample is ignored.
func (p Policy) Record(s *Snapshot, permit Permit, sample Sample, now time.Time) {
	m := p.load(s, now)
	m.record(permit, sample, now)
	*s = m.snapshot()
}

// Calm reports whether another success would leave the breaker unchanged. This is the
// case if the breaker is closed, no attempt has failed since the last success, and either
// no rate is set or the last WindowCalls attempts have all succeeded.
func (p Policy) Calm(s Snapshot) bool {
	return s.State == Closed && s.Failures == 0 &&
		(!p.hasRate() || p.WindowCalls > 0 && p.SlowRate == 0 && len(s.Calls) >= p.WindowCalls &&
			strings.Trim(s.Calls, "s") == "")
}

// A machine is the state machine of a breaker: of a [Breaker] under its lock, or
// of a snapshot.
type machine struct {
	limits Policy // effective
	s      Snapshot
	counts *window // nil unless closed and a rate is set; the window of s is not used

	why  ChangeReason // of the last change of the state
	when time.Time    // of that change
}

// load returns the machine in the state s.
func (p *Policy) load(s *Snapshot, now time.Time) machine {
	m := machine{limits: p.Effective()}
	if s.Generation == 0 {
		m.restore(*s, now)
		return m
	}
	m.s = *s
	if latest := now.Add(m.openFor()); s.State == Open && s.OpenUntil.After(latest) {
		m.s.OpenUntil = latest
	}
	if s.State == Closed && m.limits.hasRate() {
		m.counts = loadWindow(&m.limits, s, now)
	}
	return m
}

// snapshot returns the state of the machine.
func (m *machine) snapshot() Snapshot {
	s := m.s
	s.WindowFrom, s.Window, s.Calls = time.Time{}, nil, ""
	switch {
	case m.counts == nil:
	case m.counts.last != nil:
		s.Calls = m.counts.last.save()
	default:
		s.WindowFrom, s.Window = m.counts.save()
	}
	return s
}

// calm reports whether another success changes nothing.
func (m *machine) calm() bool {
	return m.s.State == Closed && m.s.Failures == 0 && (m.counts == nil || m.counts.steady())
}

// restore begins a generation in a state that Breaker.Save returned.
func (m *machine) restore(s Snapshot, now time.Time) {
	m.s.Failures, m.s.Reopened = max(s.Failures, 0), max(s.Reopened, 0)
	switch {
	case s.State > ForcedOpen:
		s.State = Closed
	case s.State == Open && now.After(s.OpenUntil):
		s.State = HalfOpen
	}
	m.enter(s.State, ChangeRestored, now)
	if s.State == Open {
		m.s.OpenUntil = earliest(s.OpenUntil, m.s.OpenUntil)
	}
}

// enter changes the state, which begins a new generation.
func (m *machine) enter(state State, why ChangeReason, now time.Time) {
	m.why, m.when = why, now
	m.s.State, m.s.Successes, m.s.Probes = state, 0, nil
	m.s.Generation++
	m.s.OpenUntil, m.counts = time.Time{}, nil
	switch state {
	case Open:
		m.s.OpenUntil = now.Add(m.openFor())
	case Closed:
		m.s.Reopened = 0
		if m.limits.hasRate() {
			m.counts = newWindow(&m.limits, m.s.Generation, now)
		}
	}
}

// stateAt returns the state at a time. An open breaker becomes half-open when its
// state is read after OpenUntil, so that it needs no timer.
func (m *machine) stateAt(now time.Time) State {
	if m.s.State == Open && now.After(m.s.OpenUntil) {
		m.enter(HalfOpen, ChangeOpenForPassed, now)
	}
	return m.s.State
}

// admit returns the permit for an attempt that starts now, and false if the
// breaker refuses it.
func (m *machine) admit(now time.Time) (Permit, bool) {
	state := m.stateAt(now)
	p := Permit{Generation: m.s.Generation, Started: now}
	switch state {
	case Open, Escalated, ForcedOpen:
		return Permit{}, false
	case HalfOpen:
		// A probe that does not end must not block the breaker, nor one that
		// another machine with a different clock started in the future.
		running := make([]Permit, 0, len(m.s.Probes)+1)
		for _, other := range m.s.Probes {
			if now.Sub(other.Started).Abs() <= m.limits.OpenFor {
				running = append(running, other)
			}
		}
		if len(running) >= m.limits.HalfOpenCalls {
			return Permit{}, false
		}
		m.s.LastProbe++
		p.Probe = m.s.LastProbe
		m.s.Probes = append(running, p)
	}
	return p, true
}

// record counts the sample of an attempt that ended at now. It drops the sample
// of an attempt that another generation admitted. A probe that has run for longer
// than OpenFor counts.
func (m *machine) record(p Permit, s Sample, now time.Time) {
	if p.Generation != m.s.Generation {
		return
	}
	ended := func(other Permit) bool { return other.Probe == p.Probe }
	if i := slices.IndexFunc(m.s.Probes, ended); i >= 0 {
		m.s.Probes = slices.Concat(m.s.Probes[:i], m.s.Probes[i+1:])
	}
	if s == Neutral {
		return
	}
	slow := m.limits.SlowCall > 0 && !p.Started.IsZero() && now.Sub(p.Started) > m.limits.SlowCall
	if m.s.State == HalfOpen {
		m.recordHalfOpen(s == Failure, slow, now)
		return
	}
	m.recordClosed(s == Failure, slow, now)
}

// recordHalfOpen counts the result of an attempt that a half-open breaker
// admitted.
func (m *machine) recordHalfOpen(failed, slow bool, now time.Time) {
	if failed || slow {
		m.s.Failures++
		if m.openFor() < m.limits.MaxOpenFor {
			m.s.Reopened++
		}
		why := ChangeProbeFailed
		if !failed {
			why = ChangeProbeSlow
		}
		m.open(why, now)
		return
	}
	if m.s.Successes++; m.s.Successes >= m.limits.Successes {
		m.close(ChangeProbesSucceeded, now)
	}
}

// recordClosed counts the result of an attempt that a closed breaker admitted.
func (m *machine) recordClosed(failed, slow bool, now time.Time) {
	if failed {
		m.s.Failures++
	} else {
		m.s.Failures = 0
	}
	var why ChangeReason
	if m.counts != nil {
		m.counts.count(now, failed, slow)
		if failed || slow {
			why = m.counts.exceeded(&m.limits)
		}
	}
	if reached(m.s.Failures, m.limits.Failures) || reached(m.s.Failures, m.limits.EscalateAfter) {
		why = ChangeFailures
	}
	if why != "" {
		m.open(why, now)
	}
}

// openFor returns how long the breaker stays open if it opens now.
func (m *machine) openFor() time.Duration { return m.limits.openFor(m.s.Reopened) }

// open opens the breaker, or escalates it.
func (m *machine) open(why ChangeReason, now time.Time) {
	if reached(m.s.Failures, m.limits.EscalateAfter) {
		m.enter(Escalated, why, now)
		return
	}
	m.enter(Open, why, now)
}

// close closes the breaker, which forgets its failures.
func (m *machine) close(why ChangeReason, now time.Time) {
	m.s.Failures = 0
	m.enter(Closed, why, now)
}

// reached reports whether n has reached a limit. Zero is no limit.
func reached(n, limit int) bool { return limit > 0 && n >= limit }
