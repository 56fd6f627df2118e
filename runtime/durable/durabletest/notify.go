package durabletest

import (
	"context"
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// testNotifications: a store that is a Notifier reports, to all that listen in a
// namespace, runs that become due and the ends of runs that somebody waits for, and
// nothing after its context has ended.
func testNotifications(t *testing.T, p *place) {
	s := p.store()
	notifier := optional[storage.Notifier](s)
	ctx, cancel := context.WithCancel(s.limited())
	defer cancel()
	first, second := listen(ctx, t, notifier, "test"), listen(ctx, t, notifier, "test")
	other := listen(ctx, t, notifier, "far")
	waiting := func(id string, due time.Time) storage.Record {
		r := record(run(id), 1)
		r.Due = due
		return r
	}
	ended := record(run("b"), 2)
	ended.Status, ended.Awaited = storage.StatusFailed, true
	for _, r := range []storage.Record{waiting("a", month), waiting("b", month), ended} {
		s.put(r)
		for _, c := range []<-chan struct{}{first, second} {
			if !received(s.limited(), c) {
				t.Fatalf("no notification of %s", setFields(r))
			}
		}
	}
	owned, parked := waiting("c", month), waiting("d", time.Now().Add(time.Hour))
	owned.Owner, parked.Status = "somebody", storage.StatusParked
	s.put(owned, parked, ended, record(step("a"), 1))
	unawaited := owned
	unawaited.Owner, unawaited.Status = "", storage.StatusSucceeded
	s.put(unawaited)
	elsewhere := waiting("a", month)
	elsewhere.Key.Space = "far"
	s.put(elsewhere)
	if !received(s.limited(), other) { // of the last update, and thereby none of those before
		t.Error("no notification in the other namespace")
	}
	select {
	case <-first:
		t.Error("a notification although no run has become due")
	default:
	}
	cancel()
	closing := s.limited()
	for received(closing, first) { // one may have been waiting
	}
	if closing.Err() != nil {
		t.Error("the channel is open after the end of its context")
	}
}

// listen returns the notifications of a namespace.
func listen(ctx context.Context, t *testing.T, n storage.Notifier, space string) <-chan struct{} {
	t.Helper()
	c, err := n.Notifications(ctx, space)
	if err != nil {
		t.Fatalf("Notifications(%q): %v", space, err)
	}
	return c
}

// received waits for a value.
func received(ctx context.Context, c <-chan struct{}) bool {
	select {
	case _, open := <-c:
		return open
	case <-ctx.Done():
		return false
	}
}
