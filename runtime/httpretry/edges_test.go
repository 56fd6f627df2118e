package httpretry

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
)

// atOnce retries without delay.
var atOnce = retry.Schedule{InitialDelay: retry.None}

// counting counts the attempts that a transport makes, and keeps the context
// of the last.
type counting struct {
	base http.RoundTripper
	sent int
	ctx  context.Context
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.sent, c.ctx = c.sent+1, r.Context()
	return c.base.RoundTrip(r)
}

func newRequest(t *testing.T, url string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// Without RetryOn, a status is retried if the next attempt may have another.
func TestStatusesThatAreRetried(t *testing.T) {
	conflict := retry.ErrorClass{Class: "conflict", HTTP: [][2]int{{409, 409}}}
	again := conflict
	again.Action = retry.ActionRetry
	for status := 400; status <= 600; status++ {
		byDefault := status == 408 || status == 425 || status == 429 ||
			status >= 500 && status <= 599 && status != 501 && status != 505
		final := status == 400 || status == 401 || status == 403 || status == 404 || status == 422
		for name, tt := range map[string]struct {
			policy  retry.Policy
			retried bool
		}{
			"default":      {retry.Policy{}, byDefault},
			"retry_on":     {retry.Policy{RetryOn: []retry.Class{retry.ClassAny}}, !final},
			"action retry": {retry.Policy{Classes: []retry.ErrorClass{again}}, byDefault || status == 409},
			"other class":  {retry.Policy{Classes: []retry.ErrorClass{conflict}}, byDefault},
			"abort_on":     {retry.Policy{AbortOn: []retry.Class{retry.ClassAny}}, false},
		} {
			tt.policy.Schedule = retry.Schedule{MaxAttempts: 2, InitialDelay: retry.None}
			n := &network{answers: []any{status}}
			resp, err := (&Transport{Base: n, Policy: &tt.policy}).RoundTrip(newRequest(t, "http://example.com"))
			if err != nil || resp.StatusCode != status || (len(n.sent) == 2) != tt.retried {
				t.Errorf("%s: status %d sent %d times, %v", name, status, len(n.sent), err)
			}
		}
		failure, ok := CheckStatus(status).(*StatusError)
		if ok != byDefault || ok && failure.Code != status {
			t.Errorf("CheckStatus(%d) = %v", status, failure)
		}
	}
}

// What no attempt can change is not retried: the errors of net/http itself.
func TestErrorsThatStay(t *testing.T) {
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	secure.Config.ErrorLog = nil
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	closed := httptest.NewServer(nil)
	closed.Close()
	demanding := httptest.NewUnstartedServer(http.NotFoundHandler())
	demanding.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12}
	demanding.StartTLS()
	defer demanding.Close()
	demanding.Config.ErrorLog = nil
	with := func(change func(*http.Request)) *http.Request {
		req := newRequest(t, plain.URL)
		change(req)
		return req
	}
	trusting := func(version uint16) http.RoundTripper {
		return &http.Transport{TLSClientConfig: &tls.Config{
			InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: version,
		}}
	}
	for name, tt := range map[string]struct {
		base http.RoundTripper
		req  *http.Request
		sent int
	}{
		"scheme":                {nil, newRequest(t, "ftp://example.com"), 1},
		"no host":               {nil, newRequest(t, "http:///path"), 1},
		"method":                {nil, with(func(r *http.Request) { r.Method = "GE T" }), 1},
		"header name":           {nil, with(func(r *http.Request) { r.Header["a b"] = []string{"x"} }), 1},
		"empty header name":     {nil, with(func(r *http.Request) { r.Header[""] = []string{"x"} }), 1},
		"header value":          {nil, with(func(r *http.Request) { r.Header["A"] = []string{"x\ny"} }), 1},
		"trailer":               {nil, with(func(r *http.Request) { r.Trailer = http.Header{"A": {"\x00"}} }), 1},
		"certificate":           {nil, newRequest(t, secure.URL), 1},
		"HTTP instead of HTTPS": {nil, newRequest(t, strings.Replace(plain.URL, "http:", "https:", 1)), 1},
		"no client certificate": {trusting(0), newRequest(t, demanding.URL), 1},
		"the same in TLS 1.2":   {trusting(tls.VersionTLS12), newRequest(t, demanding.URL), 1},
		"an old version of TLS": {trusting(tls.VersionTLS11), newRequest(t, demanding.URL), 1},
		"no server":             {nil, newRequest(t, closed.URL), 3},
	} {
		base := &counting{base: tt.base}
		if tt.base == nil {
			base.base = &http.Transport{}
		}
		policy := &retry.Policy{Schedule: atOnce}
		transport := &Transport{Base: base, Policy: policy, Repeatable: func(*http.Request) bool { return true }}
		resp, err := transport.RoundTrip(tt.req)
		if err == nil {
			_ = resp.Body.Close()
		}
		if err == nil || base.sent != tt.sent {
			t.Errorf("%s: sent %d times, %v; want %d", name, base.sent, err, tt.sent)
		}
	}
}

// A scheme that Base supports is one like any.
func TestOtherSchemes(t *testing.T) {
	n := &network{answers: []any{errRefused, 200}}
	resp, err := (&Transport{Base: n, Policy: &retry.Policy{Schedule: atOnce}}).RoundTrip(newRequest(t, "unix:///socket"))
	if err != nil || resp.StatusCode != 200 || len(n.sent) != 2 {
		t.Errorf("got %v, sent %d times", err, len(n.sent))
	}
}

// A panic or Goexit in Base or in a body gives back the permit of the breaker,
// and ends the context of the attempt.
func TestBaseThatNeverReturns(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("base") }, "Goexit": runtime.Goexit} {
		for where, base := range map[string]http.RoundTripper{
			"base": roundTrip(func(*http.Request) (*http.Response, error) { end(); return nil, nil }),
			"body": roundTrip(func(*http.Request) (*http.Response, error) {
				body := reader(func([]byte) (int, error) { end(); return 0, nil })
				return &http.Response{StatusCode: 503, ContentLength: -1, Body: io.NopCloser(body)}, nil
			}),
		} {
			t.Run(name+" in "+where, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := breaker.New(breaker.Policy{OpenFor: time.Second})
					b.Restore(breaker.Snapshot{State: breaker.HalfOpen})
					seen := &counting{base: base}
					policy := &retry.Policy{
						AttemptTimeout: time.Hour, RetryOn: []retry.Class{retry.ClassAny, retry.ClassBreakerOpen},
					}
					transport := &Transport{Base: seen, Shared: retry.Shared{Breaker: b}, Policy: policy}
					go func() {
						defer func() { _ = recover() }()
						_, _ = transport.RoundTrip(newRequest(t, "http://example.com"))
					}()
					synctest.Wait()
					if seen.ctx.Err() == nil {
						t.Error("the context of the attempt is left")
					}
					if where == "body" {
						return // the probe has failed
					}
					transport.Base = &network{answers: []any{200}}
					if _, err := transport.RoundTrip(newRequest(t, "http://example.com")); err != nil ||
						b.State() != breaker.Closed {
						t.Errorf("the next probe: %v, breaker %v", err, b.State())
					}
				})
			})
		}
	}
}

type reader func([]byte) (int, error)

func (r reader) Read(p []byte) (int, error) { return r(p) }

// An attempt ends when its body has been read, and at once if there is none.
func TestAttemptEndsWithTheBody(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/none":
			w.WriteHeader(http.StatusNoContent)
		default:
			_, _ = io.WriteString(w, "text")
		}
	}))
	defer server.Close()
	for _, tt := range []struct {
		method, path string
		end          func(io.ReadCloser)
	}{
		{"GET", "/none", func(io.ReadCloser) {}},
		{"HEAD", "/", func(io.ReadCloser) {}},
		{"GET", "/", func(b io.ReadCloser) { _, _ = io.ReadAll(b) }},
		{"GET", "/", func(b io.ReadCloser) { _ = b.Close() }},
	} {
		base := &counting{base: http.DefaultTransport}
		req := newRequest(t, server.URL+tt.path)
		req.Method = tt.method
		resp, err := (&Transport{Base: base, Policy: &retry.Policy{AttemptTimeout: time.Hour}}).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, limited := base.ctx.Deadline(); !limited {
			t.Error("the attempt has no limit")
		}
		tt.end(resp.Body)
		if base.ctx.Err() == nil {
			t.Errorf("%s %s: the context of the attempt is left", tt.method, tt.path)
		}
		_ = resp.Body.Close()
	}
}

// The connection of a short response that is not returned is used again.
func TestConnectionIsReused(t *testing.T) {
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var size int
		_, _ = fmt.Sscan(r.URL.Query().Get("size"), &size)
		if r.URL.Path != "/chunked" {
			w.Header().Set("Content-Length", fmt.Sprint(size))
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		w.(http.Flusher).Flush()
		_, _ = io.WriteString(w, strings.Repeat("x", size))
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	for path, want := range map[string]int32{
		"/?size=0": 1, "/?size=4": 1, fmt.Sprint("/?size=", maxDrainBytes): 1, fmt.Sprint("/?size=", maxDrainBytes+1): 3,
		"/chunked?size=4": 1, fmt.Sprint("/chunked?size=", 2*maxDrainBytes): 3,
	} {
		connections.Store(0)
		base := &http.Transport{}
		resp, err := (&Transport{Base: base,
			Policy: &retry.Policy{Schedule: atOnce}}).RoundTrip(newRequest(t, server.URL+path))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		base.CloseIdleConnections()
		if got := connections.Load(); got != want {
			t.Errorf("%s: %d connections for 3 attempts, want %d", path, got, want)
		}
	}
}

// hidden is a body without the Close of the one inside. It fails if two
// goroutines use it at a time, under the race detector.
type hidden struct {
	io.Reader
	uses int
}

func (h *hidden) Read(p []byte) (int, error) {
	h.uses++
	n, err := h.Reader.Read(p)
	h.uses++
	return n, err
}

func (h *hidden) Close() error { h.uses++; return nil }

// A body that stalls is waited for no longer than the limit, also where its
// Close does nothing: 502 ms before.
func TestWrappedBodyThatStalls(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "begin")
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
		case <-time.After(5 * time.Second):
		}
	}))
	defer server.Close()
	base := roundTrip(func(r *http.Request) (*http.Response, error) {
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err == nil {
			resp.Body = &hidden{Reader: resp.Body}
		}
		return resp, err
	})
	start := time.Now()
	resp, err := (&Transport{Base: base, Policy: &retry.Policy{Schedule: atOnce}}).RoundTrip(newRequest(t, server.URL))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if took := time.Since(start); took > time.Second {
		t.Errorf("3 attempts took %v, want about %v", took, 2*maxDrainTime)
	}
}

// A body that trickles is not read to its end.
func TestBodyThatTrickles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := roundTrip(func(*http.Request) (*http.Response, error) {
			trickle := reader(func(p []byte) (int, error) { time.Sleep(20 * time.Millisecond); return 1, nil })
			return &http.Response{StatusCode: 503, ContentLength: -1, Body: &hidden{Reader: trickle}}, nil
		})
		start := time.Now()
		transport := &Transport{Base: base, Policy: &retry.Policy{Schedule: atOnce}}
		if _, err := transport.RoundTrip(newRequest(t, "http://example.com")); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took > 2*(maxDrainTime+20*time.Millisecond) {
			t.Errorf("3 attempts took %v", took)
		}
	})
}

// Without Retry-After, the fields about a quota that is used up are hints.
func TestQuotaIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := after(429, "")
		busy.Header = http.Header{"Ratelimit": {`"minute";r=0;t=40`}}
		start := time.Now()
		resp, err := (&Transport{Base: &network{answers: []any{busy, 200}}}).RoundTrip(newRequest(t, "http://example.com"))
		if err != nil || resp.StatusCode != 200 || time.Since(start) != 40*time.Second {
			t.Errorf("got %v after %v, want 40s", err, time.Since(start))
		}
	})
}

// The errors of RoundTrip keep their types, and what is permanent comes
// unmarked.
func TestErrorsKeepTheirTypes(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	server.Config.ErrorLog = nil
	_, err := (&http.Client{Transport: &Transport{Base: &http.Transport{}}}).Get(server.URL)
	if _, ok := errors.AsType[*url.Error](err); !ok {
		t.Errorf("got %T", err)
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](errors.Unwrap(err)); !ok {
		t.Errorf("got %T", errors.Unwrap(err))
	}
}

// TestFieldCharacters: what RFC 9110 allows in names and values of fields.
func TestFieldCharacters(t *testing.T) {
	const tokens = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	for r := range rune(0x180) {
		name, value := "X"+string(r), "x"+string(r)
		if got, want := validFields(http.Header{name: {"x"}}), strings.ContainsRune(tokens, r); got != want {
			t.Errorf("a name with %q is valid: %v, want %v", r, got, want)
		}
		want := r == '\t' || r >= ' ' && r != 0x7f
		if got := validFields(http.Header{"X": {"x", value}}); got != want {
			t.Errorf("a value with %q is valid: %v, want %v", r, got, want)
		}
	}
	if validFields(http.Header{"": {"x"}}) {
		t.Error("an empty name is valid")
	}
	if !validFields(http.Header{"X": {""}, "Y": nil}) {
		t.Error("an empty value is not valid")
	}
}

// A server that closes the connection before it answers is a failure of the
// network, which http.Transport reports as a bare io.EOF.
func TestServerThatClosesBeforeItAnswers(t *testing.T) {
	var closed atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		closed.Add(1)
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	for _, tt := range []struct {
		method string
		class  retry.Class
		sent   int32
	}{
		{http.MethodGet, retry.ClassTransient, 3},
		{http.MethodGet, retry.ClassNetwork, 3},
		{http.MethodGet, retry.ClassServerError, 1},
		{http.MethodPost, retry.ClassNetwork, 1},
	} {
		for _, base := range map[string]http.RoundTripper{
			"new connections": &http.Transport{DisableKeepAlives: true},
			"any connections": &http.Transport{},
		} {
			b := breaker.New(breaker.Policy{Failures: int(tt.sent)})
			policy := &retry.Policy{Schedule: atOnce, RetryOn: []retry.Class{tt.class}, MatchText: retry.MatchNone}
			req := newRequest(t, server.URL)
			req.Method = tt.method
			closed.Store(0)
			_, err := (&Transport{Base: base, Policy: policy, Shared: retry.Shared{Breaker: b}}).RoundTrip(req)
			if !errors.Is(err, io.EOF) || closed.Load() != tt.sent || b.State() != breaker.Open {
				t.Errorf("%s on %s: sent %d times, breaker %v, %v; want %d, an open breaker and EOF", tt.method, tt.class,
					closed.Load(), b.State(), err, tt.sent)
			}
			if retried := tt.sent > 1; retried == (err == io.EOF) {
				t.Errorf("%s on %s: got %#v; io.EOF itself is for a request that was sent once", tt.method, tt.class, err)
			}
		}
	}
}
