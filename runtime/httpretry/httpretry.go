// Package httpretry retries HTTP requests: a [Transport] is an
// http.RoundTripper under a policy of package retry.
//
//	client := &http.Client{Transport: &httpretry.Transport{
//		Policy: &retry.Policy{
//			Name: "api", AttemptTimeout: 5 * time.Second,
//			Schedule: retry.Schedule{MaxAttempts: 4, Jitter: retry.JitterFull},
//		},
//	}}
//
// It repeats what may be repeated, with the body of the request sent again from
// its beginning, waits as long as Retry-After asks for, and gives back the
// connections of responses that it does not return.
package httpretry

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// A Transport is an http.RoundTripper that retries. Its fields must not be
// changed once it is in use; it may then be used by any number of goroutines.
//
// A response with a status of 400 or more is a failure: of class server_error,
// rate_limit, one of the policy's own, permanent, or none, as 409. The breaker and observers
// are told of it, and it is retried if the policy says so. A response that is
// not retried, and the last one of a request that is given up on, are returned:
// as any RoundTripper, a Transport returns an error where it has no response.
//
// The policy's time limits cover the reading of the body, until it is closed.
type Transport struct {
	// Base makes the requests. Nil means http.DefaultTransport.
	Base http.RoundTripper
	// Policy says when to try again. Nil means the zero Policy, with its
	// defaults.
	Policy *retry.Policy
	// Shared is what the requests share with other calls.
	Shared retry.Shared
	// Repeatable reports whether a request may be sent twice. Nil means
	// [Idempotent].
	Repeatable func(*http.Request) bool
}

// Idempotent reports whether a request may be sent twice: its method says so
// (GET, HEAD, OPTIONS, TRACE, PUT, DELETE: RFC 9110, section 9.2.2), it has a
// header Idempotency-Key, or its context has a key (see
// [retry.IdempotencyKey]), which a Transport puts into that header.
func Idempotent(r *http.Request) bool {
	switch r.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return r.Header.Get(keyHeader) != "" || retry.IdempotencyKey(r.Context()) != ""
}

const keyHeader = "Idempotency-Key"

// A StatusError is the failure that a response stands for.
type StatusError struct{ Code int }

// Error names the status.
func (e *StatusError) Error() string {
	return fmt.Sprintf("status %d %s", e.Code, http.StatusText(e.Code))
}

// StatusCode returns the status, by which policies classify the error.
func (e *StatusError) StatusCode() int { return e.Code }

// RoundTrip sends a request until it succeeds or the policy gives up. A request
// that must not be sent twice, or whose body cannot be (it has no GetBody), is
// sent once, under the policy's time limits and the breaker.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	policy := t.Policy
	if policy == nil {
		policy = new(retry.Policy)
	}
	if !t.mayRepeat(req) {
		once := *policy
		once.MaxAttempts, once.PerError = 1, nil
		policy = &once
	}
	call := policy.BeginWith(t.Shared)
	x := &exchange{Transport: t, req: withKey(req), policy: policy, call: &call}
	call.BeforeWait(x.discard)
	if err := x.send(); err != nil {
		call.End()
		return nil, err
	}
	// The context of the attempt lives as long as its body is read.
	x.resp.Body = endWith(x.resp.Body, call.End)
	return x.resp, nil
}

// CloseIdleConnections closes those of Base, if it can: http.Client asks for it.
func (t *Transport) CloseIdleConnections() {
	if base, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

func (t *Transport) mayRepeat(req *http.Request) bool {
	if hasBody := req.Body != nil && req.Body != http.NoBody; hasBody && req.GetBody == nil {
		return false
	}
	if t.Repeatable != nil {
		return t.Repeatable(req)
	}
	return Idempotent(req)
}

func (t *Transport) base() http.RoundTripper {
	if t.Base == nil {
		return http.DefaultTransport
	}
	return t.Base
}

// withKey returns the request with the idempotency key of its context, if it
// has one. The caller's request is not changed.
func withKey(req *http.Request) *http.Request {
	key := retry.IdempotencyKey(req.Context())
	if key == "" || req.Header.Get(keyHeader) != "" {
		return req
	}
	req = req.Clone(req.Context())
	if req.Header == nil {
		req.Header = http.Header{}
	}
	req.Header.Set(keyHeader, key)
	return req
}

// exchange is one request under way.
type exchange struct {
	*Transport
	req    *http.Request
	policy *retry.Policy
	call   *retry.Call
	resp   *http.Response // of the last attempt, or nil
}

// send makes the attempts. It leaves a response, or returns an error.
func (x *exchange) send() error {
	ctx := x.req.Context()
	// Leave of the breaker.
	if err := x.call.Admit(ctx); err != nil {
		if x.req.Body != nil {
			_ = x.req.Body.Close() // a RoundTripper always does
		}
		return err
	}
	var failure error
	for first := true; ; first = false {
		req := x.req.WithContext(x.call.Attempt(ctx))
		if !first && req.GetBody != nil {
			body, err := req.GetBody()
			if err != nil {
				return fmt.Errorf("the body cannot be sent again: %w, after %w", err, failure)
			}
			req.Body = body
		}
		var err error
		x.resp, err = x.base().RoundTrip(req)
		switch {
		case err != nil:
			x.resp = nil
		case x.resp == nil:
			return errors.New("httpretry: Base returned neither a response nor an error")
		case x.resp.Body == nil:
			x.resp.Body = http.NoBody // http.Client does not insist on one
		}
		if failure = failureOf(x.resp, err); failure == nil {
			x.call.Succeed()
			return nil
		}
		retried := x.policy.Retries(failure)
		if retried && x.resp != nil {
			failure = asking(failure, x.resp)
		}
		// It discards the response where there is another attempt.
		err = x.call.Next(ctx, failure)
		switch {
		case err == nil:
		case x.resp == nil:
			return err
		case retried && ctx.Err() != nil:
			_ = x.resp.Body.Close()
			return err
		default:
			return nil
		}
	}
}

// Limits of what is read of a response before the next attempt, so that its
// connection serves another meanwhile. A longer or slower body costs the
// connection.
const (
	mostRead = 64 << 10
	readTime = 50 * time.Millisecond
)

// discard gives back the connection of a failed response.
func (x *exchange) discard() {
	if x.resp == nil {
		return
	}
	body := x.resp.Body
	x.resp = nil
	slow := time.AfterFunc(readTime, func() { _ = body.Close() })
	_, _ = io.CopyN(io.Discard, body, mostRead)
	slow.Stop()
	_ = body.Close()
}

// failureOf returns what is wrong with the outcome of an attempt.
func failureOf(resp *http.Response, err error) error {
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &untrusted):
		return retry.Permanent(err)
	case err != nil:
		return err
	case resp.StatusCode >= 400:
		return &StatusError{resp.StatusCode}
	}
	return nil
}

// asking adds the wait that a response asks for to its failure.
func asking(failure error, resp *http.Response) error {
	if wait, asked := Hint(resp, time.Now()); asked {
		return retry.After(failure, wait)
	}
	return failure
}

// body tells when the caller has done with a response.
type body struct {
	io.ReadCloser
	end func()
}

// endWith returns a body that calls end once it is closed. One that can be
// written to, that of a response 101, still can.
func endWith(b io.ReadCloser, end func()) io.ReadCloser {
	own := &body{b, sync.OnceFunc(end)}
	if w, ok := b.(io.Writer); ok {
		return struct {
			*body
			io.Writer
		}{own, w}
	}
	return own
}

// Close closes the body and ends its attempt.
func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.end()
	return err
}
