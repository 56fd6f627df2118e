package live_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/retrygen/retrygen/contrib/live"
	"github.com/retrygen/retrygen/contrib/live/internal/orders"
	"github.com/retrygen/retrygen/runtime/override"
)

// serve returns a function that sends a request to a server of package orders, as ada unless
// the header Authorization says otherwise, and returns the status and the body.
func serve(t *testing.T) func(method, path, media, body string, header ...string) (int, string) {
	t.Helper()
	set := override.NewSet(orders.LivePolicies())
	t.Cleanup(set.Close)
	handler := live.Server{
		Authorize: func(r *http.Request) (string, error) {
			if r.Header.Get("Authorization") != "secret" {
				return "", errors.New("log in first")
			}
			return "ada", nil
		},
		Controls:  []*live.Control{control(t)},
		Overrides: set,
	}.Handler()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return func(method, path, media, body string, header ...string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", media)
		r.Header.Set("Authorization", "secret")
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		answer, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(text)
	}
}

func TestHandler(t *testing.T) {
	send := serve(t)
	changed := string(edit(t, "quick: {max_attempts: 3", "quick: {max_attempts: 4"))
	until := time.Now().Add(time.Hour).Format(time.RFC3339)
	for _, tt := range []struct {
		name, method, path, media, body string
		header                          []string
		status                          int
		want                            string
	}{
		{name: "not allowed", method: "GET", path: "/", header: []string{"Authorization", "guess"}, status: 403,
			want: "log in first"},
		{name: "what is in force", method: "GET", path: "/", status: 200, want: `"name": "quick",
          "max_attempts": 3,`},
		{name: "the file", method: "GET", path: "/policies", status: 200, want: compiled},
		{name: "a change", method: "PUT", path: "/policies", media: "application/yaml", body: changed, status: 200,
			want: `"policy quick: max_attempts 3 → 4"`},
		{name: "the changed file", method: "GET", path: "/policies", status: 200, want: changed},
		{name: "its effect", method: "GET", path: "/", status: 200, want: `"max_attempts": 4,`},
		{name: "a mistake", method: "PUT", path: "/policies", media: "application/yaml", body: "version: 2\n", status: 422,
			want: "    1 | version: 2\n"},
		{name: "a form", method: "PUT", path: "/policies", media: "text/plain", body: changed, status: 415,
			want: "application/yaml"},
		{name: "another package", method: "PUT", path: "/policies?package=example.com/other", media: "application/yaml",
			body: changed, status: 404, want: "write package=github.com/retrygen/retrygen/contrib/live/internal/orders"},
		{name: "another site", method: "PUT", path: "/policies", media: "application/yaml", body: changed,
			header: []string{"Origin", "https://example.com"}, status: 403, want: "cross-origin"},
		{name: "an override", method: "POST", path: "/overrides", media: "application/json", status: 201,
			body: `{"target": "quick", "max_attempts": 1, "until": "` + until + `", "by": "somebody else"}`,
			want: `"by": "ada"`},
		{name: "its effect", method: "GET", path: "/", status: 200, want: `"name": "quick",
          "max_attempts": 1,`},
		{name: "no end", method: "POST", path: "/overrides", media: "application/json", status: 400,
			body: `{"target": "quick", "max_attempts": 1}`, want: "the override has no end: set until"},
		{name: "nothing to override", method: "POST", path: "/overrides", media: "application/json", status: 400,
			body: `{"target": "qick", "max_attempts": 1, "until": "` + until + `"}`,
			want: `no policy matches "qick": there are find, partner, quick, read, stock`},
		{name: "an unknown key", method: "POST", path: "/overrides", media: "application/json", status: 400,
			body: `{"targets": "quick"}`, want: `unknown field "targets"`},
		{name: "two overrides", method: "POST", path: "/overrides", media: "application/json", status: 400,
			body: `{"target": "quick", "max_attempts": 1, "until": "` + until + `"}{"target": "read"}`,
			want: "more than one override"},
		{name: "a long override", method: "POST", path: "/overrides", media: "application/json", status: 413,
			body: `{"target": "` + strings.Repeat("x", 1<<16) + `"}`, want: "the body has more than 65536 bytes"},
		{name: "an unknown override", method: "DELETE", path: "/overrides/o-1", status: 404, want: "no override o-1"},
	} {
		status, text := send(tt.method, tt.path, tt.media, tt.body, tt.header...)
		if status != tt.status || !strings.Contains(text, tt.want) {
			t.Errorf("%s: status %d, want %d, with %q in\n%s", tt.name, status, tt.status, tt.want, text)
		}
	}
}

// Retries are off until the override is ended, and on again afterwards.
func TestHandlerEndsOverride(t *testing.T) {
	send := serve(t)
	attempts := func() (n int) {
		_ = orders.RetryQuick(t.Context(), func(context.Context) error { n++; return io.ErrUnexpectedEOF })
		return n
	}
	_, text := send("POST", "/overrides", "application/json",
		`{"target": "*", "max_attempts": 1, "until": "`+time.Now().Add(time.Hour).Format(time.RFC3339)+`"}`)
	var put override.Override
	if err := json.Unmarshal([]byte(text), &put); err != nil {
		t.Fatal(err, text)
	}
	if n := attempts(); n != 1 {
		t.Errorf("%d attempts while retries are off", n)
	}
	if status, text := send("DELETE", "/overrides/"+put.ID, "", ""); status != http.StatusNoContent {
		t.Errorf("%d %s", status, text)
	}
	if n := attempts(); n != 3 {
		t.Errorf("%d attempts afterwards, want 3", n)
	}
}

// A body that cannot be read is not one that is too large.
func TestHandlerInterrupted(t *testing.T) {
	handler := live.Server{
		Authorize: func(*http.Request) (string, error) { return "ada", nil },
		Controls:  []*live.Control{control(t)},
	}.Handler()
	r := httptest.NewRequest("PUT", "/policies", iotest.ErrReader(errors.New("connection reset")))
	r.Header.Set("Content-Type", "application/yaml")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "connection reset") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

// While a program ends, its set of overrides is closed, which is not a mistake of the operator.
func TestHandlerClosed(t *testing.T) {
	set := override.NewSet(orders.LivePolicies())
	set.Close()
	handler := live.Server{
		Authorize: func(*http.Request) (string, error) { return "ada", nil },
		Overrides: set,
	}.Handler()
	r := httptest.NewRequest("POST", "/overrides", strings.NewReader(
		`{"target": "*", "max_attempts": 1, "until": "`+time.Now().Add(time.Hour).Format(time.RFC3339)+`"}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

func TestHandlerNeedsAuthorize(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a Server without Authorize has a handler")
		}
	}()
	live.Server{}.Handler()
}
