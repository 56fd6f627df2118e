package retry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/retrygen/retrygen/runtime/capacity"
)

// A Reason explains why a call was not retried further. Reasons are errors:
// errors.Is(err, retry.ErrAttempts) is true for an [*Error] with that reason.
type Reason string

// The reasons of an [*Error].
const (
	ErrPermanent Reason = "permanent error" // the policy does not retry this error
	// ErrUnclassified means that nothing is known about the error and the policy does not
	// set RetryUnknown.
	ErrUnclassified Reason = "not in retry_on: unclassified error"
	ErrAttempts     Reason = "attempts exhausted"     // MaxAttempts is reached
	ErrDelayBudget  Reason = "delay budget exhausted" // the wait would exceed DelayBudget
	ErrElapsed      Reason = "max elapsed exceeded"   // the wait would exceed MaxElapsed
	ErrDeadline     Reason = "deadline too near"      // the deadline or Timeout has passed, or would pass during the wait
	ErrCanceled     Reason = "canceled"               // the caller's context was canceled
	ErrRetryAfter   Reason = "retry-after too long"   // the wait that the error asks for exceeds a limit
	ErrBreakerOpen  Reason = "breaker open"           // the breaker admits no attempt
	ErrLimited      Reason = "no permit"              // no permit became free within the limiter's MaxWait
	ErrRateLimited  Reason = "rate limited"           // the rate had no free slot within its MaxWait
	ErrThrottled    Reason = "throttled"              // the throttle refused the attempt, because the service is failing
	ErrBudget       Reason = "retry budget exhausted" // the shared budget has no retry left
	ErrNested       Reason = "attempt of a retry"     // the outer call is already retried
	ErrEscalated    Reason = "escalated"              // the error needs a person to handle it
	ErrSpent        Reason = "argument used up"       // an argument cannot be rewound; Cause has the reason
	ErrLost         Reason = "attempts lost"          // Inputs.LostMax is reached

	ErrWithoutRetries Reason = "retries switched off" // the context allows no retries: see WithoutRetries
)

// reasonOf returns the reason for a refusal by a budget: the [Reason] in the
// tree of its error, or ErrBudget.
func reasonOf(err error) Reason {
	if r, ok := errors.AsType[Reason](err); ok {
		return r
	}
	return ErrBudget
}

// class returns the class of the errors of attempts that were refused for the reason, or
// "" if it is no refusal.
func (r Reason) class() Class {
	switch r {
	case ErrBreakerOpen:
		return ClassBreakerOpen
	case ErrLimited:
		return ClassLimited
	case ErrRateLimited:
		return ClassRateLimited
	case ErrThrottled:
		return ClassThrottled
	}
	return ""
}

// exhausted reports whether a limit of the policy ended the call.
func (r Reason) exhausted() bool {
	return r != ErrPermanent && r != ErrUnclassified && r != ErrCanceled
}

// shared reports whether the reason is a property of the error or of the context.
// Calls inside each other then end for the same reason, which the innermost
// reports.
func (r Reason) shared() bool { return r == ErrEscalated || r == ErrDeadline || r == ErrRetryAfter }

// The reasons that context.Cause returns inside an attempt after one of the policy's
// limits has ended its context.
const (
	ErrAttemptTimeout Reason = "attempt timeout exceeded" // AttemptTimeout has passed
	ErrTimeout        Reason = "timeout exceeded"         // Timeout has passed
)

// Error returns the text of the reason.
func (r Reason) Error() string { return string(r) }

// Is reports whether target is the error from package context that corresponds to the
// reason. Some code, such as net/http, returns the cause of a context instead of its
// error. With this method, such errors match context.DeadlineExceeded and
// context.Canceled.
func (r Reason) Is(target error) bool {
	switch target {
	case context.DeadlineExceeded:
		return r.Timeout()
	case context.Canceled:
		return r == ErrCanceled
	}
	return false
}

// Timeout reports whether the reason is a time limit. It implements the Timeout method of
// net.Error.
func (r Reason) Timeout() bool { return r == ErrAttemptTimeout || r == ErrTimeout || r == ErrDeadline }

// An Error reports why a call stopped, and wraps the error of its last attempt. errors.Is
// and errors.As find that error, the reason, and the context's cause.
//
// An error on which the policy had no effect is returned unchanged, not wrapped in an Error.
// This happens only on the first attempt, in one of these cases: the error is permanent
// or unclassified; the policy allows only one attempt; the error shows that the caller's
// context has ended; or the error is already an Error from an inner call that stopped for
// the same reason as this call. Such a reason is an escalation, a deadline that is too
// near, or a requested wait that is too long.
type Error struct {
	Policy     string        // name of the policy
	Reason     Reason        // why there was no further attempt
	Attempts   int           // attempts made, including lost ones but not refused ones
	Waited     time.Duration // sum of the waits between the attempts
	RetryAfter time.Duration // the wait that the last error asked for, or 0
	Escalated  bool          // the error matches ErrEscalated
	Err        error         // error of the last attempt; the refusal if all attempts were refused; or nil
	// Cause explains why the context ended or an argument cannot be rewound. If the last
	// attempt was refused or the next one would be, Cause is the refusal: a [Refusal] by
	// the breaker, or a [capacity.Refusal]. Otherwise it is nil.
	Cause error

	// If the Reason is ErrRetryAfter, Limit is the limit that RetryAfter exceeds. It is
	// ErrDeadline, ErrElapsed or ErrDelayBudget, or ErrRetryAfter for the Max of
	// [RetryAfter]. Allowed is the longest wait that the limit allowed.
	Limit   Reason
	Allowed time.Duration

	stated bool // Err is that of a call inside this one, and states the reason
}

// Error returns one line with the policy, the reason, the number of attempts, the time
// spent waiting and the last error. It omits the reason if the last error already
// contains it.
func (e *Error) Error() string {
	policy := e.Policy
	if policy != "" {
		policy += ": "
	}
	reason := e.Reason.Error()
	if e.Reason.class() != "" && e.Cause != nil {
		reason = e.Cause.Error()
	}
	switch {
	case e.Limit == ErrRetryAfter:
		reason += fmt.Sprintf(" (%v, above max %v)", rounded(e.RetryAfter), e.Allowed)
	case e.Limit != "":
		reason += fmt.Sprintf(" (%v, %v left %s)", rounded(e.RetryAfter), rounded(e.Allowed), ofLimit[e.Limit])
	}
	if e.Err == nil {
		return policy + reason
	}
	if e.stated {
		reason = ""
	} else {
		reason += " "
	}
	noun := "attempts"
	if e.Attempts == 1 {
		noun = "attempt"
	}
	text := fmt.Sprintf("%s%safter %d %s and %v of waiting", policy, reason, e.Attempts, noun, rounded(e.Waited))
	if e.Reason.class() != "" && e.Attempts == 0 {
		return text // the reason is the same refusal
	}
	return fmt.Sprintf("%s: %v", text, e.Err)
}

// ofLimit names the limits on time in the text of ErrRetryAfter.
var ofLimit = map[Reason]string{
	ErrDeadline: "until the deadline", ErrElapsed: "of max elapsed", ErrDelayBudget: "of the delay budget",
}

// rounded returns d in milliseconds if it is longer than one.
func rounded(d time.Duration) time.Duration {
	if d > time.Millisecond {
		return d.Round(time.Millisecond)
	}
	return d
}

// Timeout reports whether a time limit ended the call or its last attempt. It implements
// the Timeout method of net.Error, which packages net/url and net/http call.
func (e *Error) Timeout() bool {
	var timeout interface{ Timeout() bool }
	return e.Reason.Timeout() || errors.As(e.Err, &timeout) && timeout.Timeout()
}

// Unwrap returns the last error, the reason and the cause. If the cause is a
// [capacity.Refusal], Unwrap also returns [ErrLimited], [ErrRateLimited] or [ErrThrottled],
// which package capacity cannot name.
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
	if by, ok := e.Cause.(capacity.Refusal); ok && e.Reason != reasonFor(by) {
		list = append(list, reasonFor(by))
	}
	return list
}

// Permanent marks err as an error that must not be retried. Permanent(nil) returns nil.
//
// The wrapper that made the call removes the mark before it returns the error, so that an
// outer wrapper classifies the error itself. If the called function has wrapped the
// marked error in another error, the mark remains and all wrappers respect it.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &markedError{err: err, permanent: true}
}

// After returns err marked as an error of class [ClassRateLimit] that asks for a
// wait of d before the next attempt. A negative d means that the error asks for a
// wait that could not be parsed. After(nil, d) returns nil.
//
// The policy's [RetryAfter] limits the wait. By default, the wait is d, capped at 5
// minutes, or the schedule's delay if that is longer. If the wait exceeds a limit of the
// call, the call ends at once with [ErrRetryAfter]. If a call ends because it is part of
// a retry ([ErrNested]), the outer call waits.
func After(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &markedError{err: err, after: max(d, -1)}
}

// A markedError is an error that the callee has marked with Permanent or After.
type markedError struct {
	err       error
	permanent bool
	after     time.Duration // if not permanent; -1 if it could not be parsed
}

func (m *markedError) Error() string { return m.err.Error() }
func (m *markedError) Unwrap() error { return m.err }

// unmark removes the outermost marks.
func unmark(err error) error {
	for {
		m, ok := err.(*markedError)
		if !ok {
			return err
		}
		err = m.err
	}
}
