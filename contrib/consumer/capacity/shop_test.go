package capacity

import (
	"errors"
	"sync"
	"testing"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/capacity"
)

func TestQuery(t *testing.T) {
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			if got, err := RetryQuery(3); got != 6 || err != nil {
				t.Errorf("got %d, %v", got, err)
			}
		})
	}
	wait.Wait()
	if most.Load() != 2 || DefaultShared.DbLimiter.InUse() != 0 {
		t.Errorf("%d queries ran at a time, want 2; %d permits are in use", most.Load(), DefaultShared.DbLimiter.InUse())
	}
}

func TestFind(t *testing.T) {
	name, by, err := (&Client{}).RetryFind(t.Context(), "book")
	if name != "book" || by != 2 || err != nil {
		t.Errorf("got %q, %d, %v", name, by, err)
	}
	for range 100 {
		_, _, err = (&Client{down: true}).RetryFind(t.Context(), "book")
	}
	if !errors.Is(err, retry.ErrThrottled) && DefaultShared.SearchThrottle.Share() < 0.5 {
		t.Errorf("got %v, want the throttle to refuse attempts", err)
	}
}

func TestOpen(t *testing.T) {
	h, err := RetryOpen(t.Context())
	if err != nil || h.second || opened.Load() != 2 || closed.Load() != 1 {
		t.Errorf("got %+v, %v; %d opened, %d closed", h, err, opened.Load(), closed.Load())
	}
}

func TestOrder(t *testing.T) {
	shared := NewShared()
	orders := NewRetryStore(store{}, shared)
	if err := orders.Order(t.Context(), "1"); err != nil {
		t.Error(err)
	}
	err := orders.Order(t.Context(), "2")
	refusal, ok := errors.AsType[capacity.Refusal](err)
	if !errors.Is(err, retry.ErrRateLimited) || !ok || refusal.Name != "partner" || calls.Load() != 1 {
		t.Errorf("got %v after %d calls", err, calls.Load())
	}
}
