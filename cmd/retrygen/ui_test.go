package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestPlaygroundServer: the page is served with its file, and requests of foreign sites are
// refused.
func TestPlaygroundServer(t *testing.T) {
	u := playgroundServer{addr: "policies.test:8080", start: &startFile{"retry.yaml", "version: 1\n"}}
	h := u.handler()
	const check = `{"method": "check", "text": "version: 2"}`
	tests := []struct {
		method, path, host, body string
		header                   [2]string
		status                   int
		want                     string // in the body
	}{
		{path: "/", status: 200, want: `src="local.js"`},
		{path: "/playground.js", status: 200, want: "CodeMirror"},
		{path: "/start", status: 200, want: `{"name":"retry.yaml","text":"version: 1\n"}`},
		{path: "/none", status: 404},
		{path: "/answer", status: 404},
		{method: "POST", path: "/answer", body: check, status: 200, want: `"rule":"P907"`},
		{method: "POST", path: "/answer", body: "{", status: 200, want: `{"error":"the request: `},
		{method: "POST", path: "/answer", body: strings.Repeat(" ", maxQuestion+1), status: 413, want: "larger"},
		{method: "POST", path: "/start", status: 405},

		{path: "/start", host: "localhost:1234", status: 200},
		{path: "/start", host: "[::1]:1234", status: 200},
		{path: "/start", host: "policies.test", status: 200},
		{path: "/start", host: "evil.example:8080", status: 403, want: "the address that retrygen ui has printed"},
		{path: "/start", host: "127.0.0.1.evil.example", status: 403},

		{method: "POST", path: "/answer", body: check, header: [2]string{"Origin", "https://evil.example"}, status: 403},
		{method: "POST", path: "/answer", body: check, header: [2]string{"Origin", "http://127.0.0.1:80"}, status: 200},
		{method: "POST", path: "/answer", body: check, header: [2]string{"Sec-Fetch-Site", "cross-site"}, status: 403},
		{method: "POST", path: "/answer", body: check, header: [2]string{"Sec-Fetch-Site", "same-origin"}, status: 200},
	}
	for _, tt := range tests {
		r := httptest.NewRequest(tt.method, tt.path, strings.NewReader(tt.body))
		r.Host = "127.0.0.1:80"
		if tt.host != "" {
			r.Host = tt.host
		}
		if tt.header[0] != "" {
			r.Header.Set(tt.header[0], tt.header[1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s %s of %s with %v: %d %.200s, want %d %s",
				r.Method, tt.path, r.Host, tt.header, w.Code, w.Body, tt.status, tt.want)
		}
		if got := w.Header().Get("Content-Security-Policy"); got != contentPolicy || strings.Contains(got, "unsafe") {
			t.Errorf("%s: the content policy is %q", tt.path, got)
		}
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/start", nil)
	r.Host = "localhost"
	new(playgroundServer).handler().ServeHTTP(w, r)
	if w.Body.String() != "null" {
		t.Errorf("without a file, the page begins with %s", w.Body)
	}
}
