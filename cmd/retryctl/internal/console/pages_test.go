package console

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

func TestPages(t *testing.T) {
	c := newClient(t, serveDemo(t))
	c.awaitCounts()
	for path, texts := range map[string][]string{
		"/":     {"Runs by state", "need a person", "ledger-close", "Bank.Transfer/2214", `id="hours"`},
		"/runs": {"order/1110", "succeeded", `rel="next"`},
		"/runs?prefix=order%2F100&status=succeeded": {"order/1000", "order/1001"},
		"/runs?status=paused":                       {"ledger-close", "transfer-2215"},
		"/run?id=settle-today": {"Payments.Charge/4107", `class="fill-lost"`, `class="fill-wait"`,
			`class="fill-timed_out"`, `class="fill-executing"`},
		"/run?id=import-7": {"copy", "38", "all_dcs_reported", "of 50 used", `rel="next"`},
		"/group?run=import-7&id=copy": {"copy", "Failed units", "shard-17", "connection refused", "/step?",
			"shard-00"},
		"/group?run=import-7&id=copy&only=failed": {"shard-17", "shard-31", "All units"},
		"/run?id=transfer-2215":                   {"paused", "ada", "the bank has announced maintenance"},
		"/step?run=settle-today&id=Payments.Charge%2F4104": {">timed out</span>", "503 Service Unavailable",
			"Idempotency key", "charge: attempt 3 of 5, exponential 4s × 2 to 1m, attempt_timeout 20s"},
		"/step?run=agent-run-12&id=implement%2Fauth": {"Timeout captured", "RUN_BASE/build/impl_changes.md",
			"4096", "src/auth_test.go", "writing tests"},
		"/dead":                                {"validation: the account of the customer is closed", "review"},
		"/dead?class=network":                  {"connection refused"},
		"/dead?class=unknown":                  {"validation: the account of the customer is closed"},
		"/shared":                              {"bank", "closed", "mail", "import-7"},
		"/policies":                            {"charge", "bank", "probe", "no step", "agent_step", "no file"},
		"/policy?file=retry.yaml&name=charge":  {"delay_budget", "Greatest wait", "/picture?", "/storm?"},
		"/policy?file=retry.yaml&name=bank":    {"not made: max_elapsed 12h"},
		"/picture?file=retry.yaml&name=charge": {"<svg", "attempt 8"},
		"/storm?file=retry.yaml&name=charge":   {"<svg", "charge, storm capacity: "},
		"/static/console.css":                  {"prefers-color-scheme: dark"},
	} {
		c.want(path, c.get(path), http.StatusOK, texts...)
	}
	for path, text := range map[string]string{
		"/runs?prefix=order%2F100": "ledger-close", "/runs?prefix=order%2F1000x": "order/1000<",
		"/run?id=import-7": "No attempt yet", "/group?run=import-7&id=copy&only=failed": "shard-00",
		"/dead?class=unknown": "connection refused", "/dead?class=network": "validation: the account",
	} {
		if r := c.get(path); strings.Contains(r.body, text) {
			t.Errorf("%s shows %q, which its filter does not select", path, text)
		}
	}
	for path, status := range map[string]int{
		"/none": http.StatusNotFound, "/run?id=none": http.StatusNotFound, "/run": http.StatusBadRequest,
		"/group?run=import-7&id=none": http.StatusNotFound, "/group?run=none&id=copy": http.StatusNotFound,
		"/step?run=a&id=b": http.StatusNotFound, "/runs?after=x": http.StatusBadRequest,
		"/dead?after=9:a":   http.StatusBadRequest,
		"/runs?status=none": http.StatusBadRequest, "/policy?name=none": http.StatusNotFound,
		"/storm?name=none":   http.StatusNotFound,
		"/picture?name=none": http.StatusNotFound, "/task?id=none": http.StatusNotFound, "/static/none": http.StatusNotFound,
	} {
		c.want(path, c.get(path), status)
	}
}

// The pages of a run and of a step name what has changed in a policy.
func TestPolicyChanged(t *testing.T) {
	e := newStore(t)
	e.fail("order", quick("charge", 1), "o1", errDown)
	e.fail("order", quick("charge", 2), "o2", errDown)
	c := newClient(t, serve(t, Config{Client: e.Engine.Admin(), Store: "test"}))
	for path, texts := range map[string][]string{
		"/run?id=order":                  {"<dt>Changed</dt><dd>policy charge: max_attempts 1 → 2</dd>"},
		"/step?run=order&id=charge%2Fo1": {"charge: attempt 1 of 1, exponential 1µs × 2 to 30s"},
		"/step?run=order&id=charge%2Fo2": {"charge: attempt 2 of 2,", "<dt>Policy changed</dt><dd>max_attempts 1 → 2</dd>"},
	} {
		c.want(path, c.get(path), http.StatusOK, texts...)
	}
}

// awaitCounts waits until the console has counted what the store has.
func (c *client) awaitCounts() {
	c.Helper()
	for tries := 0; strings.Contains(c.get("/").body, `id="counting"`); tries++ {
		if tries == 1000 {
			c.Fatal("the store is not counted")
		}
		<-time.After(20 * time.Millisecond)
	}
}

// Every list leads from page to page over all of its rows, each once.
func TestPaging(t *testing.T) {
	e := newStore(t)
	s := quick("step", 1)
	const n = 2*pageSize + 7
	want := map[string]bool{}
	for i := range n {
		id := fmt.Sprintf("a/%03d:?#&", i)
		want[id] = true
		e.fail(id, s, "x", errDown, durable.Budget(job.BudgetPolicy{Retries: 3}))
	}
	err := e.Run(t.Context(), "many", func(ctx context.Context) error {
		for id := range want {
			_, err := genapi.Call(ctx, s, genapi.ID(id), genapi.Digest{}, func(context.Context) (int,
				error) {
				return 1, nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, serve(t, Config{Client: e.Engine.Admin(), Store: "test"}))
	for path, cell := range map[string]string{
		"/runs": "/run?id=", "/runs?prefix=a%2F": "/run?id=", "/dead": "/step?id=", "/shared": "/run?id=", "/run?id=many": `<td><a href="/step?id=step%2F`,
	} {
		seen := map[string]int{}
		pages := 0
		for next := path; next != ""; pages++ {
			r := c.get(next)
			c.want(next, r, http.StatusOK)
			_, list, _ := strings.Cut(r.body, `id="list"`)
			for id := range want {
				row := cell + url.QueryEscape(id)
				if cell == "/step?id=" {
					row = cell + "step%2Fx&amp;run=" + url.QueryEscape(id)
				} else if path == "/run?id=many" {
					row = `<td><a href="/step?id=` + url.QueryEscape("step"+stepPart(id))
				}
				seen[id] += strings.Count(list, row+`"`) + strings.Count(list, row+"&amp;")
			}
			next = ""
			if before, _, found := strings.Cut(list, `" rel="next"`); found {
				next = html.UnescapeString(before[strings.LastIndex(before, `"`)+1:])
			}
		}
		if pages != 3 {
			t.Errorf("%s: %d pages, want 3", path, pages)
		}
		for id := range want {
			if seen[id] != 1 {
				t.Errorf("%s: %q is listed %d times", path, id, seen[id])
				break
			}
		}
	}
}

// stepPart returns the part of the id of a step that a value makes.
func stepPart(value string) string {
	return "/" + strings.NewReplacer("/", "%2F", ":", "%3A", "%", "%25").Replace(value)
}

// A failing is a store that returns an error.
type failing struct {
	storage.Store
	err error
}

func (f *failing) List(context.Context, storage.Query) ([]storage.Record, storage.Cursor, error) {
	return nil, "", f.err
}

func (f *failing) Get(context.Context, []storage.Key) ([]storage.Record, error) { return nil, f.err }

func TestProblems(t *testing.T) {
	for err, want := range map[error]struct {
		status int
		text   string
	}{
		fmt.Errorf("%w: dial tcp: refused <b>", storage.ErrStore): {http.StatusServiceUnavailable,
			"Check that the database runs"},
		storage.ErrUnknown: {http.StatusServiceUnavailable, "did not answer"},
		storage.ErrFormat:  {http.StatusInternalServerError, "Use the version of retryctl"},
		fmt.Errorf("%w: %w", storage.ErrStore, context.DeadlineExceeded): {http.StatusServiceUnavailable,
			"Check the load"},
	} {
		e, failed := durable.New(&failing{memory.New(), err})
		if failed != nil {
			t.Fatal(failed)
		}
		c := newClient(t, serve(t, Config{Client: e.Admin(), Store: "test", Write: true}))
		for _, path := range []string{"/", "/runs", "/run?id=a", "/step?run=a&id=b", "/dead", "/shared"} {
			r := c.get(path)
			if path == "/" && r.status == http.StatusOK {
				c.want(path, r, http.StatusOK, "Counting") // that it fails is known a little later
				continue
			}
			c.want(path, r, want.status, want.text, html.EscapeString(err.Error()))
		}
		c.want("change", c.post("/run?id=a", "action", "resume", "by", "ada", "why", "x"), want.status, want.text)
	}
}

// The number of live pages is limited, and they end with the console.
func TestLiveLimit(t *testing.T) {
	s, err := New(Config{Client: newStore(t).Engine.Admin(), Store: "test"})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	defer server.Close()
	var open []*http.Response
	for range maxStreams {
		r, err := http.Get(server.URL + "/live/runs")
		if err != nil || r.StatusCode != http.StatusOK || r.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatal(r, err)
		}
		open = append(open, r)
	}
	c := newClient(t, server.URL)
	c.want("one too many", c.get("/live/runs"), http.StatusServiceUnavailable)
	c.want("a page", c.get("/runs"), http.StatusOK)
	s.Close()
	for _, r := range open {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		r.Body.Close()
	}
}
