package capacity

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestRefused: each of them counts what it refuses, and only that.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := NewLimiter(LimiterPolicy{Name: "db", Limit: 1, MaxWait: time.Second})
		rate := NewRate(RatePolicy{Name: "partner", Events: 1, MaxWait: NoWait})
		throttle := NewThrottle(ThrottlePolicy{Name: "search", MinCalls: 1, MaxShare: 1})
		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		for _, tt := range []struct {
			ctx     context.Context
			limiter error
			rate    error
		}{
			{t.Context(), nil, nil},
			{short, context.DeadlineExceeded, Refusal{By: ByRate, Name: "partner", AdmitsIn: time.Second}},
			{
				t.Context(), Refusal{By: ByLimiter, Name: "db"},
				Refusal{By: ByRate, Name: "partner", AdmitsIn: 999 * time.Millisecond},
			},
		} {
			if err := rate.Wait(t.Context()); !errors.Is(err, tt.rate) {
				t.Errorf("rate: err = %v, want %v", err, tt.rate)
			}
			if err := limiter.Acquire(tt.ctx); !errors.Is(err, tt.limiter) {
				t.Errorf("limiter: err = %v, want %v", err, tt.limiter)
			}
		}
		for range 1000 {
			throttle.Report(Overload)
		}
		admitted := 0
		for range 1000 {
			if throttle.Admit() {
				admitted++
			}
		}
		if got := limiter.Refused(); got != 1 {
			t.Errorf("the limiter has refused %d, want 1", got)
		}
		if got := rate.Refused(); got != 2 {
			t.Errorf("the rate has refused %d, want 2", got)
		}
		if got := throttle.Refused(); got+uint64(admitted) != 1000 || got < 900 {
			t.Errorf("the throttle has refused %d and admitted %d, want about all of 1000 refused", got, admitted)
		}
	})
}
