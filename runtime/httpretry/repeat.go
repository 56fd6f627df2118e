package httpretry

import (
	"errors"
	"io"
	"net/http"
	"sync"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/genapi"
)

// errBody is why a request cannot be sent again.
var errBody = errors.New("the request has a body and no GetBody to read it again")

// Repeat returns the request to send after a failed attempt at req. This is req itself if
// it has no body, and otherwise a copy with a body from GetBody. If there is no GetBody,
// the attempt was the call's last one: see [retry.Call.Spend]. Repeat does not change
// req. Only generated code calls it.
func Repeat(call *retry.Call, req *http.Request) *http.Request {
	again, cause := repeat(req)
	call.Spend(cause)
	return again
}

// Renew is like Repeat, for an attempt at req that failed with err, and also returns err.
// If the body cannot be read again, it returns the error of [genapi.Spent] instead. Only
// generated code for durable steps calls it.
func Renew(req *http.Request, err error) (*http.Request, error) {
	again, cause := repeat(req)
	return again, genapi.Spent(err, cause)
}

// repeat returns the request to send after an attempt at req, or req and the reason
// why it cannot be sent again.
func repeat(req *http.Request) (*http.Request, error) {
	switch {
	case req == nil || req.Body == nil || req.Body == http.NoBody:
		return req, nil
	case req.GetBody == nil:
		return req, errBody
	}
	again := req.WithContext(req.Context())
	again.Body = &lazyBody{get: req.GetBody}
	return again, nil
}

// A lazyBody is a body of a request that is opened when it is first read, since
// there may be no further attempt. It may be closed while it is read.
type lazyBody struct {
	get func() (io.ReadCloser, error)

	mu     sync.Mutex
	body   io.ReadCloser // nil until it is opened
	closed bool
}

// Read opens the body if necessary, and reads from it.
func (b *lazyBody) Read(p []byte) (int, error) {
	body, err := b.open()
	if err != nil {
		return 0, err
	}
	return body.Read(p)
}

// open returns the body, which it opens on the first call.
func (b *lazyBody) open() (io.ReadCloser, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, http.ErrBodyReadAfterClose
	}
	if b.body == nil {
		body, err := b.get()
		if err != nil {
			return nil, err
		}
		b.body = body
	}
	return b.body, nil
}

// Close closes the body if it is open.
func (b *lazyBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.body == nil {
		b.closed = true
		return nil
	}
	b.closed = true
	return b.body.Close()
}
