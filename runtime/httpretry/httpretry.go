// Package httpretry retries HTTP requests. A [Transport] is an http.RoundTripper that
// applies a [retry.Policy]:
//
//	client := &http.Client{Transport: &httpretry.Transport{
//		Policy: &retry.Policy{
//			Name: "api", AttemptTimeout: 5 * time.Second,
//			Schedule: retry.Schedule{MaxAttempts: 4, Jitter: retry.JitterFull},
//		},
//	}}
//
// A Transport repeats only requests that can be repeated safely, and sends their bodies
// again from the beginning. It waits as long as a response asks it to (see [Hint]). It
// reuses the connections of responses that it does not return.
package httpretry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// A Transport is an http.RoundTripper that retries requests. Its fields must not be
// changed once it is in use. Any number of goroutines may use it.
//
// For the policy, the breaker and observers, a response with a status of 400 or more is a
// failure with a [StatusError]. If the policy has no RetryOn, the Transport retries the
// statuses 408, 425, 429, and 500 to 599 except 501 and 505, and the statuses of classes
// whose Action is [retry.ActionRetry].
//
// If the last attempt received a response, the Transport returns this response with a nil
// error, whatever its status. Otherwise it returns an error, which is usually a
// [*retry.Error]. If the request's context ends before a failed response can be retried,
// it also returns an error.
//
// If a server closes the connection before it responds, this counts as a network failure,
// although Base returns only io.EOF.
//
// Errors that would occur on every attempt are not retried: an unsupported scheme, an
// invalid method or header, an untrusted server certificate, and a handshake that the
// server refuses because of the TLS version or the client certificate.
//
// The policy's time limits include reading the body, until its end is reached or it is
// closed.
type Transport struct {
	// Base makes the requests. Nil means http.DefaultTransport. When a request's context
	// ends, Base must abort the request and the reading of its response body, as
	// http.Transport does.
	Base http.RoundTripper
	// Policy defines the retries. Nil means the zero Policy, with its defaults.
	Policy *retry.Policy
	// Shared holds the breaker and the budget that the requests share with other calls.
	// The zero value has neither.
	Shared retry.Shared
	// Repeatable reports whether a request may be sent twice. Nil means
	// [Idempotent].
	Repeatable func(*http.Request) bool
}

// Idempotent reports whether a request may be sent twice. This is the case if one of the
// following conditions holds:
//
//   - its method is GET, HEAD, OPTIONS, TRACE, PUT or DELETE (RFC 9110, section
//     9.2.2);
//   - it has an Idempotency-Key header;
//   - its context has a key (see [retry.IdempotencyKey]), which a Transport puts
//     into that header.
func Idempotent(r *http.Request) bool {
	switch r.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return r.Header.Get(keyHeader) != "" || retry.IdempotencyKey(r.Context()) != ""
}

const keyHeader = "Idempotency-Key"

// RoundTrip sends a request until it succeeds, or until the policy allows no further
// attempt. A request that must not be sent twice is sent once, and so is a request that
// has a body but no GetBody. The time limits and the breaker also apply to such requests.
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
	returned := false
	defer func() {
		if !returned { // also after a panic or Goexit in Base
			x.end()
		}
	}()
	call.BeforeWait(x.discard)
	if err := x.send(); err != nil {
		return nil, err
	}
	if hasBody(x.resp, req) {
		// The context of the attempt ends after the body has been read or closed.
		x.resp.Body, returned = endWith(x.resp.Body, x.end), true
	}
	return x.resp, nil
}

// CloseIdleConnections closes the idle connections of Base, if Base has a method with the
// same name. http.Client.CloseIdleConnections calls it.
func (t *Transport) CloseIdleConnections() {
	if base, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// mayRepeat reports whether a request may and can be sent twice.
func (t *Transport) mayRepeat(req *http.Request) bool {
	if req.Body != nil && req.Body != http.NoBody && req.GetBody == nil {
		return false
	}
	if t.Repeatable != nil {
		return t.Repeatable(req)
	}
	return Idempotent(req)
}

// base returns Base or its default.
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

// An exchange is the state of one RoundTrip: a request and its attempts.
type exchange struct {
	*Transport
	req    *http.Request
	policy *retry.Policy
	call   *retry.Call
	cancel context.CancelFunc // ends the attempt; nil before the first
	resp   *http.Response     // of the last attempt, or nil
}

// end ends the last attempt and the call.
func (x *exchange) end() {
	if x.cancel != nil {
		x.cancel()
	}
	x.call.End()
}

// send makes the attempts. It sets the response, or returns an error.
func (x *exchange) send() error {
	ctx := x.req.Context()
	if err := x.call.Admit(ctx); err != nil {
		if x.req.Body != nil {
			_ = x.req.Body.Close() // RoundTrip must close it, also on errors
		}
		return err
	}
	var failure error
	for first := true; ; first = false {
		req, err := x.request(ctx, first)
		if err != nil {
			return fmt.Errorf("the body cannot be sent again: %w, after %w", err, failure)
		}
		x.resp, err = x.base().RoundTrip(req)
		switch {
		case err != nil:
			x.resp = nil
		case x.resp == nil:
			return errors.New("httpretry: Base returned neither a response nor an error")
		case x.resp.Body == nil:
			x.resp.Body = http.NoBody // http.Client accepts a nil Body, too
		}
		if failure = x.failure(req, err); failure == nil {
			x.call.Succeed()
			return nil
		}
		retried := x.policy.Retries(failure)
		if retried && x.resp != nil {
			if wait, asked := Hint(x.resp, time.Now()); asked {
				failure = retry.After(failure, wait)
			}
		}
		// Next calls discard if there is another attempt.
		err = x.call.Next(ctx, failure)
		switch {
		case err == nil:
		case x.resp == nil:
			return asReturned(err)
		case retried && ctx.Err() != nil:
			_ = x.resp.Body.Close()
			return err
		default:
			return nil
		}
	}
}

// request returns the request of the next attempt.
func (x *exchange) request(ctx context.Context, first bool) (*http.Request, error) {
	if x.cancel != nil {
		x.cancel()
	}
	ctx, x.cancel = context.WithCancel(x.call.Attempt(ctx))
	req := x.req.WithContext(ctx)
	if first || req.GetBody == nil {
		return req, nil
	}
	body, err := req.GetBody()
	req.Body = body
	return req, err
}
