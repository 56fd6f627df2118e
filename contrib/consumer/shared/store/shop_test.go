package store

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/shared"
)

var errDown = errors.New("down: no connection")

// down fails, and counts its calls.
func down(n *int) op { return func() (int, error) { *n++; return 0, errDown } }

func TestUnconnected(t *testing.T) {
	n := 0
	_, err := RetryBudgeted(t.Context(), down(&n))
	if !errors.Is(err, shared.ErrUnconnected) || !errors.Is(err, retry.ErrBudget) || n != 1 {
		t.Errorf("%d calls, err = %v; want 1 and ErrUnconnected", n, err)
	}
	if _, err := RetryBudgeted(t.Context(), func() (int, error) { return 1, nil }); err != nil {
		t.Errorf("a success: %v", err)
	}
	_, err = RetryPaced(t.Context(), down(&n))
	if !errors.Is(err, shared.ErrUnconnected) || !errors.Is(err, retry.ErrRateLimited) || n != 1 {
		t.Errorf("%d calls, err = %v; want 1 and ErrUnconnected", n, err)
	}
}

func TestConnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, other := memory.New(), NewShared() // that of another process
		for _, s := range []*Shared{DefaultShared, other} {
			c, err := shared.Link{Store: store}.Connect(t.Context(), s.Stored())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close(t.Context())
		}
		if err := other.PartnerRate.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		n := 0
		_, err := RetryPaced(t.Context(), down(&n))
		if !errors.Is(err, retry.ErrRateLimited) || n != 0 {
			t.Errorf("%d calls, err = %v; want 0 and ErrRateLimited", n, err)
		}
		_, err = RetryBudgeted(t.Context(), down(&n))
		if !errors.Is(err, retry.ErrAttempts) || n != 3 {
			t.Errorf("%d calls, err = %v; want 3", n, err)
		}
		_, err = RetryLimited(t.Context(), down(&n))
		if !errors.Is(err, retry.ErrAttempts) || n != 6 {
			t.Errorf("%d calls, err = %v; want 6", n, err)
		}
		if err := other.AllBudget.Withdraw(); !errors.Is(err, retry.ErrBudget) {
			t.Errorf("the other process: %v, want ErrBudget", err)
		}
		_, err = RetryBudgeted(t.Context(), down(&n))
		if !errors.Is(err, retry.ErrBudget) || n != 7 {
			t.Errorf("%d calls, err = %v; want 7 and ErrBudget", n, err)
		}
		for range 4 {
			RetryGuarded(t.Context(), down(&n))
		}
		time.Sleep(2 * time.Second)
		if state := other.UpBreaker.State(); state != breaker.Open || n != 11 {
			t.Errorf("%d calls, the breaker of the other process is %v; want 11, open", n, state)
		}
		e, err := durable.New(store)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close(t.Context())
		err = e.Run(t.Context(), "one", func(ctx context.Context) error {
			_, err := RetryStep(ctx, "a", down(&n))
			return err
		})
		if !errors.Is(err, retry.ErrBreakerOpen) || n != 11 {
			t.Errorf("%d calls, the step: %v; want 11, ErrBreakerOpen", n, err)
		}
	})
}
