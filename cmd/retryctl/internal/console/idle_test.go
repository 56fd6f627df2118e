package console

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// TestIdle: no page says that something happens, or will happen, in a run that nothing
// executes.
func TestIdle(t *testing.T) {
	e := newStore(t)
	later := quick("later", 3)
	later.Policy.InitialDelay, later.ParkAfter = time.Hour, time.Second
	e.fail("canceled", later, "a", errDown)
	if err := e.Admin().Cancel(t.Context(), "canceled"); err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = e.Run(t.Context(), "panics", func(ctx context.Context) error {
			_, err := genapi.Call(ctx, quick("boom", 2), genapi.ID("b"), genapi.Digest{},
				func(context.Context) (string, error) { panic("no rate") })
			return err
		})
	}()
	c := newClient(t, serve(t, Config{Client: e.Engine.Admin(), Store: "test"}))
	c.awaitCounts()
	for path, wrong := range map[string]string{
		"/":                               "later/a",
		"/run?id=canceled":                `data-th="Next attempt"><time`,
		"/step?run=canceled&id=later%2Fa": "<dt>Next attempt</dt>",
		"/run?id=panics":                  "is executing",
		"/step?run=panics&id=boom%2Fb":    "is executing",
	} {
		r := c.get(path)
		c.want(path, r, http.StatusOK)
		if strings.Contains(r.body, wrong) {
			t.Errorf("%s has %q", path, wrong)
		}
	}
	stats, err := e.Engine.Admin().Stats(t.Context(), admin.Filter{})
	if n := stats.Steps[storage.StatusWaiting]; err != nil || n > 0 {
		t.Errorf("%d steps wait: %v", n, err)
	}
	c.want("the panic", c.get("/run?id=panics"), http.StatusOK, "attempt 1: no engine executes it")
}
