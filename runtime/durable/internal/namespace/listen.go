package namespace

import (
	"context"
	"slices"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A Listener waits for changes to runs. It belongs to a worker or a caller of Await.
type Listener struct {
	n     *Namespace
	run   string          // the run whose changes it waits for, or "" for all runs
	local chan struct{}   // receives a value after this engine has changed such a run
	store <-chan struct{} // the notifications from the store, or nil
	quit  context.CancelFunc
}

// Listen returns a listener for changes to one run or to all runs.
func (n *Namespace) Listen(run string) *Listener {
	l := &Listener{n: n, run: run, local: make(chan struct{}, 1), quit: func() {}}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listeners = append(n.listeners, l)
	return l
}

// Close ends the listener.
func (l *Listener) Close() {
	l.quit()
	l.n.mu.Lock()
	defer l.n.mu.Unlock()
	l.n.listeners = slices.DeleteFunc(l.n.listeners, func(other *Listener) bool { return other == l })
}

// Notify wakes the listeners that wait for changes to a run, after this engine has changed it.
func (n *Namespace) Notify(run string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.listeners {
		if l.run != "" && l.run != run {
			continue
		}
		select {
		case l.local <- struct{}{}:
		default: // the listener already has a notification
		}
	}
}

// Subscribe requests notifications from the store, if the store supports them.
func (l *Listener) Subscribe(ctx context.Context) error {
	n, ok := l.n.Store.(storage.Notifier)
	if !ok || l.store != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	c, err := n.Notifications(ctx, l.n.Space)
	if err != nil {
		cancel()
		return err
	}
	l.store, l.quit = c, cancel
	return nil
}

// Wait waits for a change, but not longer than d. It returns false if ctx has ended.
func (l *Listener) Wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-l.local:
	case <-timer.C:
	case _, open := <-l.store:
		if !open {
			l.quit()
			l.store = nil // requested again later
		}
	}
	return true
}
