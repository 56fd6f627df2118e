package durable_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/capacity"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/shared"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

var partner = capacity.RatePolicy{Name: "partner", Events: 10, Burst: 5, MaxWait: 300 * time.Millisecond}

// connectRate returns a rate of one process, and the store through which it is shared.
func connectRate(t *testing.T, s storage.Store, p capacity.RatePolicy, observe func(context.Context, events.Event)) (
	*capacity.Rate, *durabletest.Faulty, *shared.Connection,
) {
	t.Helper()
	rate, store := capacity.NewSharedRate(p), durabletest.CrashAt(s, 0)
	link := shared.Link{Store: store, OnEvent: observe}
	conn, err := link.Connect(t.Context(), shared.Set{Rates: []*capacity.Rate{rate}})
	if err != nil {
		t.Fatal(err)
	}
	return rate, store, conn
}

// TestSharedRate: three processes together start no more attempts than one rate would.
func TestSharedRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		var started, refused atomic.Int64
		var callers sync.WaitGroup
		for range 3 {
			rate, _, conn := connectRate(t, store, partner, nil)
			t.Cleanup(func() { _ = conn.Close(context.Background()) })
			for range 4 {
				callers.Go(func() {
					for begun := time.Now(); time.Since(begun) < 10*time.Second; {
						if err := rate.Wait(t.Context()); err != nil {
							refusal, ok := errors.AsType[capacity.Refusal](err)
							if !ok || refusal.AdmitsIn <= partner.MaxWait || refusal.Cause != nil {
								t.Errorf("got %#v", err)
							}
							refused.Add(1)
							time.Sleep(50 * time.Millisecond)
							continue
						}
						started.Add(1)
					}
				})
			}
		}
		callers.Wait()
		most := int64(partner.Burst + 10*partner.Events + 3) // 3 that waited at the end
		if n := started.Load(); n > most || n < most-10 {
			t.Errorf("%d attempts started, %d were refused; want at most %d", n, refused.Load(), most)
		}
	})
}

// TestRateAhead: a state that is further ahead than a full queue, as after a failover to a
// store whose clock shows an earlier time, refuses attempts for no longer than a full queue.
func TestRateAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		patient := partner
		patient.MaxWait = time.Hour
		other, _, conn := connectRate(t, store, patient, nil)
		for range 1000 { // 100 seconds ahead
			ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
			_ = other.Wait(ctx)
			cancel()
		}
		_ = conn.Close(t.Context())
		rate, _, conn := connectRate(t, store, partner, nil)
		defer func() { _ = conn.Close(context.Background()) }()
		if err := rate.Wait(t.Context()); err == nil {
			t.Error("admitted at once")
		}
		time.Sleep(partner.MaxWait)
		if err := rate.Wait(t.Context()); err != nil {
			t.Errorf("later: %v", err)
		}
	})
}

// TestRateWithoutStore: a rate that is not connected, or whose store does not answer, admits
// nothing, and says why.
func TestRateWithoutStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failures atomic.Int64
		rate, store, conn := connectRate(t, memory.New(), partner, func(_ context.Context, e events.Event) {
			if e.Kind == events.EventStoreError && e.Name == "rate partner" {
				failures.Add(1)
			}
		})
		if err := rate.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		for range partner.Burst - 1 {
			rate.Allow()
			_ = rate.Wait(t.Context())
		}
		go func() { _ = rate.Wait(t.Context()) }()
		if synctest.Wait(); rate.Queued() != 1 {
			t.Errorf("%d attempts wait for their turn, want 1", rate.Queued())
		}
		store.Crash()
		refusal, ok := errors.AsType[capacity.Refusal](rate.Wait(t.Context()))
		if !ok || refusal.Cause == nil || failures.Load() != 1 || rate.Allow() {
			t.Errorf("got %#v, and %d events", refusal, failures.Load())
		}
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		if err := rate.Wait(canceled); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		_ = conn.Close(context.Background())
		refusal, _ = errors.AsType[capacity.Refusal](rate.Wait(t.Context()))
		const want = "rate limit partner admits no attempt: not connected to a store: call Link.Connect"
		if refusal.Cause != shared.ErrUnconnected || refusal.Error() != want {
			t.Errorf("got %v", refusal)
		}
	})
}
