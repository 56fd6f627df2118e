package retry

import (
	"crypto/tls"
	sqldriver "database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// frame returns a frame of HTTP/2 (RFC 9113, section 4.1) whose payload is a list of
// 32-bit numbers.
func frame(kind byte, stream uint32, payload ...uint32) []byte {
	f := binary.BigEndian.AppendUint32([]byte{0, 0, byte(4 * len(payload)), kind, 0}, stream)
	for _, n := range payload {
		f = binary.BigEndian.AppendUint32(f, n)
	}
	return f
}

// answerHTTP2 listens for one request over HTTP/2, whose body ends in "end", and
// answers it with frames.
func answerHTTP2(t *testing.T, frames ...[]byte) (url string) {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS() // for its certificate
	certificates := s.TLS.Certificates
	s.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: certificates, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		const settings = 4
		_, _ = c.Write(frame(settings, 0))
		var got []byte
		for buf := make([]byte, 1<<10); !strings.Contains(string(got), "end"); {
			n, err := c.Read(buf)
			if err != nil {
				return
			}
			got = append(got, buf[:n]...)
		}
		_, _ = c.Write(slices.Concat(frames...))
		_, _ = io.Copy(io.Discard, c) // until the client has closed the connection
	}()
	return "https://" + l.Addr().String()
}

// Servers end streams and connections of HTTP/2 in several ways. net/http has
// types for some of them only.
func TestClosedHTTP2(t *testing.T) {
	const reset, goAway, windowUpdate = 3, 7, 8
	p := &Policy{RetryOn: []Class{ClassNetwork}, MatchText: MatchNone}
	for name, answer := range map[string][]byte{
		"a graceful shutdown":                frame(goAway, 0, 0, 0),
		"a shutdown after an error":          frame(goAway, 0, 0, 2),
		"a shutdown that names the request":  append(frame(goAway, 0, 1, 11), frame(windowUpdate, 0, 0)...),
		"a stream that was reset":            frame(reset, 1, 2),
		"a stream that was refused":          frame(reset, 1, 7),
		"a frame that violates the protocol": frame(windowUpdate, 0, 0),
	} {
		t.Run(name, func(t *testing.T) {
			transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
			defer transport.CloseIdleConnections()
			body := io.MultiReader(strings.NewReader("end")) // which cannot be sent again
			resp, err := (&http.Client{Transport: transport}).Post(answerHTTP2(t, answer), "", body)
			if err == nil {
				_ = resp.Body.Close()
				t.Fatal("the request has succeeded")
			}
			if !p.Retries(err) {
				t.Errorf("%v is no network error", err)
			}
		})
	}
}

// A connection that has closed before the request is reported by a text only.
func TestClosedBeforeTheRequest(t *testing.T) {
	p := &Policy{RetryOn: []Class{ClassNetwork}, MatchText: MatchNone}
	for text, want := range map[string]bool{
		"http: server closed idle connection": true,
		"http2: client conn not usable":       true,
		"http2: client connection lost":       true,
		"http2: stream closed":                false, // by the client
		"http: nil Request.URL":               false,
		"closed: http2: client conn":          false,
	} {
		err := &url.Error{Op: "Post", URL: "https://example.com", Err: errors.New(text)}
		if got := p.Retries(err); got != want {
			t.Errorf("%v is a network error: %v", err, got)
		}
	}
}

// A connection to a database that cannot be used is reported by a variable of a
// package that this one does not import.
func TestBadConnection(t *testing.T) {
	p := &Policy{RetryOn: []Class{ClassNetwork}, MatchText: MatchNone}
	if err := fmt.Errorf("query: %w", sqldriver.ErrBadConn); !p.Retries(err) {
		t.Errorf("%v is no network error", err)
	}
}
