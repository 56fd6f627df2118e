package memory

import (
	"context"
	"slices"
)

// Notifications implements [storage.Notifier].
func (m *Store) Notifications(ctx context.Context, space string) (<-chan struct{}, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	c := make(chan struct{}, 1)
	m.listeners[space] = append(m.listeners[space], c)
	context.AfterFunc(ctx, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if i := slices.Index(m.listeners[space], c); i >= 0 {
			m.listeners[space] = slices.Delete(m.listeners[space], i, i+1)
			close(c)
		}
	})
	return c, nil
}

// notify notifies the listeners of some namespaces.
func (m *Store) notify(spaces []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, space := range spaces {
		for _, c := range m.listeners[space] {
			select {
			case c <- struct{}{}:
			default: // one is waiting
			}
		}
	}
}
