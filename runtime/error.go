package retry

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A Reason says why a call was not retried any more. Reasons are errors, so
// that errors.Is(err, retry.ErrAttempts) holds for the [*Error] that carries
// it.
type Reason string

// The reasons of an [*Error].
const (
	ErrPermanent   Reason = "permanent error"
	ErrAttempts    Reason = "attempts exhausted"
	ErrDelayBudget Reason = "delay budget exhausted"
	ErrElapsed     Reason = "max elapsed exceeded"
	ErrDeadline    Reason = "deadline too near"
	ErrCanceled    Reason = "canceled"
	ErrRetryAfter  Reason = "retry-after too long"
	ErrBreakerOpen Reason = "breaker open"
	ErrBudget      Reason = "retry budget exhausted"
	ErrJobBudget   Reason = "job budget exhausted"
	ErrNested      Reason = "attempt of a retry"
	ErrEscalated   Reason = "escalated"
)

// reasonOf returns the reason that an error of a budget stands for.
func reasonOf(err error) Reason {
	for _, r := range [...]Reason{ErrBudget, ErrJobBudget} {
		if errors.Is(err, r) {
			return r
		}
	}
	return ErrBudget
}

// exhausted reports whether the policy's own limits ended the call.
func (r Reason) exhausted() bool { return r != ErrPermanent && r != ErrCanceled }

// The causes of contexts that a policy's own limits ended, as context.Cause
// returns them inside an attempt.
const (
	ErrAttemptTimeout Reason = "attempt timeout exceeded"
	ErrTimeout        Reason = "timeout exceeded"
)

// Error returns the reason in words.
func (r Reason) Error() string { return string(r) }

// Is reports whether the reason is what target stands for in package context:
// net/http and others return the cause of a context in place of its error.
func (r Reason) Is(target error) bool {
	switch target {
	case context.DeadlineExceeded:
		return r.Timeout()
	case context.Canceled:
		return r == ErrCanceled
	}
	return false
}

// Timeout reports whether the reason is a limit on time, as net.Error does.
func (r Reason) Timeout() bool { return r == ErrAttemptTimeout || r == ErrTimeout || r == ErrDeadline }

// An Error says why a call gave up, around the last attempt's own error.
// errors.Is and errors.As reach that error, the reason, and the cause with
// which the context ended.
//
// An error on which the policy had nothing to decide (it was permanent, or the
// caller's context had ended, at the first attempt) is returned as it is.
type Error struct {
	Policy     string        // name of the policy
	Reason     Reason        // why there was no further attempt
	Attempts   int           // attempts made; those that a breaker refused are none
	Waited     time.Duration // sum of the waits between them
	RetryAfter time.Duration // the wait that the last error asked for, if any
	Escalated  bool          // somebody has to look at it: errors.Is finds ErrEscalated
	Err        error         // the last attempt's error; nil: none was made
	Cause      error         // why the context ended, [ErrBreakerOpen] if the last attempt was refused, or nil
}

// Error describes what happened in one line that ends in the last error.
func (e *Error) Error() string {
	noun := "attempts"
	if e.Attempts == 1 {
		noun = "attempt"
	}
	waited := e.Waited
	if waited > time.Millisecond {
		waited = waited.Round(time.Millisecond)
	}
	policy := e.Policy
	if policy != "" {
		policy += ": "
	}
	if e.Err == nil {
		return policy + string(e.Reason)
	}
	return fmt.Sprintf("%s%s after %d %s and %v of waiting: %v", policy, e.Reason, e.Attempts, noun, waited, e.Err)
}

// Timeout reports whether a limit on time ended the call, or its last attempt.
// net/url and net/http ask for it, as of any net.Error.
func (e *Error) Timeout() bool {
	var timeout interface{ Timeout() bool }
	return e.Reason.Timeout() || errors.As(e.Err, &timeout) && timeout.Timeout()
}

// Unwrap returns the last error, the reason and the cause.
func (e *Error) Unwrap() []error {
	list := []error{e.Reason}
	if e.Err != nil {
		list = []error{e.Err, e.Reason}
	}
	if e.Escalated && e.Reason != ErrEscalated {
		list = append(list, ErrEscalated)
	}
	if e.Cause != nil {
		list = append(list, e.Cause)
	}
	return list
}

// Permanent marks err as one that must not be retried. The mark is for the
// wrapper that made the call: it takes the mark off before its caller sees the
// error, which another wrapper around that one judges anew. Where the callee
// has put the marked error into another one, the mark stays in there, and all
// wrappers heed it. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &mark{err: err, permanent: true}
}

// After marks err as one of class [RateLimit] that asks for a wait of d before
// the next attempt; a negative d says that it asks, but not readably for how
// long. What becomes of it is the policy's [RetryAfter]: by default the wait is
// the longer of d, at most 5 minutes, and the policy's own delay. A wait that
// does not fit into the call's limits ends the call at once with
// [ErrRetryAfter]. After(nil, d) is nil.
func After(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &mark{err: err, after: max(d, -1)}
}

// mark is what a callee says about its own error.
type mark struct {
	err       error
	permanent bool
	after     time.Duration // when not permanent; -1: unreadable
}

func (m *mark) Error() string { return m.err.Error() }
func (m *mark) Unwrap() error { return m.err }

// unmark takes off marks that the callee put outermost.
func unmark(err error) error {
	for {
		m, ok := err.(*mark)
		if !ok {
			return err
		}
		err = m.err
	}
}
