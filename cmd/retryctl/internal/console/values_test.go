package console

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/retrygen/retrygen/runtime/durable"
)

// Inputs and results are on the pages with Values only, without secrets and without
// markup of their own.
func TestValues(t *testing.T) {
	e := newStore(t)
	type order struct {
		ID     string `json:"id"`
		Secret string `json:"client_secret"`
		Rest   string `json:"rest"`
	}
	durable.Handle(e.Engine, "orders", func(ctx context.Context, in order) (string, error) {
		return durable.Step(ctx, "report", nil, func(context.Context) (string, error) {
			return "<b>o-1 \u202e" + strings.Repeat("x", maxValue), nil
		})
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := durable.Start(ctx, e.Engine, "orders", "one", order{"o-1", "s3cr3t", "<i>"}); err != nil {
		t.Fatal(err)
	}
	worked := make(chan error)
	go func() { worked <- e.Work(ctx) }()
	if _, err := durable.Await[string](ctx, e.Engine, "one"); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-worked; err != nil {
		t.Fatal(err)
	}
	const run, step = "/run?id=one", "/step?run=one&id=report"
	hidden := newClient(t, serve(t, Config{Client: e.Engine.Admin(), Store: "test"}))
	for _, path := range []string{run, step} {
		r := hidden.get(path)
		hidden.want(path, r, http.StatusOK, "start the console with -values")
		if strings.Contains(r.body, "o-1") {
			t.Errorf("%s shows values", path)
		}
	}
	shown := newClient(t, serve(t, Config{Client: e.Engine.Admin(), Store: "test", Values: true}))
	for path, texts := range map[string][]string{
		run:  {"Input", "&#34;o-1&#34;", `&#34;client_secret&#34;: &#34;[redacted]&#34;`, `&#34;&lt;i&gt;&#34;`},
		step: {"Result", `&lt;b&gt;o-1 \u202exxx`, "The rest is not shown"},
	} {
		r := shown.get(path)
		shown.want(path, r, http.StatusOK, texts...)
		if strings.Contains(r.body, "s3cr3t") || strings.Contains(r.body, "<i>") {
			t.Errorf("%s shows a secret or markup of a value", path)
		}
	}
}
