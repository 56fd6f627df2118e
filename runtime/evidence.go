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
)

// facts is what an error proves by the types in its tree and, if these prove
// nothing, by its text.
type facts struct {
	permanent bool
	asked     bool          // for a wait, of
	after     time.Duration // or -1, if that is unreadable
	status    int           // of HTTP; a gRPC code counts as one

	typed       bool // some type is evidence: the text is not read
	network     bool
	timeout     bool
	serverError bool // by its text; the status is a proof of its own
	rateLimit   bool
	canceled    bool
	refused     bool // a breaker refused an attempt: ErrBreakerOpen is in the tree
	expired     bool // the attempt's own limit has passed

	netError netError // the first that wraps another error, or nil

	text   error // whose text may be read, or nil
	read   bool  // it has been
	opaque bool  // see maxErrors and unsound
	errors int   // visited
}

// maxErrors is the number of errors of a tree that are visited. A tree with
// more of them is opaque, as is one with a nil pointer: its tests and texts
// must not be called, since they may not return, or panic. Only what was found
// until then counts.
const maxErrors = 1 << 14

// inspect returns what err proves. It walks the tree once, in place of one
// errors.As for each question.
func (p *Policy) inspect(err error) (f facts) {
	f.text = err
	defer f.unsound()
	f.walk(err, false)
	if f.opaque || err == nil {
		return f
	}
	if f.netError != nil && f.netError.Timeout() {
		f.typed, f.timeout = true, true
	}
	if p.GRPC == nil || f.status != 0 {
		return f
	}
	if code, ok := p.GRPC(err); ok {
		f.typed, f.status = true, grpcstatus.HTTP(code)
		f.network = f.network || code == grpcstatus.Unavailable
		f.timeout = f.timeout || code == grpcstatus.DeadlineExceeded
		f.canceled = f.canceled || code == grpcstatus.Canceled
	}
	return f
}

// timedOut records that the attempt's own limit has passed: that is a timeout,
// whatever the error is.
func (f *facts) timedOut() { f.typed, f.timeout, f.expired = true, true, true }

// unsound makes a tree opaque in which a method has panicked, as the methods that
// a struct gets from an embedded nil do. It is deferred by all that calls methods
// of the callee's errors: as for package fmt, they are no part of the operation,
// whose panics are never recovered.
func (f *facts) unsound() {
	if recover() != nil {
		f.opaque = true
	}
}

// is reports whether errors.Is(err, target) holds.
func (f *facts) is(err, target error) bool {
	if f.opaque {
		return false
	}
	defer f.unsound()
	return errors.Is(err, target)
}

// as reports whether the test holds, which calls errors.As.
func (f *facts) as(err error, test func(error) bool) bool {
	if f.opaque {
		return false
	}
	defer f.unsound()
	return test(err)
}

// legible returns the text, if there is one that may be read.
func (f *facts) legible() (text string, ok bool) {
	if f.text == nil || f.opaque {
		return "", false
	}
	defer f.unsound()
	return f.text.Error(), true
}

// walk visits the tree of err. inside reports whether a net.Error wraps it.
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
		case *mark:
			f.mark(e)
			err = e.err
			continue
		case *Error:
			f.walk(e.Reason, false)
			f.walk(e.Cause, false)
			err, f.text = e.Err, e.Err // the callee's own, without our text around it
			continue
		case interface{ StatusCode() int }:
			if status := e.StatusCode(); f.status == 0 && status >= 100 {
				f.status, f.typed = status, true
			}
		}
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

// The types of errors.New and fmt.Errorf, which have no methods to ask. Most
// errors are of these, so that it pays to know them.
var (
	plainError = reflect.TypeOf(io.EOF)
	wrapError  = reflect.TypeOf(fmt.Errorf("%w", io.EOF))
)

// isNilPointer reports whether err holds a nil pointer, of which nearly any
// method panics.
func isNilPointer(err error) bool {
	v := reflect.ValueOf(err)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// mark records how the callee has marked its own error.
func (f *facts) mark(m *mark) {
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

// A netError is a net.Error, as *url.Error and *net.OpError are, without an
// import of the package.
type netError interface {
	Timeout() bool
	Temporary() bool
}

// sentinel records what an error of errors.New proves: it is one that is known,
// or nothing. A net.Error that wraps another is no evidence of the network,
// since *url.Error wraps anything, but an end of file below one is.
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

// isClosedConnection reports whether a text is that of an error with which
// net/http or x/net reports a connection that the server has closed, or a stream
// that it has refused. These errors are neither exported nor of a type.
func isClosedConnection(text string) bool {
	if !strings.HasPrefix(text, "http") {
		return false
	}
	return slices.ContainsFunc(closedConnection[:], func(start string) bool { return strings.HasPrefix(text, start) })
}

// closedConnection are the beginnings of the texts. In "cannot retry err [%v]",
// the error is of the same kind.
var closedConnection = [...]string{
	"http2: Transport received ", // GOAWAY
	"http2: Transport: cannot retry err [",
	"http2: client conn",
	"http: server closed idle connection",
}

// leaf records what an error that wraps no other proves.
func (f *facts) leaf(err error) {
	switch e := err.(type) {
	case Reason:
		f.text = nil // ours
		f.refused = f.refused || e == ErrBreakerOpen
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
		if _, ok := err.(netError); ok {
			f.typed, f.network = true, true
		}
	default:
		if isHTTP2(err) {
			f.typed, f.network = true, true
		}
	}
}

// isHTTP2 reports whether err ends a stream or a connection of HTTP/2. The
// types of net/http are unexported copies of those of x/net, so that all of
// them are known by name.
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
