package httpretry

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
)

// network answers requests from a list, and keeps what it was sent.
type network struct {
	answers []any // a status, a *http.Response, or an error
	sent    []string
	keys    []string
	opened  []*openBody
}

type openBody struct {
	io.Reader
	closed bool
}

func (b *openBody) Close() error { b.closed = true; return nil }

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	text := ""
	if r.Body != nil {
		all, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		text = string(all)
		_ = r.Body.Close()
	}
	n.sent, n.keys = append(n.sent, text), append(n.keys, r.Header.Get(keyHeader))
	answer := n.answers[0]
	if len(n.answers) > 1 {
		n.answers = n.answers[1:]
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	switch a := answer.(type) {
	case error:
		return nil, a
	case int:
		answer = &http.Response{StatusCode: a, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("body"))}
	}
	resp := *answer.(*http.Response)
	b := &openBody{Reader: resp.Body}
	resp.Body = b
	n.opened = append(n.opened, b)
	return &resp, nil
}

func after(status int, value string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Retry-After": {value}},
		Body: io.NopCloser(strings.NewReader("busy"))}
}

var errRefused = errors.New("connection refused")

func TestTransport(t *testing.T) {
	future := time.Date(2000, 1, 1, 0, 0, 20, 0, time.UTC).Format(http.TimeFormat)
	for _, tt := range []struct {
		name    string
		method  string
		body    io.Reader
		answers []any
		policy  retry.Policy
		status  int // 0: an error
		sent    int
		waited  time.Duration
	}{
		{"success", "GET", nil, []any{200}, retry.Policy{}, 200, 1, 0},
		{"second attempt", "GET", nil, []any{503, 200}, retry.Policy{}, 200, 2, time.Second},
		{"network error", "GET", nil, []any{errRefused, 200}, retry.Policy{}, 200, 2, time.Second},
		{"exhausted with a response", "GET", nil, []any{503}, retry.Policy{}, 503, 3, 3 * time.Second},
		{"exhausted with an error", "GET", nil, []any{errRefused}, retry.Policy{}, 0, 3, 3 * time.Second},
		{"not retried", "GET", nil, []any{404}, retry.Policy{}, 404, 1, 0},
		{"not retried, whatever it asks for", "GET", nil, []any{after(404, "7")}, retry.Policy{}, 404, 1, 0},
		{"never implemented", "GET", nil, []any{501}, retry.Policy{RetryOn: []retry.Class{retry.ClassServerError}}, 501, 1,
			0},
		{"body sent again", "PUT", strings.NewReader("data"), []any{503, 503, 200}, retry.Policy{}, 200, 3, 3 * time.Second},
		{"body that cannot be", "PUT", io.MultiReader(strings.NewReader("data")), []any{503}, retry.Policy{}, 503, 1, 0},
		{"go-retryablehttp: POST", "POST", strings.NewReader("data"), []any{503}, retry.Policy{}, 503, 1, 0},
		{"seconds", "GET", nil, []any{after(429, "7"), 200}, retry.Policy{}, 200, 2, 7 * time.Second},
		{"failsafehttp: a date", "GET", nil, []any{after(503, future), 200}, retry.Policy{}, 200, 2, 20 * time.Second},
		{"failsafehttp, go-retryablehttp: a day is capped", "GET", nil, []any{after(429, "86400"), 200}, retry.Policy{}, 200,
			2, 5 * time.Minute},
		{"a day is too much", "GET", nil, []any{after(429, "86400"), 200},
			retry.Policy{RetryUnknown: true,
				Schedule: retry.Schedule{RetryAfter: retry.RetryAfter{FailOver: true}}}, 429, 1, 0},
		{"unreadable", "GET", nil, []any{after(429, "soon"), 200}, retry.Policy{}, 200, 2, time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &network{answers: tt.answers}
				req, err := http.NewRequestWithContext(t.Context(), tt.method, "http://example.com", tt.body)
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				resp, err := (&Transport{Base: n, Policy: &tt.policy}).RoundTrip(req)
				status := 0
				if resp != nil {
					status = resp.StatusCode
					if text, err := io.ReadAll(resp.Body); len(text) != 4 || err != nil {
						t.Errorf("the body is %q, %v", text, err)
					}
					_ = resp.Body.Close()
				}
				if status != tt.status || (err == nil) != (status != 0) || len(n.sent) != tt.sent ||
					time.Since(start) != tt.waited {
					t.Errorf("status %d, error %v, %d sent in %v; want %d, %d in %v", status, err, len(n.sent), time.Since(start),
						tt.status, tt.sent, tt.waited)
				}
				if tt.body != nil && slices.ContainsFunc(n.sent, func(s string) bool { return s != "data" }) {
					t.Errorf("sent %q", n.sent)
				}
				for i, b := range n.opened {
					if !b.closed {
						t.Errorf("the body of response %d is not closed", i)
					}
				}
			})
		})
	}
}

func TestKey(t *testing.T) {
	n := &network{answers: []any{503, 200}}
	ctx := retry.WithIdempotencyKey(t.Context(), "k1")
	req, err := http.NewRequestWithContext(ctx, "POST", "http://example.com", strings.NewReader("data"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&Transport{Base: n,
		Policy: &retry.Policy{RetryUnknown: true, Schedule: retry.Schedule{InitialDelay: retry.None}}}).RoundTrip(req)
	if err != nil || resp.StatusCode != 200 || !slices.Equal(n.keys, []string{"k1", "k1"}) ||
		req.Header.Get(keyHeader) != "" {
		t.Errorf("got %v, keys %q; the caller's header is %v", err, n.keys, req.Header)
	}
}

// The attempt's limit covers the body, and ends with it.
func TestBodyUnderALimit(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			_, _ = io.WriteString(w, "begin")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
	}))
	defer server.Close()
	client := &http.Client{
		Transport: &Transport{Policy: &retry.Policy{AttemptTimeout: 200 * time.Millisecond,
			Schedule: retry.Schedule{MaxAttempts: 1}}}}
	get := func(path string) (int, error) {
		resp, err := client.Get(server.URL + path)
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return len(text), err
	}
	if n, err := get("/"); n != 1<<20 || err != nil {
		t.Errorf("read %d bytes, %v", n, err)
	}
	if _, err := get("/slow"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the limit to end the reading", err)
	}
}

func TestOpenBreakerClosesTheBody(t *testing.T) {
	b := breaker.New(breaker.Policy{})
	b.Restore(breaker.Snapshot{State: breaker.Escalated})
	body := &openBody{Reader: strings.NewReader("data")}
	req, err := http.NewRequestWithContext(t.Context(), "PUT", "http://example.com", body)
	if err != nil {
		t.Fatal(err)
	}
	req.GetBody = func() (io.ReadCloser, error) { return body, nil }
	if _, err := (&Transport{Shared: retry.Shared{Breaker: b}}).RoundTrip(req); !errors.Is(err, retry.ErrBreakerOpen) ||
		!body.closed {
		t.Errorf("got %v, body closed: %v", err, body.closed)
	}
}

// A breaker counts what its policy says, whether the request is retried or not.
func TestBreakerCounts(t *testing.T) {
	for _, tt := range []struct {
		name   string
		method string
		body   io.Reader
		answer any
		retry  []retry.Class
		count  []string
		opens  bool
	}{
		{"retried", "GET", nil, 503, nil, nil, true},
		{"a status that is not retried", "GET", nil, 503, []retry.Class{retry.ClassNetwork},
			[]string{string(retry.ClassServerError)}, true},
		{"a method that is not", "POST", strings.NewReader("data"), 503, nil, nil, true},
		{"a body that cannot be", "PUT", io.MultiReader(strings.NewReader("data")), errRefused, nil, nil, true},
		{"the caller's mistake", "GET", nil, 404, nil, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := breaker.New(breaker.Policy{Failures: 1, Count: tt.count})
			transport := &Transport{
				Base: &network{answers: []any{tt.answer}}, Shared: retry.Shared{Breaker: b},
				Policy: &retry.Policy{RetryUnknown: true, Schedule: retry.Schedule{MaxAttempts: 1}, RetryOn: tt.retry},
			}
			req, err := http.NewRequestWithContext(t.Context(), tt.method, "http://example.com", tt.body)
			if err != nil {
				t.Fatal(err)
			}
			if resp, err := transport.RoundTrip(req); err == nil {
				_ = resp.Body.Close()
			}
			if opened := b.State() == breaker.Open; opened != tt.opens {
				t.Errorf("the breaker is %v", b.State())
			}
			if _, err := transport.RoundTrip(req); errors.Is(err, retry.ErrBreakerOpen) != tt.opens {
				t.Errorf("the next request: %v", err)
			}
		})
	}
}

// What cannot be sent twice has the same limits on time.
func TestLimitOfPost(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer server.Close()
	client := &http.Client{Transport: &Transport{Policy: &retry.Policy{AttemptTimeout: 50 * time.Millisecond}}}
	resp, err := client.Post(server.URL, "text/plain", nil)
	if err == nil {
		_ = resp.Body.Close()
	}
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, retry.ErrAttemptTimeout) {
		t.Errorf("got %v", err)
	}
}

// The body of a response 101 is a connection.
func TestUpgrade(t *testing.T) {
	type connection struct {
		io.Reader
		io.Writer
		io.Closer
	}
	var written strings.Builder
	resp := &http.Response{StatusCode: http.StatusSwitchingProtocols,
		Body: connection{strings.NewReader("out"), &written, io.NopCloser(nil)}}
	base := roundTrip(func(*http.Request) (*http.Response, error) { return resp, nil })
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := (&Transport{Base: base}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	if _, err := io.WriteString(got.Body.(io.Writer), "in"); err != nil || written.String() != "in" {
		t.Errorf("wrote %q, %v", written.String(), err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestCallerGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		n := &network{answers: []any{503}}
		req, err := http.NewRequestWithContext(ctx, "GET", "http://example.com", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := (&Transport{Base: n}).RoundTrip(req)
		if resp == nil || resp.StatusCode != 503 || err != nil || len(n.sent) != 2 {
			t.Errorf("got %v, %v after %d; want the last response, since no wait fits", resp, err, len(n.sent))
		}
	})
}

// What is given up on can be read to its end, under a limit too.
func TestLastResponseIsWhole(t *testing.T) {
	const size = 4 * maxDrainBytes
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, strings.Repeat("x", size))
	}))
	defer server.Close()
	policy := &retry.Policy{AttemptTimeout: time.Minute,
		Schedule: retry.Schedule{MaxAttempts: 2, InitialDelay: retry.None}}
	resp, err := (&http.Client{Transport: &Transport{Policy: policy}}).Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); len(text) != size || err != nil {
		t.Errorf("read %d bytes, %v; want %d", len(text), err, size)
	}
}

// A response whose body does not end is neither waited for before a retry nor
// withheld from the caller.
func TestBodyThatStalls(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "begin")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	client := &http.Client{
		Transport: &Transport{Policy: &retry.Policy{RetryUnknown: true,
			Schedule: retry.Schedule{MaxAttempts: 3, InitialDelay: retry.None}}}}
	resp, err := client.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	start := make([]byte, 5)
	if _, err := io.ReadFull(resp.Body, start); err != nil || string(start) != "begin" ||
		resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("status %d, %q, %v", resp.StatusCode, start, err)
	}
	_ = resp.Body.Close()
	client.CloseIdleConnections()
}

// A response of which no attempt is left is an error: its context has ended.
func TestBreakerOpensInTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Policy{Failures: 2})
		n := &network{answers: []any{503}}
		time.AfterFunc(500*time.Millisecond, func() { b.Restore(breaker.Snapshot{State: breaker.Escalated}) })
		req, err := http.NewRequestWithContext(t.Context(), "GET", "http://example.com", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := (&Transport{Base: n, Shared: retry.Shared{Breaker: b},
			Policy: &retry.Policy{AttemptTimeout: time.Minute}}).RoundTrip(req)
		var last *StatusError
		if resp != nil || !errors.Is(err, retry.ErrBreakerOpen) || !errors.As(err, &last) || len(n.sent) != 1 ||
			!n.opened[0].closed {
			t.Errorf("got %v, %v after %d", resp, err, len(n.sent))
		}
	})
}

// What fakes return is taken as http.Client takes it.
func TestBaseWithoutBody(t *testing.T) {
	for _, status := range []int{200, 503} {
		base := roundTrip(func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: status}, nil })
		resp, err := (&http.Client{Transport: &Transport{Base: base,
			Policy: &retry.Policy{RetryUnknown: true,
				Schedule: retry.Schedule{InitialDelay: retry.None}}}}).Get("http://example.com")
		if err != nil || resp.StatusCode != status {
			t.Fatalf("got %v, %v", resp, err)
		}
		_ = resp.Body.Close()
	}
	nothing := roundTrip(func(*http.Request) (*http.Response, error) { return nil, nil })
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := (&Transport{Base: nothing}).RoundTrip(req); resp != nil || err == nil {
		t.Errorf("got %v, %v", resp, err)
	}
}

// Bodies may be closed by several goroutines, as net/http's may.
func TestBodyIsClosedTwice(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	resp, err := (&http.Client{Transport: &Transport{Policy: &retry.Policy{AttemptTimeout: time.Minute}}}).Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { _ = resp.Body.Close() })
	}
	both.Wait()
}

// A timeout is one to those that ask net/url.
func TestTimeout(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer server.Close()
	client := &http.Client{
		Transport: &Transport{Policy: &retry.Policy{AttemptTimeout: 20 * time.Millisecond,
			Schedule: retry.Schedule{InitialDelay: retry.None}}}}
	_, err := client.Get(server.URL)
	if timeout, ok := err.(*url.Error); !ok || !timeout.Timeout() || !os.IsTimeout(err) {
		t.Errorf("got %v", err)
	}
}
