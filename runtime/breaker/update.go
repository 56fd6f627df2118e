package breaker

import (
	"fmt"
	"time"
)

// Update gives the breaker other settings while calls use it, and keeps its state and its
// count of failures. It may be called at any time. It returns an error, and changes
// nothing, if [New] would panic for p or if p has another Name.
//
//   - A closed breaker whose failures have reached a lower limit opens at the next failure.
//   - A new window of the rates begins if Window, WindowCalls or SlowCall change, or if the
//     breaker had no rate.
//   - An open breaker stays open for at most OpenFor from now.
//   - Attempts that started before SlowCall was set are not slow.
func (b *Breaker) Update(p Policy) error {
	update, err := b.PrepareUpdate(p)
	if err == nil {
		update()
	}
	return err
}

// PrepareUpdate returns the error of [Breaker.Update], or the function that makes the update.
// Code that updates several things together, or none of them, prepares all updates first.
func (b *Breaker) PrepareUpdate(p Policy) (update func(), err error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	if name := b.Policy().Name; p.Name != name {
		return nil, fmt.Errorf("breaker %q: Name is %q: it cannot change", name, p.Name)
	}
	return func() {
		b.lock()
		defer b.unlock()
		b.policy.Store(&p)
		b.update(p.Effective(), time.Now())
	}, nil
}

// update replaces the limits of a machine, and keeps what they allow to keep.
func (m *machine) update(limits Policy, now time.Time) {
	old := m.limits
	m.limits = limits
	switch m.s.State {
	case Open:
		m.s.OpenUntil = earliest(m.s.OpenUntil, now.Add(m.openFor()))
	case Closed:
		switch {
		case !limits.hasRate():
			m.counts = nil
		case m.counts == nil, old.Window != limits.Window, old.WindowCalls != limits.WindowCalls,
			old.SlowCall != limits.SlowCall:
			m.counts = newWindow(&m.limits, m.s.Generation, now)
		}
	}
}
