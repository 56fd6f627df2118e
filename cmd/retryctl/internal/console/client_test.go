package console

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/retrygen/retrygen/contrib/sqlite"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A client is a browser without scripts. It does not follow redirects.
type client struct {
	*testing.T
	base string
	http.Client
}

func newClient(t *testing.T, base string) *client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &client{t, base, http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}}
}

// A reply is what a server has answered.
type reply struct {
	status int
	header http.Header
	body   string
}

func (c *client) do(r *http.Request) reply {
	c.Helper()
	response, err := c.Do(r)
	if err != nil {
		c.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		c.Fatal(err)
	}
	return reply{response.StatusCode, response.Header, string(body)}
}

func (c *client) request(method, path string, form url.Values) *http.Request {
	c.Helper()
	r, err := http.NewRequest(method, c.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		c.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return r
}

func (c *client) get(path string) reply {
	c.Helper()
	return c.do(c.request(http.MethodGet, path, nil))
}

// post sends a form of names and values.
func (c *client) post(path string, pairs ...string) reply {
	c.Helper()
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	return c.do(c.request(http.MethodPost, path, form))
}

// want checks the status of a reply, and that the page has some texts.
func (c *client) want(what string, r reply, status int, texts ...string) {
	c.Helper()
	if r.status != status {
		c.Errorf("%s: status %d, want %d: %s", what, r.status, status, r.body)
	}
	for _, text := range texts {
		if !strings.Contains(r.body, text) {
			c.Errorf("%s: the page lacks %q: %s", what, text, r.body)
		}
	}
}

// A testStore is a store in a file with an engine.
type testStore struct {
	*durable.Engine
	t     *testing.T
	store storage.Store
}

func newStore(t *testing.T) *testStore {
	t.Helper()
	store, err := sqlite.Open(filepath.Join(t.TempDir(), "retry.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return &testStore{engine(t, store), t, store}
}

// quick returns a step that is not retried for long.
func quick(name string, attempts int) *genapi.StepPolicy {
	return &genapi.StepPolicy{
		Name: name, Idempotent: true, OnExhausted: genapi.ExhaustedDeadLetter,
		Policy: &retry.Policy{Name: name, RetryUnknown: true, Schedule: retry.Schedule{MaxAttempts: attempts,
			InitialDelay: time.Microsecond}},
	}
}

// fail executes a run with a step that fails, or succeeds if failure is nil.
func (e *testStore) fail(run string, s *genapi.StepPolicy, id string, failure error, options ...durable.RunOption) {
	e.t.Helper()
	err := e.Run(e.t.Context(), run, func(ctx context.Context) error {
		_, err := genapi.Call(ctx, s, genapi.ID(id), genapi.Digest{}, func(context.Context) (string, error) {
			return "receipt", failure
		})
		return err
	}, options...)
	if (err == nil) != (failure == nil) {
		e.t.Fatalf("run %q: %v", run, err)
	}
}

// status returns the status of a step.
func (e *testStore) status(run, step string) storage.Status {
	e.t.Helper()
	s, err := e.Admin().Describe(e.t.Context(), run, step)
	if err != nil {
		e.t.Fatal(err)
	}
	return s.Status
}

// runStatus returns the status of a run.
func (e *testStore) runStatus(run string) storage.Status {
	e.t.Helper()
	for r, err := range e.Admin().List(e.t.Context(), storage.Query{Run: run}) {
		if err != nil {
			e.t.Fatal(err)
		}
		return r.Status
	}
	e.t.Fatalf("there is no run %q", run)
	return 0
}

var errDown = errors.New("connection refused")
