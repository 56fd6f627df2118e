package durable

import (
	"context"
	"slices"
	"time"
)

// A listener is who waits for a change of runs: a worker, or a caller of Await.
type listener struct {
	e     *Engine
	run   string          // that it waits for, or "" for all
	local chan struct{}   // receives when this engine has changed such a run
	store <-chan struct{} // the notifications of the store, or nil
	quit  context.CancelFunc
}

// listen returns a listener for the changes of a run, or of all.
func (e *Engine) listen(run string) *listener {
	l := &listener{e: e, run: run, local: make(chan struct{}, 1), quit: func() {}}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.listeners = append(e.listeners, l)
	return l
}

// close ends the listener.
func (l *listener) close() {
	l.quit()
	l.e.mu.Lock()
	defer l.e.mu.Unlock()
	l.e.listeners = slices.DeleteFunc(l.e.listeners, func(other *listener) bool { return other == l })
}

// notify wakes those who wait for a change of a run that this engine has made.
func (e *Engine) notify(run string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, l := range e.listeners {
		if l.run != "" && l.run != run {
			continue
		}
		select {
		case l.local <- struct{}{}:
		default: // it is going to
		}
	}
}

// subscribe asks the store for notifications, if it has some.
func (l *listener) subscribe(ctx context.Context) error {
	n, ok := l.e.store.(Notifier)
	if !ok || l.store != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	c, err := n.Notifications(ctx, l.e.space)
	if err != nil {
		cancel()
		return err
	}
	l.store, l.quit = c, cancel
	return nil
}

// wait waits for a change, at most for d, and reports whether ctx has not ended.
func (l *listener) wait(ctx context.Context, d time.Duration) bool {
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
			l.store = nil // asked for again later
		}
	}
	return true
}
