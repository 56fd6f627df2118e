package breaker

import "time"

// A Model is a breaker for simulations. Its caller supplies the time. It makes the same
// decisions as a [Breaker], and as [Policy.Admit] and [Policy.Record], but takes no lock
// and does not copy its state on each call. A Model must not be used by multiple
// goroutines simultaneously, and time must not go backwards.
type Model struct{ machine }

// NewModel returns a breaker that is closed at time now. It panics if [New] would panic.
func NewModel(p Policy, now time.Time) *Model {
	if err := p.validate(); err != nil {
		panic(err.Error())
	}
	m := &Model{machine{limits: p.Effective()}}
	m.enter(Closed, "", now)
	return m
}

// Admit returns a permit for an attempt that starts at now, or false if the breaker
// refuses the attempt.
func (m *Model) Admit(now time.Time) (Permit, bool) { return m.admit(now) }

// Record counts the sample of an attempt that was admitted with p and ended at now.
func (m *Model) Record(p Permit, s Sample, now time.Time) { m.record(p, s, now) }

// State returns the state, and the end of OpenFor if the breaker is open. The state
// changes only when a method is called. An open breaker becomes half-open when Admit is
// called after OpenFor.
func (m *Model) State() (State, time.Time) { return m.s.State, m.s.OpenUntil }
