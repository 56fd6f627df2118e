package breaker

import (
	"fmt"
	"time"
)

// Update changes the breaker's settings while calls are using it. The breaker's state and
// failure count stay the same. It may be called at any time. Update returns an error and
// changes nothing if [New] would panic for p or if p has a different Name.
//
//   - If the failures of a closed breaker have already reached the new limit, the breaker
//     opens at the next failure.
//   - A new window for the rates begins if Window, WindowCalls or SlowCall changes, or if
//     the breaker had no rate before.
//   - An open breaker stays open for at most OpenFor from now.
//   - Attempts that started before SlowCall was set do not count as slow.
func (b *Breaker) Update(p Policy) error {
	update, err := b.PrepareUpdate(p)
	if err == nil {
		update()
	}
	return err
}

// PrepareUpdate returns a function that makes the update, or the error that
// [Breaker.Update] would return. To ensure that several updates are made together or not
// at all, prepare all of them first.
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
