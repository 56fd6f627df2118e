package console

import (
	"io"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/override"
)

// The first page shows the overrides in force, and ends one.
func TestOverrides(t *testing.T) {
	e := newStore(t)
	client := e.Engine.Admin()
	o, err := client.Override(t.Context(), override.Override{Target: "<read>", MaxAttempts: 1}, time.Hour,
		admin.By("grace", "too much load"))
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, serve(t, Config{
		Client: client, Store: "test", Write: true, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}))
	c.want("in force", c.get("/"), http.StatusOK, "Overrides in force", "retries off", "&lt;read&gt;",
		"grace", "too much load")
	c.want("no action", c.post("/override?id="+o.ID, "by", "ada", "why", "over"), http.StatusBadRequest)
	ended := c.post("/override?id="+o.ID, "action", "end", "by", "ada", "why", "over")
	c.want("ended", ended, http.StatusSeeOther)
	c.want("notice", c.get(ended.header.Get("Location")), http.StatusOK, "The override is ended.")
	c.want("again", c.post("/override?id="+o.ID, "action", "end", "by", "ada", "why", "over"), http.StatusNotFound)
	if list, err := client.Overrides(t.Context()); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
}
