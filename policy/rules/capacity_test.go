package rules

import (
	"math"
	"testing"

	"github.com/retrygen/retrygen/runtime/capacity"
)

func TestMostInPeriod(t *testing.T) {
	for _, tt := range []struct{ burst, events, want int }{
		{1, 100, 100}, {10, 100, 109}, {math.MaxInt, 1, math.MaxInt}, {math.MaxInt, math.MaxInt, math.MaxInt},
	} {
		if got := MostInPeriod(capacity.RatePolicy{Burst: tt.burst, Events: tt.events}); got != tt.want {
			t.Errorf("burst %d, events %d: %d, want %d", tt.burst, tt.events, got, tt.want)
		}
	}
}
