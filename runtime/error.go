package retry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A Reason is why a call was not retried further. Reasons are errors:
// errors.Is(err, retry.ErrAttempts) holds for the [*Error] with that reason.
type Reason string

// The reasons of an [*Error].
const (
	ErrPermanent   Reason = "permanent error" // or one that RetryOn or AbortOn excludes
	ErrAttempts    Reason = "attempts exhausted"
	ErrDelayBudget Reason = "delay budget exhausted"
	ErrElapsed     Reason = "max elapsed exceeded"
	ErrDeadline    Reason = "deadline too near"
	ErrCanceled    Reason = "canceled"
	ErrRetryAfter  Reason = "retry-after too long"
	ErrBreakerOpen Reason = "breaker open"
	ErrBudget      Reason = "retry budget exhausted"
	ErrNested      Reason = "attempt of a retry" // the call around this one is retried already
	ErrEscalated   Reason = "escalated"          // a person has to look at it
	ErrSpent       Reason = "argument used up"   // an argument cannot be rewound: Cause is why
	ErrLost        Reason = "attempts lost"      // Inputs.LostMax is reached
)

// reasonOf returns the reason for a refusal by a budget: the [Reason] in the
// tree of its error, or ErrBudget.
func reasonOf(err error) Reason {
	if r, ok := errors.AsType[Reason](err); ok {
		return r
	}
	return ErrBudget
}

// exhausted reports whether a limit of the policy ended the call.
func (r Reason) exhausted() bool { return r != ErrPermanent && r != ErrCanceled }

// The causes of contexts that limits of a policy have ended, as context.Cause
// returns them inside an attempt.
const (
	ErrAttemptTimeout Reason = "attempt timeout exceeded"
	ErrTimeout        Reason = "timeout exceeded"
)

// Error returns the text of the reason.
func (r Reason) Error() string { return string(r) }

// Is reports whether target is the error of package context for the reason:
// net/http and others return the cause of a context instead of its error.
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

// An Error reports why a call stopped, and wraps the error of its last attempt.
// errors.Is and errors.As find that error, the reason, and the cause with which
// the context ended.
//
// An error about which the policy did nothing is returned unchanged: at the
// first attempt, one that is permanent, that had only this attempt, or that
// shows that the caller's context has ended.
type Error struct {
	Policy     string        // name of the policy
	Reason     Reason        // why there was no further attempt
	Attempts   int           // attempts made, lost ones included; refusals by a breaker are not counted
	Waited     time.Duration // sum of the waits between them
	RetryAfter time.Duration // the wait that the last error asked for, or 0
	Escalated  bool          // the error matches ErrEscalated
	Err        error         // of the last attempt; ErrBreakerOpen if the breaker refused all of them, or nil
	// Cause is why the context ended or an argument cannot be rewound,
	// [ErrBreakerOpen] if the last attempt was refused, or nil.
	Cause error
}

// Error describes what happened in one line that ends with the last error.
func (e *Error) Error() string {
	policy := e.Policy
	if policy != "" {
		policy += ": "
	}
	reason := e.Reason.Error()
	if latched, ok := e.Cause.(escalatedBreaker); ok {
		reason = latched.Error()
	}
	if e.Err == nil {
		return policy + reason
	}
	noun := "attempts"
	if e.Attempts == 1 {
		noun = "attempt"
	}
	waited := e.Waited
	if waited > time.Millisecond {
		waited = waited.Round(time.Millisecond)
	}
	return fmt.Sprintf("%s%s after %d %s and %v of waiting: %v", policy, reason, e.Attempts, noun, waited, e.Err)
}

// escalatedBreaker is the cause of a refusal that only a reset ends. Its value
// is the name of the breaker.
type escalatedBreaker string

// Error names the breaker and what closes it.
func (b escalatedBreaker) Error() string {
	return strings.TrimSuffix("breaker "+string(b), " ") + " is escalated and admits no call until Reset"
}

// Is reports whether target is [ErrEscalated].
func (escalatedBreaker) Is(target error) bool { return target == ErrEscalated }

// Timeout reports whether a limit on time ended the call or its last attempt.
// Packages net/url and net/http call it, as that of any net.Error.
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

// Permanent marks err as one that must not be retried. The wrapper that made
// the call removes the mark before its caller sees the error, so that a wrapper
// around that caller classifies the error itself. If the callee has wrapped the
// marked error in another one, the mark stays, and all wrappers honor it.
// Permanent(nil) returns nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &mark{err: err, permanent: true}
}

// After marks err as one of class [ClassRateLimit] that asks for a wait of d
// before the next attempt. A negative d is a request that could not be parsed.
// The policy's [RetryAfter] limits the wait: by default it is the longer of d,
// at most 5 minutes, and the delay of the schedule. A wait that exceeds a limit
// of the call stops the call immediately with [ErrRetryAfter]. After(nil, d)
// returns nil.
func After(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &mark{err: err, after: max(d, -1)}
}

// A mark is what a callee declares about its own error.
type mark struct {
	err       error
	permanent bool
	after     time.Duration // when not permanent; -1: unreadable
}

func (m *mark) Error() string { return m.err.Error() }
func (m *mark) Unwrap() error { return m.err }

// unmark removes the outermost marks.
func unmark(err error) error {
	for {
		m, ok := err.(*mark)
		if !ok {
			return err
		}
		err = m.err
	}
}
