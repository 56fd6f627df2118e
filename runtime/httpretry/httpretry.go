// Package httpretry retries HTTP requests: a [Transport] is an
// http.RoundTripper under a policy of package retry.
//
//	client := &http.Client{Transport: &httpretry.Transport{
//		Policy: &retry.Policy{Name: "api", MaxAttempts: 4, Jitter: retry.Full, AttemptTimeout: 5 * time.Second},
//	}}
//
// It repeats what may be repeated, with the body of the request sent again from
// its beginning, waits as long as Retry-After asks for, and gives back the
// connections of responses that it does not return.
package httpretry

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// A Transport is an http.RoundTripper that retries. Its fields must not be
// changed once it is in use; it may then be used by any number of goroutines.
//
// A response with a status of 400 or more is a failure: of class server_error,
// rate_limit, one of the policy's own, or permanent. The breaker and observers
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
	// Breaker and Budget are shared with other calls. Both may be nil.
	Breaker *retry.Breaker
	Budget  retry.RetryBudget
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
	call := policy.BeginWith(t.Breaker, 0, t.Budget)
	x := &exchange{Transport: t, req: withKey(req), policy: policy, call: &call}
	resp, err := x.send()
	if resp == nil {
		call.End()
		return nil, err
	}
	// The context of the attempt lives as long as its body is read.
	resp.Body = endWith(resp.Body, call.End)
	return resp, nil
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
}

func (x *exchange) send() (*http.Response, error) {
	ctx := x.req.Context()
	// Leave of the breaker.
	if err := x.call.Next(ctx, nil); err != nil {
		if x.req.Body != nil {
			_ = x.req.Body.Close() // a RoundTripper always does
		}
		return nil, err
	}
	for first := true; ; first = false {
		req := x.req.WithContext(x.call.Attempt(ctx))
		if !first && req.GetBody != nil {
			var err error
			if req.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
		resp, err := x.base().RoundTrip(req)
		failure, retried := x.failure(resp, err)
		if failure == nil {
			x.call.Succeed()
			return resp, nil
		}
		if resp != nil && retried {
			keep(resp)
		}
		err = x.call.Next(ctx, failure)
		switch {
		case resp == nil && err != nil:
			return nil, err
		case resp == nil:
		case err == nil || retried && ctx.Err() != nil:
			_ = resp.Body.Close() // its connection is of no use any more, or free already
			if err != nil {
				return nil, err
			}
		default:
			//retrylint:ignore RL109 a RoundTripper that has a response returns no error
			return resp, nil
		}
	}
}

// failure returns what is wrong with the outcome of an attempt, and whether the
// policy retries such outcomes.
func (x *exchange) failure(resp *http.Response, err error) (failure error, retried bool) {
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &untrusted):
		failure = retry.Permanent(err)
	case err != nil:
		failure = err
	case resp.StatusCode >= 400:
		failure = &StatusError{resp.StatusCode}
	default:
		return nil, false
	}
	if retried, _ = x.policy.Classify(failure); !retried || resp == nil {
		return failure, retried
	}
	if after := resp.Header.Get("Retry-After"); after != "" {
		failure = retry.After(failure, retry.ParseRetryAfter(after, time.Now()))
	}
	return failure, true
}

// kept is how much of the body of a failed response is read before the wait, so
// that its connection is free meanwhile.
const kept = 64 << 10

// keep reads the body of a response, if it is short, and closes it.
func keep(resp *http.Response) {
	start, err := io.ReadAll(io.LimitReader(resp.Body, kept))
	rest := resp.Body
	if err == nil && len(start) < kept {
		_ = rest.Close()
		resp.Body = io.NopCloser(bytes.NewReader(start))
		return
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(start), rest), rest}
}

// body tells when the caller has done with a response.
type body struct {
	io.ReadCloser
	end func()
}

// endWith returns a body that calls end once it is closed. One that can be
// written to, that of a response 101, still can.
func endWith(b io.ReadCloser, end func()) io.ReadCloser {
	own := &body{b, end}
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
