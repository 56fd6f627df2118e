package retry

import (
	"context"
	"errors"

	"github.com/retrygen/retrygen/runtime/capacity"
)

// This file decides what a call that makes no more attempts reports and returns.

// stop reports the end of the call, and returns the error for the caller.
func (c *Call) stop(ctx context.Context, f *Failure, v *Verdict) error {
	c.state.Waited -= v.Wait // this wait did not take place
	if v.Cause == nil && (f.Refused || v.Reason == ErrBreakerOpen) {
		v.Cause = v.refusal(f)
	}
	if f.Err == nil || f.Refused {
		f = c.lastFailure(f, v)
	}
	if observe := observer(ctx); observe != nil {
		e := c.event(f, EventStop)
		e.Reason, e.AdmitsIn = v.Reason, v.Refusal.AdmitsIn
		if v.Reason == ErrRetryAfter {
			e.RetryAfter = v.Asked
		}
		observe(ctx, e)
	}
	err := unmark(f.Err)
	switch unchanged := c.returnsUnchanged(f, v); {
	case unchanged && v.Reason == ErrNested:
		return f.Err // with the wait that it asks for, about which the outer call decides
	case unchanged:
		return err
	}
	return &Error{
		Policy: c.policy.Name, Reason: v.Reason,
		Attempts: c.state.attemptsMade(), Waited: c.state.Waited, RetryAfter: v.Asked,
		Limit: v.Limit, Allowed: v.Allowed,
		Escalated: v.escalated(), Err: err, Cause: v.Cause,
		stated: f.facts.stopped == v.Reason && v.Reason.shared(),
	}
}

// escalated reports whether the error of the call that v ends matches
// ErrEscalated.
func (v *Verdict) escalated() bool {
	return v.Reason == ErrEscalated || v.Escalate && v.Reason.exhausted()
}

// lastFailure returns the failure of the last attempt, whose error must not be hidden by
// a refusal, by a loss or by the absence of a failure.
func (c *Call) lastFailure(f *Failure, v *Verdict) *Failure {
	last := &Failure{Err: c.last, Refused: f.Refused, Lost: f.Lost, policy: c.policy}
	if c.last == nil && c.state.Refusals > 0 {
		last.Err = v.refusal(f)
	}
	last.facts = c.policy.inspect(last.Err)
	if c.expired {
		last.facts.timedOut()
	}
	if f.Refused && v.Reason.class() != "" {
		schedule := c.policy.schedule(last)
		if last.Err != nil {
			v.setRetryAfter(c.policy, schedule, last)
		}
		v.stopAtRefusal(v.Reason, schedule)
	}
	return last
}

// refusal returns the error of what refuses the attempt that failed, or the next one.
func (v *Verdict) refusal(f *Failure) error {
	if by, ok := f.Err.(capacity.Refusal); ok && f.Refused {
		return by
	}
	return v.Refusal
}

// returnsUnchanged reports whether the policy did nothing about the error of the
// first attempt, which is then returned unchanged.
func (c *Call) returnsUnchanged(f *Failure, v *Verdict) bool {
	switch {
	case f.Err == nil || f.Refused || f.Lost || c.state.attemptsCounted()+c.state.Lost > 1:
		return false
	case v.Ended:
		// An error that does not show that the context has ended needs the
		// reason.
		return v.Reason == ErrCanceled && errors.Is(f.Err, context.Canceled) ||
			v.Reason == ErrDeadline && errors.Is(f.Err, context.DeadlineExceeded)
	case v.Reason == ErrAttempts:
		return !v.Escalate
	case v.Reason.shared() && f.facts.stopped == v.Reason:
		return true
	}
	return v.Reason == ErrPermanent || v.Reason == ErrUnclassified || v.Reason == ErrNested ||
		v.Reason == ErrWithoutRetries
}
