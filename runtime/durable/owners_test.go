package durable_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// The steps of a run have the same ids wherever it is called: the scopes of its
// caller are not those of the run.
func TestNestedRunHasItsOwnScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		var j journal
		child := func(ctx context.Context) error {
			if _, err := call(ctx, careful("charge", 1, 0), failing(&j, 0)); err != nil {
				return err
			}
			if j.calls[0].Run == "child" && len(j.calls) == 1 {
				return errors.New("not yet")
			}
			return nil
		}
		err := p.run("parent", func(ctx context.Context) error {
			return p.Run(durable.Scope(ctx, "page-1"), "child", child)
		})
		if err == nil {
			t.Error("got no error from the first execution of the child")
		}
		if err := p.run("child", oneStep(careful("charge", 1, 0), failing(&j, 0))); err != nil {
			t.Error(err)
		}
		j.want(t, "charge", 1)
		if len(j.calls) != 1 {
			t.Errorf("the step was executed %d times, want once: %+v", len(j.calls), j.calls)
		}
	})
}

// The timeout of a run ends the execution of its children, not the children.
func TestNestedRunOutlivesTimeoutOfParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		child := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		err := p.run("parent", func(ctx context.Context) error { return p.Run(ctx, "child", child) },
			durable.Timeout(time.Minute))
		wantError(t, err, durable.ErrTimedOut)
		wantRun(t, p.Engine, "parent", storage.StatusTimedOut)
		wantRun(t, p.Engine, "child", storage.StatusOpen)
		if err := p.run("child", func(context.Context) error { return nil }); err != nil {
			t.Error(err)
		}
	})
}

// A function that returns the error of a child that is executed elsewhere has
// failed; its run is not lost.
func TestNestedRunOwnedElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		a, b := startProcess(t, m), startProcess(t, m)
		stop := make(chan struct{})
		done := make(chan error)
		go func() { done <- a.run("child", func(context.Context) error { <-stop; return nil }) }()
		synctest.Wait()
		err := b.run("parent", func(ctx context.Context) error {
			return b.Run(ctx, "child", func(context.Context) error { return nil })
		})
		wantAs[*durable.OwnedError](t, err)
		if r := wantRun(t, b.Engine, "parent", storage.StatusFailed); r.Owner != "" {
			t.Errorf("the run is still owned by %q", r.Owner)
		}
		close(stop)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// Who waits for the lease of a dead engine learns that another one was faster.
func TestWaitForLeaseEndsWithItsNextOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		a, b, c := startProcess(t, m), startProcess(t, m), startProcess(t, m)
		go func() { _ = a.run("one", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }) }()
		synctest.Wait()
		a.kill()
		results := make(chan error, 2)
		for _, p := range []*process{b, c} {
			go func() {
				results <- p.run("one", func(ctx context.Context) error { time.Sleep(time.Hour); return nil })
			}()
		}
		start := time.Now()
		wantAs[*durable.OwnedError](t, <-results)
		wantAbout(t, "the answer", time.Since(start), 0, 2*time.Minute)
		if err := <-results; err != nil {
			t.Error(err)
		}
	})
}

// An engine that is being closed begins no run: neither one that waits for the
// lease of another engine, nor any other.
func TestCloseEndsWaitForLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		a, b := startProcess(t, m), startProcess(t, m)
		go func() { _ = a.run("one", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }) }()
		synctest.Wait()
		a.kill()
		done := make(chan error)
		go func() {
			done <- b.run("one", func(ctx context.Context) error {
				t.Error("the function was called after Close")
				<-ctx.Done()
				return ctx.Err()
			})
		}()
		time.Sleep(5 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		closed := make(chan error)
		go func() { closed <- b.Close(ctx) }()
		select {
		case err := <-closed:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Fatal("Close waits for a run that began after it")
		}
		wantError(t, <-done, durable.ErrClosed)
	})
}

// The policy of a step may be nil where the lease has lapsed between the check
// and the call.
func TestNilPolicyLeaseLapsesBeforeCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		s := &durabletest.Stopped{Store: m}
		p := startProcess(t, s)
		err := p.run("one", func(ctx context.Context) error {
			stopping := &stoppingContext{Context: ctx, stop: func() {
				s.Stop(time.Minute)
				time.Sleep(time.Minute)
			}}
			got, err := durable.Step(stopping, "now", nil, func(context.Context) (int, error) { return 1, nil })
			if got != 1 {
				t.Errorf("got %d, want 1", got)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// A stoppingContext stops its process when it is asked for its error the second
// time.
type stoppingContext struct {
	context.Context
	asked int
	stop  func()
}

func (c *stoppingContext) Err() error {
	if c.asked++; c.asked == 2 {
		c.stop()
	}
	return c.Context.Err()
}
