package durable_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// Runs that wait for the first lease of their engine share it, and end with
// their contexts.
func TestFirstLeaseIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		s := &hooked{Store: m}
		leases := 0
		s.hook = func(ctx context.Context, sel storage.Select, decide decision, next update) error {
			if isRenewal(sel) {
				leases++
				time.Sleep(5 * time.Second)
			}
			return next(ctx, sel, decide)
		}
		p := startProcess(t, s)
		var all sync.WaitGroup
		for _, id := range []string{"a", "b", "c"} {
			all.Go(func() {
				if err := p.run(id, func(context.Context) error { return nil }); err != nil {
					t.Errorf("run %s: %v", id, err)
				}
			})
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantError(t, p.Run(ctx, "d", func(context.Context) error { return nil }), context.DeadlineExceeded)
		wantAbout(t, "the end of the context", time.Since(epoch), time.Second, time.Second)
		all.Wait()
		if leases != 1 {
			t.Errorf("got %d leases, want 1", leases)
		}
	})
}

// An engine that is closed while its first lease begins has none afterwards.
func TestCloseDuringFirstLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		s := &hooked{Store: m}
		s.hook = func(ctx context.Context, sel storage.Select, decide decision, next update) error {
			time.Sleep(5 * time.Second)
			return next(ctx, sel, decide)
		}
		p := startProcess(t, s)
		done := make(chan error)
		go func() { done <- p.run("one", func(context.Context) error { return nil }) }()
		synctest.Wait()
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
		wantError(t, <-done, durable.ErrClosed)
		owners, _, err := m.List(t.Context(), storage.Query{Kind: storage.KindOwner})
		if err != nil || len(owners) > 0 {
			t.Errorf("got the owners %v, %v; want none", owners, err)
		}
	})
}
