package durable_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// The tests of histories have the numbers of the list in the design of durable
// retries, of which each describes what must not go wrong. Those that a store
// can break are in package durabletest.

// A claim whose reply is lost is released by the next renewal, so that another
// engine need not wait for the end of the lease.
func TestHistory02LostClaimIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		var lose atomic.Bool
		s := &hooked{Store: m}
		s.hook = func(ctx context.Context, sel storage.Select, decide decision, next update) error {
			err := next(ctx, sel, decide)
			if err == nil && !isRenewal(sel) && lose.Load() {
				return storage.ErrUnknown
			}
			return err
		}
		a, b := startProcess(t, s), startProcess(t, m)
		lose.Store(true)
		wantError(t, a.run("one", func(context.Context) error { t.Error("fn was called"); return nil }), storage.ErrUnknown)
		lose.Store(false)
		start := time.Now()
		called := false
		if err := b.run("one", func(context.Context) error { called = true; return nil }); err != nil || !called {
			t.Errorf("got error %v, called %v; want none and true", err, called)
		}
		wantAbout(t, "the claim", time.Since(start), 0, 11*time.Second) // a third of the lease, and one poll
	})
}

// The end of an attempt holds the lock of the run: a claim that is due meanwhile
// comes after it, and sees the result.
func TestHistory03ClaimDuringWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		s := &hooked{Store: m}
		s.hook = func(ctx context.Context, sel storage.Select, decide decision, next update) error {
			if isRenewal(sel) && time.Since(epoch) > 0 {
				return storage.ErrStore // no lease after the first
			}
			return next(ctx, sel, func(tx storage.Tx) (storage.Writes, error) {
				w, err := decide(tx)
				if puts(w, storage.StatusSucceeded) {
					time.Sleep(time.Minute) // between the check of the fence and the commit
				}
				return w, err
			})
		}
		a, b := startProcess(t, s), startProcess(t, m)
		var j journal
		job := oneStep(careful("charge", 3, time.Second), failing(&j, 0))
		done := make(chan error)
		go func() { done <- a.run("one", job) }()
		synctest.Wait()
		if err := b.run("one", job); err != nil {
			t.Errorf("the second engine: %v", err)
		}
		if got := time.Since(epoch); got < time.Minute {
			t.Errorf("the claim did not wait for the end of the attempt: %v", got)
		}
		wantError(t, <-done, durable.ErrFenced)
		j.want(t, "charge", 1)
		wantHistory(t, b.Engine, "one", "charge", "1 succeeded")
	})
}

// epoch is the start of every bubble of testing/synctest.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// The end of an attempt that comes after a claim is refused.
func TestHistory03EndAfterClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		s := &durabletest.Stopped{Store: m}
		a, b := startProcess(t, s), startProcess(t, m)
		var j journal
		charge := idempotent("charge", 3, 2*time.Second)
		done := make(chan error)
		go func() {
			done <- a.run("one", oneStep(charge, func(ctx context.Context) (int, error) {
				j.add(ctx)
				s.Stop(45 * time.Second)
				return 1, nil
			}))
		}()
		synctest.Wait()
		if err := b.run("one", oneStep(charge, failing(&j, 0))); err != nil {
			t.Error(err)
		}
		wantError(t, <-done, durable.ErrFenced)
		j.want(t, "charge", 1, 2)
		wantHistory(t, b.Engine, "one", "charge", "1 lost, then 2s", "1 succeeded, late", "2 succeeded")
	})
}

// A process that is stopped past its lease between the record of a start and the
// call does not call.
func TestHistory04StoppedBeforeCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		s := &durabletest.Stopped{Store: m}
		h := &hooked{Store: s}
		var halted atomic.Bool
		h.hook = func(ctx context.Context, sel storage.Select, decide decision, next update) error {
			if isRenewal(sel) && halted.Load() {
				return storage.ErrStore // a renewal that comes first would find out about the claim
			}
			return next(ctx, sel, func(tx storage.Tx) (storage.Writes, error) {
				w, err := decide(tx)
				if puts(w, storage.StatusExecuting) {
					halted.Store(true)
					s.Stop(time.Minute)
				}
				return w, err
			})
		}
		a, b := startProcess(t, h), startProcess(t, m)
		var j journal
		charge := idempotent("charge", 3, 2*time.Second)
		done := make(chan error)
		go func() { done <- a.run("one", oneStep(charge, failing(&j, 0))) }()
		synctest.Wait()
		if err := b.run("one", oneStep(charge, failing(&j, 0))); err != nil {
			t.Error(err)
		}
		j.want(t, "charge", 2)
		wantError(t, <-done, durable.ErrFenced)
		j.want(t, "charge", 2)
		wantHistory(t, b.Engine, "one", "charge", "1 lost, then 2s", "1 withdrawn, late", "2 succeeded")
	})
}

// A process that is stopped past its lease during the call reports its end too
// late: that is refused, and kept as evidence.
func TestHistory04StoppedDuringCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		s := &durabletest.Stopped{Store: m}
		a, b := startProcess(t, s), startProcess(t, m)
		var j journal
		charge := careful("charge", 3, 2*time.Second)
		done := make(chan error)
		go func() {
			done <- a.run("one", oneStep(charge, func(ctx context.Context) (int, error) {
				j.add(ctx)
				s.Stop(time.Minute)
				time.Sleep(time.Minute)
				return 7, nil
			}))
		}()
		synctest.Wait()
		paused := wantAs[*durable.PausedError](t, b.run("one", oneStep(charge, failing(&j, 0))))
		if len(paused.Steps) != 1 || paused.Steps[0] != "charge" {
			t.Errorf("got steps %q to resolve, want charge", paused.Steps)
		}
		wantError(t, <-done, durable.ErrFenced)
		j.want(t, "charge", 1)
		wantHistory(t, b.Engine, "one", "charge", "1 lost", "1 succeeded, late")
		if n := len(a.saw(events.EventRefused)); n != 1 {
			t.Errorf("got %d events about a refused end, want 1", n)
		}
	})
}

// An end is accepted, however late, until somebody claims the run.
func TestHistory05LateEndIsAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		s := &hooked{Store: m}
		s.hook = func(ctx context.Context, sel storage.Select, decide decision, next update) error {
			if isRenewal(sel) && time.Since(epoch) > 0 {
				return storage.ErrStore
			}
			return next(ctx, sel, decide)
		}
		a := startProcess(t, s)
		var j journal
		err := a.run("one", oneStep(careful("charge", 3, time.Second), func(ctx context.Context) (int, error) {
			j.add(ctx)
			time.Sleep(5 * time.Minute)
			return 1, ctx.Err()
		}))
		if err != nil {
			t.Error(err)
		}
		j.want(t, "charge", 1)
		wantRun(t, a.Engine, "one", storage.StatusSucceeded)
	})
}

// Renewals that take long, since the store is slow or the process starves, do
// not end a lease.
func TestHistory06SlowRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		s := &hooked{Store: m}
		s.hook = func(ctx context.Context, sel storage.Select, decide decision, next update) error {
			if isRenewal(sel) {
				time.Sleep(9 * time.Second)
			}
			return next(ctx, sel, decide)
		}
		a, b := startProcess(t, s), startProcess(t, m)
		done := make(chan error)
		go func() {
			done <- a.run("one", oneStep(careful("charge", 3, time.Second), func(ctx context.Context) (int, error) {
				time.Sleep(5 * time.Minute)
				return 1, ctx.Err()
			}))
		}()
		time.Sleep(20 * time.Second)
		owned := wantAs[*durable.OwnedError](t, b.run("one", func(context.Context) error {
			return errors.New("called twice")
		}))
		if owned.Run != "one" || owned.Owner == "" {
			t.Errorf("got %+v, want the run and its owner", owned)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// Every claim has a new fence, also that of the same process.
func TestHistory07NewFence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		for n := range uint64(4) {
			err := p.run("one", func(ctx context.Context) error {
				if info, ok := durable.Current(ctx); !ok || info.Fence != n+1 {
					t.Errorf("got fence %d, want %d", info.Fence, n+1)
				}
				return errors.New("not yet")
			})
			if err == nil {
				t.Error("got no error from the run, want that of its function")
			}
		}
	})
}

// The same for a call without a record of its start: a process that was stopped
// finds out first whether it has lost the run.
func TestHistory04StoppedBeforeUnrecordedCall(t *testing.T) {
	failures := idempotent("lookup", 3, time.Second)
	failures.Record = genapi.RecordFailures
	for _, s := range []*genapi.StepPolicy{failures, {Name: "lookup"}} {
		synctest.Test(t, func(t *testing.T) {
			m := memory.New()
			slow := &durabletest.Stopped{Store: m}
			a, b := startProcess(t, slow), startProcess(t, m)
			done := make(chan error)
			go func() {
				done <- a.run("one", func(ctx context.Context) error {
					slow.Stop(time.Minute)
					time.Sleep(time.Minute)
					_, err := call(context.WithoutCancel(ctx), s, func(context.Context) (int, error) {
						t.Error("the engine that has lost the run called the step")
						return 0, nil
					})
					return err
				})
			}()
			synctest.Wait()
			if err := b.run("one", func(context.Context) error { time.Sleep(2 * time.Minute); return nil }); err != nil {
				t.Error(err)
			}
			wantError(t, <-done, durable.ErrFenced)
		})
	}
}

// A process that was stopped past its lease cancels what it executes, once it
// knows that somebody has claimed the run.
func TestHistory04StoppedCallIsCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		s := &durabletest.Stopped{Store: m}
		a, b := startProcess(t, s), startProcess(t, m)
		done := make(chan error)
		var after time.Duration
		go func() {
			done <- a.run("one", oneStep(careful("charge", 3, time.Second), func(ctx context.Context) (int, error) {
				s.Stop(time.Minute)
				<-ctx.Done()
				after = time.Since(epoch)
				return 0, ctx.Err()
			}))
		}()
		synctest.Wait()
		wantAs[*durable.PausedError](t, b.run("one", oneStep(careful("charge", 3, time.Second), failing(&journal{}, 0))))
		wantError(t, <-done, durable.ErrFenced)
		wantAbout(t, "the end of the stopped call", after, time.Minute, 71*time.Second)
	})
}
