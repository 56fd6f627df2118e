package durable_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A hanging store does not answer while hangs is set.
type hanging struct {
	storage.Store
	hangs *atomic.Bool
}

// answer returns nil, or an error once ctx has ended.
func (h hanging) answer(ctx context.Context) error {
	if !h.hangs.Load() {
		return nil
	}
	<-ctx.Done()
	return fmt.Errorf("%w: %w", storage.ErrStore, ctx.Err())
}

func (h hanging) Update(ctx context.Context, sel storage.Select, decide decision) error {
	if err := h.answer(ctx); err != nil {
		return err
	}
	return h.Store.Update(ctx, sel, decide)
}

func (h hanging) Get(ctx context.Context, keys []storage.Key) ([]storage.Record, error) {
	if err := h.answer(ctx); err != nil {
		return nil, err
	}
	return h.Store.Get(ctx, keys)
}

func (h hanging) List(ctx context.Context, q storage.Query) ([]storage.Record, storage.Cursor, error) {
	if err := h.answer(ctx); err != nil {
		return nil, "", err
	}
	return h.Store.List(ctx, q)
}

// A store that does not answer any more does not keep the caller of a run, or a
// worker, whose context has ended. The run goes on when the store does.
func TestHangingStore(t *testing.T) {
	for _, name := range []string{"run", "worker"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := memory.New()
				var hangs atomic.Bool
				e := newEngine(t, hanging{m, &hangs})
				ctx, cancel := context.WithCancel(t.Context())
				job := oneStep(idempotent("charge", 3, time.Second), func(context.Context) (int, error) {
					hangs.Store(true)
					cancel()
					return 1, nil
				})
				durable.Handle(e, "charge", func(ctx context.Context, _ string) (int, error) { return 0, job(ctx) })
				begun := time.Now()
				if name == "run" {
					if err := e.Run(ctx, "one", job); !errors.Is(err, storage.ErrStore) && !errors.Is(err, storage.ErrUnknown) {
						t.Errorf("Run returned %v, want an error of the store", err)
					}
				} else {
					if err := durable.Start(ctx, e, "charge", "one", "a"); err != nil {
						t.Fatal(err)
					}
					if err := e.Work(ctx); err != nil {
						t.Error(err)
					}
				}
				if took := time.Since(begun); took > 2*time.Minute {
					t.Errorf("it took %v", took)
				}
				closing, stop := context.WithTimeout(t.Context(), time.Second)
				defer stop()
				begun = time.Now()
				if err := e.Close(closing); err == nil {
					t.Error("Close did not say that the store does not answer")
				}
				if took := time.Since(begun); took > 2*time.Minute {
					t.Errorf("Close took %v", took)
				}
				time.Sleep(time.Hour) // the lease has ended
				hangs.Store(false)
				var j journal
				next := startProcess(t, m)
				err := next.run("one", oneStep(idempotent("charge", 3, time.Second), failing(&j, 0)))
				if err != nil && name == "run" {
					t.Error(err)
				}
				wantClean(t, next.Engine)
			})
		})
	}
}

// Close ends the runs of a store that does not answer, although nobody else has
// ended their contexts.
func TestCloseHangingStore(t *testing.T) {
	for _, name := range []string{"run", "worker"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var hangs atomic.Bool
				e := newEngine(t, hanging{memory.New(), &hangs})
				job := oneStep(idempotent("charge", 3, time.Second), func(context.Context) (int, error) {
					hangs.Store(true)
					return 1, nil
				})
				durable.Handle(e, "charge", func(ctx context.Context, _ string) (int, error) { return 0, job(ctx) })
				var calls sync.WaitGroup
				calls.Go(func() {
					if name == "run" {
						wantError(t, e.Run(context.Background(), "one", job), storage.ErrStore)
					} else {
						if err := durable.Start(t.Context(), e, "charge", "one", "a"); err != nil {
							t.Error(err)
						}
						wantError(t, e.Work(context.Background()), durable.ErrClosed)
					}
					wantAbout(t, name, time.Since(epoch), time.Minute, time.Minute+time.Second)
				})
				synctest.Wait()
				closing, stop := context.WithTimeout(t.Context(), time.Second)
				defer stop()
				wantError(t, e.Close(closing), storage.ErrStore)
				wantAbout(t, "Close", time.Since(epoch), time.Minute, 101*time.Second)
				calls.Wait()
			})
		})
	}
}

// The time for the store begins when the function of the run has returned: the end
// of one that goes on for minutes after its context is recorded.
func TestEndOfSlowFunctionIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		ctx, cancel := context.WithCancel(p.ctx)
		err := p.Run(ctx, "one", func(context.Context) error {
			cancel()
			time.Sleep(5 * time.Minute)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		wantRun(t, p.Engine, "one", storage.StatusSucceeded)
	})
}
