package httpretry

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	retry "github.com/retrygen/retrygen/runtime"
)

// counted counts how often a body is opened and closed.
type counted struct{ opened, closed int }

func (c *counted) get() (io.ReadCloser, error) {
	c.opened++
	return &countedBody{strings.NewReader("body"), c}, nil
}

type countedBody struct {
	io.Reader
	*counted
}

func (b *countedBody) Close() error { b.closed++; return nil }

func request(t *testing.T, body io.Reader) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "PUT", "http://example.com", body)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func TestRepeat(t *testing.T) {
	var c counted
	req := request(t, io.NopCloser(strings.NewReader("")))
	req.GetBody = c.get
	call := new(retry.Policy).Begin()
	for n := 1; n <= 3; n++ {
		before := req
		if req = Repeat(&call, req); req == before || req.Context() != before.Context() {
			t.Fatal("Repeat has not copied the request")
		}
		if c.opened != n-1 {
			t.Errorf("%d: the body is open before it is read", n)
		}
		if text, err := io.ReadAll(req.Body); string(text) != "body" || err != nil {
			t.Errorf("%d: got %q, %v", n, text, err)
		}
		if err := errors.Join(req.Body.Close(), req.Body.Close()); err != nil || c.closed != n {
			t.Errorf("%d: closed %d bodies, %v", n, c.closed, err)
		}
	}
}

func TestRepeatUnread(t *testing.T) {
	var c counted
	req := request(t, nil)
	req.Body, req.GetBody = io.NopCloser(strings.NewReader("")), c.get
	call := new(retry.Policy).Begin()
	again := Repeat(&call, req)
	if err := again.Body.Close(); err != nil || c.opened != 0 {
		t.Errorf("an unread body: opened %d, %v", c.opened, err)
	}
	if _, err := again.Body.Read(make([]byte, 1)); err != http.ErrBodyReadAfterClose {
		t.Errorf("a read after Close: %v", err)
	}
	broken := errors.New("gone")
	req.GetBody = func() (io.ReadCloser, error) { return nil, broken }
	if _, err := io.ReadAll(Repeat(&call, req).Body); err != broken {
		t.Errorf("got %v, want the error of GetBody", err)
	}
}

func TestRepeatWithoutBody(t *testing.T) {
	once := request(t, io.MultiReader())
	for _, test := range []struct {
		req   *http.Request
		spent bool
	}{{nil, false}, {request(t, nil), false}, {request(t, http.NoBody), false}, {once, true}} {
		call := (&retry.Policy{RetryUnknown: true, Schedule: retry.Schedule{InitialDelay: retry.None}}).Begin()
		if again := Repeat(&call, test.req); again != test.req {
			t.Error("a request without a body that can be read again was copied")
		}
		if err := call.Next(t.Context(), io.EOF); errors.Is(err, retry.ErrSpent) != test.spent {
			t.Errorf("got %v, spent: %v", err, test.spent)
		}
	}
}

func TestRenew(t *testing.T) {
	var c counted
	req := request(t, io.NopCloser(strings.NewReader("")))
	req.GetBody = c.get
	again, err := Renew(req, io.EOF)
	if text, readErr := io.ReadAll(again.Body); string(text) != "body" || readErr != nil || err != io.EOF {
		t.Errorf("got %q, %v and the error %v, want the body and the error of the attempt", text, readErr, err)
	}
	req.GetBody = nil
	if _, err := Renew(req, io.EOF); !errors.Is(err, retry.ErrSpent) || !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want ErrSpent and the error of the attempt", err)
	}
}
