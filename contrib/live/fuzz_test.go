package live_test

import (
	"log/slog"
	"slices"
	"testing"

	"github.com/retrygen/retrygen/contrib/live"
	"github.com/retrygen/retrygen/contrib/live/internal/orders"
	retry "github.com/retrygen/retrygen/runtime"
)

// FuzzLoad loads any text. One that is refused changes nothing, and one that is accepted says
// what it has changed in policies.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(compiled))
	f.Add([]byte("version: 1\n"))
	f.Add([]byte("version: 1\nreload: true\npolicies: {read: {}}\n"))
	settings := func() (list []retry.Settings) {
		for _, p := range orders.Policies() {
			list = append(list, p.Settings())
		}
		return list
	}
	c, err := live.New(orders.LivePolicies(), live.Log(slog.New(slog.DiscardHandler)))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := settings()
		change, err := c.Load(text, "fuzz")
		switch same := slices.Equal(before, settings()); {
		case err != nil && !same:
			t.Errorf("a version that is refused changes policies: %v", err)
		case err == nil && !same && len(change.Settings) == 0:
			t.Error("policies have changed, and the change says nothing")
		}
		if _, err := c.Reset("fuzz"); err != nil {
			t.Fatal(err)
		}
	})
}
