package hedge_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/hedge"
)

func TestUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hedge.New(hedge.Policy{Name: "find", Quantile: 0.9})
		for range 64 {
			var race hedge.Race
			race.Begin(t.Context(), h, func() {})
			time.Sleep(time.Second)
			race.End(nil)
		}
		delay := func(want time.Duration, known bool) {
			t.Helper()
			if got, ok := h.Delay(); ok != known || got.Round(time.Second) != want {
				t.Errorf("delay %v, %v; want %v, %v", got, ok, want, known)
			}
		}
		update := func(p hedge.Policy) {
			t.Helper()
			p.Name = "find"
			if err := h.Update(p); err != nil {
				t.Error(err)
			}
		}
		delay(time.Second, true)
		update(hedge.Policy{Quantile: 0.9, AtLeast: 3 * time.Second})
		delay(3*time.Second, true) // the durations are kept
		update(hedge.Policy{Quantile: 0.5})
		delay(0, false)
		update(hedge.Policy{After: 2 * time.Second})
		delay(2*time.Second, true)
		for _, p := range []hedge.Policy{{Name: "find"}, {Name: "other", After: time.Second}} {
			if err := h.Update(p); err == nil {
				t.Errorf("%+v is accepted", p)
			}
		}
		delay(2*time.Second, true)
	})
}
