package retry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/retrygen/retrygen/internal/grpcstatus"
	"github.com/retrygen/retrygen/runtime/capacity"
)

// facts are the properties of an error that the types in its tree prove and, if
// these prove nothing, its text.
type facts struct {
	permanent bool          // marked by the callee
	fails     bool          // the same call would fail again
	asked     bool          // the error asks for a wait
	after     time.Duration // the wait that it asks for; -1 if that cannot be parsed
	status    int           // HTTP status, or that of a gRPC code; 0 if there is none
	throttled bool          // a code of AWS asks for a lower rate
	hopeless  bool          // methods say that the failure is neither a timeout nor temporary

	typed       bool // some type is evidence: the text is not read
	network     bool
	timeout     bool
	serverError bool // not by its status, which is evidence by itself
	rateLimit   bool
	canceled    bool
	expired     bool // the attempt's own limit has passed

	stopped Reason // why the outermost call inside this one ended, or ""
	refused Reason // why an attempt was refused, or "": a reason with a class is in the tree
	limited bool   // a limit on time ended a call inside this one

	netError netError // the first that wraps another error, or nil

	text   error // the error whose text may be read, or nil
	opaque bool  // methods of the tree must not be called: see maxErrors
	errors int   // number of errors visited
}

// maxErrors is the maximum number of errors of a tree that are visited. A tree
// with more errors is opaque, as is one with a nil pointer: its methods are not
// called, since they may panic or never return. Facts found before that count.
const maxErrors = 1 << 14

// inspect returns the facts about err. It walks the tree once, which is faster
// than one errors.As for each fact.
func (p *Policy) inspect(err error) (f facts) {
	f.text = err
	defer f.recoverPanic()
	f.walk(err, false)
	if f.opaque || err == nil {
		return f
	}
	if f.netError != nil && f.netError.Timeout() {
		f.typed, f.timeout = true, true
	}
	if f.throttled {
		f.status = 429
	}
	if f.hopeless { // what the rest of the tree proves goes before
		f.typed, f.fails = true, f.fails || !f.typed
	}
	if p.Facts != nil {
		if read, ok := p.Facts(err); ok && read != (Facts{}) {
			f.replace(&read)
		}
	}
	if !f.typed && p.MatchText != MatchNone &&
		!slices.ContainsFunc(p.Classes, func(c ErrorClass) bool { return c.hasType(err, &f) }) {
		if text, ok := f.readableText(); ok {
			f.readText(text, p.MatchText)
		}
	}
	return f
}

// replace replaces what methods prove by what a reader knows. Marks of the callee
// remain. A class goes before a status that is due to the request, since a throttled
// request may have the status 400 or 403.
func (f *facts) replace(read *Facts) {
	f.typed, f.status, f.fails = true, read.Status, read.Permanent
	f.network, f.timeout = read.Class == ClassNetwork, read.Class == ClassTimeout
	f.serverError, f.rateLimit = read.Class == ClassServerError, f.asked || read.Class == ClassRateLimit
	if code := read.GRPC; code != 0 {
		f.status = grpcstatus.HTTP(code)
		f.network = f.network || code == grpcstatus.Unavailable
		f.timeout = f.timeout || code == grpcstatus.DeadlineExceeded
		f.canceled = f.canceled || code == grpcstatus.Canceled
		// Their statuses, 409 and 501, have other meanings too.
		f.fails = f.fails || code == grpcstatus.AlreadyExists || code == grpcstatus.Unimplemented
	}
	if read.Class != "" && causedByRequest(f.status) {
		f.status = 0
	}
	mayPass := !f.fails && (f.status == 403 || !causedByRequest(f.status)) // 403 may be a quota
	if read.RetryAfter != 0 && !f.asked && mayPass {
		f.asked, f.rateLimit, f.after = true, true, max(read.RetryAfter, -1)
	}
}

// timedOut records that the attempt's own limit has passed: any error then counts
// as a timeout.
func (f *facts) timedOut() { f.typed, f.timeout, f.expired = true, true, true }

// recoverPanic recovers the panic of a method of an error, and makes the tree
// opaque. Methods that a struct has from an embedded nil panic, for example.
// Every function that calls methods of the callee's errors defers it, as package
// fmt does. A panic of the operation itself is never recovered.
func (f *facts) recoverPanic() {
	if recover() != nil {
		f.opaque = true
	}
}

// is reports whether errors.Is(err, target) holds.
func (f *facts) is(err, target error) bool {
	if f.opaque {
		return false
	}
	defer f.recoverPanic()
	return errors.Is(err, target)
}

// as returns the result of a test that calls errors.As, or false if the tree is
// opaque.
func (f *facts) as(err error, test func(error) bool) bool {
	if f.opaque {
		return false
	}
	defer f.recoverPanic()
	return test(err)
}

// readableText returns the text, if there is one that may be read.
func (f *facts) readableText() (text string, ok bool) {
	if f.text == nil || f.opaque {
		return "", false
	}
	defer f.recoverPanic()
	return f.text.Error(), true
}

// walk records the facts about the tree of err. inside reports whether a
// net.Error wraps err.
func (f *facts) walk(err error, inside bool) {
	for err != nil {
		if f.errors++; f.errors > maxErrors {
			f.opaque = true
			return
		}
		switch reflect.TypeOf(err) {
		case plainError:
			f.sentinel(err, inside)
			return
		case wrapError:
			err = errors.Unwrap(err)
			continue
		}
		if isNilPointer(err) {
			f.opaque = true
			return
		}
		switch e := err.(type) {
		case *markedError:
			f.addMark(e)
			err = e.err
			continue
		case *Error:
			f.addStop(e)
			err, f.text = e.Err, e.Err // without the text of this package
			continue
		case capacity.Refusal: // whatever its cause
			f.text, f.asked, f.after = nil, e.AdmitsIn > 0, e.AdmitsIn
			f.refuse(reasonFor(e))
			return
		}
		f.readMethods(err)
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			inner := e.Unwrap()
			if inner == nil {
				f.leaf(err)
				return
			}
			if e, ok := err.(netError); ok {
				if inside = true; f.netError == nil {
					f.netError = e
				}
			}
			err = inner
		case interface{ Unwrap() []error }:
			for _, inner := range e.Unwrap() {
				if f.walk(inner, inside); f.errors > maxErrors {
					return
				}
			}
			return
		default:
			f.leaf(err)
			return
		}
	}
}

// The types of errors.New and fmt.Errorf, which prove nothing by their methods.
// Most errors have one of them, so that checking for them first saves time.
var (
	plainError = reflect.TypeOf(io.EOF)
	wrapError  = reflect.TypeOf(fmt.Errorf("%w", io.EOF))
)

// isNilPointer reports whether err holds a nil pointer, whose methods usually
// panic.
func isNilPointer(err error) bool {
	v := reflect.ValueOf(err)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// addMark records how the callee has marked its own error.
func (f *facts) addMark(m *markedError) {
	switch {
	case m.permanent:
		f.permanent = true
		return
	case f.asked:
		f.after = max(f.after, m.after)
	default:
		f.after = m.after
	}
	f.typed, f.rateLimit, f.asked = true, true, true
}

// addStop records why a call inside this one ended. That is no evidence about the
// error of its last attempt, which decides the class to report and whether the
// text is read. The wait that this error asks for is one of its facts.
func (f *facts) addStop(e *Error) {
	if f.stopped == "" {
		f.stopped = e.Reason
	}
	if e.RetryAfter > 0 { // its mark has been removed
		_, own := e.Err.(capacity.Refusal) // by a rate of this process
		f.asked, f.rateLimit, f.after = true, f.rateLimit || !own, max(f.after, e.RetryAfter)
	}
	cause := facts{errors: f.errors}
	cause.walk(e.Cause, false)
	f.limited = f.limited || cause.timeout || e.Reason.Timeout()
	f.refuse(e.Reason)
	f.refuse(cause.refused)
	f.canceled = f.canceled || cause.canceled
	f.opaque, f.errors = f.opaque || cause.opaque, cause.errors
}

// refuse records why an attempt was refused, if the reason is one for that.
func (f *facts) refuse(r Reason) {
	if f.refused == "" && r.class() != "" {
		f.refused = r
	}
}

// A netError has the methods of net.Error, which *url.Error and *net.OpError
// implement. It avoids an import of package net.
type netError interface {
	Timeout() bool
	Temporary() bool
}

// sentinel records the facts about an error of errors.New: it proves something
// only if it is known. A net.Error that wraps another error is no evidence of a
// network error, since *url.Error wraps any error. An end of file inside one is.
func (f *facts) sentinel(err error, inside bool) {
	switch err {
	case io.EOF:
		if !inside {
			return
		}
		fallthrough
	case io.ErrUnexpectedEOF:
		f.typed, f.network = true, true
	case context.Canceled:
		f.typed, f.canceled = true, true
	default:
		if isClosedConnection(err.Error()) {
			f.typed, f.network = true, true
		}
	}
}

// isClosedConnection reports whether text is that of an error of net/http or
// x/net for a connection that the server has closed, or a stream that it has
// refused, or of database/sql/driver.ErrBadConn. They have no type of their own, and
// those of net/http are not exported.
func isClosedConnection(text string) bool {
	if !strings.HasPrefix(text, "http") {
		return text == "driver: bad connection"
	}
	return slices.ContainsFunc(closedConnection[:], func(start string) bool { return strings.HasPrefix(text, start) })
}

// closedConnection are the prefixes of these texts. In "cannot retry err [%v]",
// the inner error is of the same kind.
var closedConnection = [...]string{
	"http2: Transport received ", // GOAWAY
	"http2: Transport: cannot retry err [",
	"http2: client conn",
	"http: server closed idle connection",
}

// leaf records the facts about an error that wraps no other.
func (f *facts) leaf(err error) {
	switch e := err.(type) {
	case Reason:
		f.text = nil // a text of this package
		f.refuse(e)
		if e.Timeout() {
			f.typed, f.timeout = true, true
		}
	case interface{ Timeout() bool }:
		if e.Timeout() {
			f.typed, f.timeout = true, true
			return
		}
		if f.errno(err) {
			return
		}
		if e, ok := err.(netError); ok {
			if e.Temporary() || saysNothing(err) {
				f.typed, f.network = true, true
			} else {
				f.hopeless = true
			}
		}
	default:
		if isHTTP2(err) {
			f.typed, f.network = true, true
		}
	}
}

// saysNothing reports whether the type of err is one for which Temporary returns
// false whatever has happened. Other types return false if the same call would fail
// again: a host that does not exist, an address without a port, a user without the
// permission.
func saysNothing(err error) bool {
	t := reflect.TypeOf(err)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.PkgPath() {
	case "internal/poll", "net/http", "net/url", "os", "crypto/tls":
		return true
	}
	return false
}

// isHTTP2 reports whether err ends a stream or a connection of HTTP/2. The
// types of net/http are unexported copies of those of x/net, so that all are
// recognized by name.
func isHTTP2(err error) bool {
	t := reflect.TypeOf(err)
	switch t.PkgPath() {
	case "net/http", "net/http/internal/http2", "golang.org/x/net/http2":
		switch strings.TrimPrefix(t.Name(), "http2") {
		case "StreamError", "ConnectionError", "GoAwayError", "connError":
			return true
		}
	}
	return false
}
