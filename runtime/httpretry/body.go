package httpretry

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// A response is read within these limits before the next attempt, so that its
// connection can be reused. The connection of a longer or slower body is closed.
const (
	maxDrainBytes = 64 << 10
	maxDrainTime  = 50 * time.Millisecond
)

// discard releases a response that is not returned, and its connection. Only this
// goroutine reads and closes the body, since bodies need not be safe for
// concurrent use. A Read that blocks ends with the context of the attempt.
func (x *exchange) discard() {
	if x.resp == nil {
		return
	}
	resp := x.resp
	x.resp = nil
	if resp.ContentLength != 0 && resp.ContentLength <= maxDrainBytes {
		timer := time.AfterFunc(maxDrainTime, x.cancel)
		drain(resp.Body)
		timer.Stop()
	}
	_ = resp.Body.Close()
	x.cancel() // ends a body whose Close does not end it
}

// drain reads a body within the limits.
func drain(body io.Reader) {
	start := time.Now()
	buf := make([]byte, 4<<10)
	for read := 0; read <= maxDrainBytes && time.Since(start) < maxDrainTime; {
		n, err := body.Read(buf)
		if err != nil {
			return
		}
		read += n
	}
}

// hasBody reports whether a response has a body to read.
func hasBody(resp *http.Response, req *http.Request) bool {
	switch {
	case resp.Body == http.NoBody, req.Method == http.MethodHead,
		resp.StatusCode == http.StatusNoContent, resp.StatusCode == http.StatusNotModified:
		return false
	}
	return true
}

// A body is the body of a response. It ends the attempt when the caller has read
// or closed it.
type body struct {
	io.ReadCloser
	end func()
}

// Read reads from the body, and ends the attempt at its end.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.end()
	}
	return n, err
}

// Close closes the body and ends its attempt.
func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.end()
	return err
}

// A connection is the body of a response with status 101 (Switching Protocols),
// which can be written to. The end of reading does not end it.
type connection struct {
	io.ReadWriteCloser
	end func()
}

// Close closes the connection and ends its attempt.
func (c *connection) Close() error {
	err := c.ReadWriteCloser.Close()
	c.end()
	return err
}

// endWith returns b as a body that calls end once, after it has been read to its
// end or closed.
func endWith(b io.ReadCloser, end func()) io.ReadCloser {
	end = sync.OnceFunc(end)
	if c, ok := b.(io.ReadWriteCloser); ok {
		return &connection{c, end}
	}
	return &body{b, end}
}
