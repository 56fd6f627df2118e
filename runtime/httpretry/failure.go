package httpretry

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	retry "github.com/retrygen/retrygen/runtime"
)

// A StatusError is the error for a response with a status of 400 or more.
type StatusError struct{ Code int }

// Error returns the status and its text, such as "status 503 Service
// Unavailable".
func (e *StatusError) Error() string {
	return fmt.Sprintf("status %d %s", e.Code, http.StatusText(e.Code))
}

// StatusCode returns the status, which policies use to classify the error.
func (e *StatusError) StatusCode() int { return e.Code }

// CheckStatus returns a [*StatusError] for a status for which another attempt may
// succeed: 408, 425, 429, and 500 to 599 except 501 and 505. It returns nil for any other
// status. Use it in a check of results that contain a status:
//
//	func checkStatus(r *resty.Response) error { return httpretry.CheckStatus(r.StatusCode()) }
func CheckStatus(status int) error {
	if mayChange(status) {
		return &StatusError{status}
	}
	return nil
}

// A lostConnection is an error of Base that wraps io.EOF: the server has closed
// the connection before it answered. http.Transport returns a bare io.EOF then,
// which proves nothing elsewhere. Inside of a net.Error, as this is, policies
// classify it as a failure of the network.
type lostConnection struct{ error }

// Unwrap returns the error of Base.
func (e *lostConnection) Unwrap() error { return e.error }

// Timeout returns false, as a method of net.Error.
func (e *lostConnection) Timeout() bool { return false }

// Temporary returns true, as a method of net.Error.
func (e *lostConnection) Temporary() bool { return true }

// asReturned returns the error that Base has returned if err is its
// lostConnection, and other errors unchanged.
func asReturned(err error) error {
	if lost, ok := err.(*lostConnection); ok {
		return lost.error
	}
	return err
}

// failure returns the error of an attempt at req that returned err and x.resp, or
// nil if it succeeded.
func (x *exchange) failure(req *http.Request, err error) error {
	switch {
	case err != nil && (isPermanentTLS(err) || isInvalidRequest(req, err)):
		return retry.Permanent(err)
	case errors.Is(err, io.EOF):
		return &lostConnection{err}
	case err != nil:
		return err
	case x.resp.StatusCode < 400:
		return nil
	}
	failure := &StatusError{x.resp.StatusCode}
	if !x.mayRetry(failure.Code) && x.policy.Retries(failure) {
		return retry.Permanent(failure)
	}
	return failure
}

// mayRetry reports whether the policy lists a status, or the next attempt may
// return another one.
func (x *exchange) mayRetry(status int) bool {
	if mayChange(status) || len(x.policy.RetryOn) > 0 {
		return true
	}
	return slices.ContainsFunc(x.policy.Classes, func(c retry.ErrorClass) bool {
		return c.Action == retry.ActionRetry &&
			slices.ContainsFunc(c.HTTP, func(r [2]int) bool { return r[0] <= status && status <= r[1] })
	})
}

// mayChange reports whether the next attempt may return another status.
func mayChange(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return 500 <= status && status <= 599
}

// isPermanentTLS reports whether TLS fails at every attempt: a certificate is not
// trusted, client and server support no common version, or the server responds in
// plain HTTP.
func isPermanentTLS(err error) bool {
	if remote, ok := errors.AsType[*net.OpError](err); ok && isRefusal(remote.Err) {
		return true
	}
	if record, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return string(record.RecordHeader[:]) == "HTTP/"
	}
	return retry.As[*tls.CertificateVerificationError](err) || retry.As[x509.UnknownAuthorityError](err) ||
		retry.As[x509.HostnameError](err) || retry.As[x509.CertificateInvalidError](err)
}

// refusals are the alerts (RFC 8446, section 6.2) with which a server refuses
// every handshake of a client.
var refusals = [...]tls.AlertError{
	40,  // handshake_failure
	42,  // bad_certificate
	43,  // unsupported_certificate
	44,  // certificate_revoked
	45,  // certificate_expired
	46,  // certificate_unknown
	48,  // unknown_ca
	49,  // access_denied
	70,  // protocol_version
	71,  // insufficient_security
	112, // unrecognized_name
	116, // certificate_required
	120, // no_application_protocol
}

// isRefusal reports whether an error is one of the refusals. The type of the
// alerts that crypto/tls receives over TCP is not exported.
func isRefusal(err error) bool {
	return err != nil && slices.ContainsFunc(refusals[:], func(a tls.AlertError) bool { return a.Error() == err.Error() })
}

// isInvalidRequest reports whether an error is due to an invalid request that was
// not sent to a server. The errors of net/http for these have no types, so that
// the request is checked as net/http does.
func isInvalidRequest(req *http.Request, err error) bool {
	switch {
	case req.URL == nil, req.Method != "" && !isToken(req.Method), !validFields(req.Header), !validFields(req.Trailer):
		return true
	case req.URL.Scheme != "http" && req.URL.Scheme != "https":
		// Base may support other schemes, or requests without a host.
		return strings.Contains(err.Error(), "unsupported") && strings.Contains(err.Error(), "scheme")
	}
	return req.URL.Host == "" && strings.Contains(err.Error(), "no Host")
}

// validFields reports whether the names and values of header fields are valid
// (RFC 9110, section 5).
func validFields(h http.Header) bool {
	for name, values := range h {
		if !isToken(name) || slices.ContainsFunc(values, hasControl) {
			return false
		}
	}
	return true
}

// hasControl reports whether value has a control character other than a tab.
func hasControl(value string) bool {
	return strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// isToken reports whether s is a token (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		letter := 'a' <= r|0x20 && r|0x20 <= 'z'
		return !letter && (r < '0' || r > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}
