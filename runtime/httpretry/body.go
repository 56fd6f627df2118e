package httpretry

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// Limits of what is read of a response before the next attempt, so that its
// connection can be reused. A longer or slower body costs the connection.
const (
	mostRead = 64 << 10
	readTime = 50 * time.Millisecond
)

// discard releases a response that is not returned, and its connection. The
// body is read and closed by this goroutine alone, since bodies need not be
// safe for others. It is the context that ends a Read of a body that stalls.
func (x *exchange) discard() {
	if x.resp == nil {
		return
	}
	resp := x.resp
	x.resp = nil
	if resp.ContentLength != 0 && resp.ContentLength <= mostRead {
		timer := time.AfterFunc(readTime, x.cancel)
		drain(resp.Body)
		timer.Stop()
	}
	_ = resp.Body.Close()
	x.cancel() // a body that Close does not reach ends here
}

// drain reads a body within the limits.
func drain(body io.Reader) {
	start := time.Now()
	buf := make([]byte, 4<<10)
	for read := 0; read <= mostRead && time.Since(start) < readTime; {
		n, err := body.Read(buf)
		if err != nil {
			return
		}
		read += n
	}
}

// hasBody reports whether there is something to read of a response.
func hasBody(resp *http.Response, req *http.Request) bool {
	switch {
	case resp.Body == http.NoBody, req.Method == http.MethodHead,
		resp.StatusCode == http.StatusNoContent, resp.StatusCode == http.StatusNotModified:
		return false
	}
	return true
}

// A body ends its attempt when the caller has read or closed it.
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

// A connection is the body of a response 101, which can be written to. It may
// be written to after it has been read to its end.
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

// endWith returns a body that calls end once, after it has been read or closed.
func endWith(b io.ReadCloser, end func()) io.ReadCloser {
	end = sync.OnceFunc(end)
	if c, ok := b.(io.ReadWriteCloser); ok {
		return &connection{c, end}
	}
	return &body{b, end}
}
