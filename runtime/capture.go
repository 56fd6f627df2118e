package retry

import (
	"context"
	"errors"
	"time"
)

// A Timeout describes a time limit that has ended an attempt or a call under a policy
// with Capture set. Package recovery uses it to save the state of the interrupted work.
type Timeout struct {
	Policy string // name of the policy
	Scope  string // scope of the policy
	// Limit is the time that the attempt or the call had: AttemptTimeout, Timeout, or
	// less if the caller's deadline was earlier. Zero means that the limit is unknown
	// because the policy has neither a Timeout nor a HardLimit.
	Limit time.Duration
	// Elapsed is the time since the attempt or the call began. It is shorter than Limit
	// if the call stopped because the next wait would have exceeded the limit.
	Elapsed time.Duration
	Retries int    // retries made before, including lost attempts
	Action  Action // what happens next: ActionRetry, ActionFail or ActionEscalate
	Err     error  // error of the attempt
}

type captureKey struct{}

// A captureFunc captures a timeout.
type captureFunc = func(context.Context, Timeout) error

// WithCapture returns a copy of ctx with a function f that captures timeouts. If ctx
// already has such a function, f replaces it. If the policy of a wrapped call has Capture
// set, f is called when a time limit has ended an attempt, or when the call stops with
// [ErrDeadline]. This happens after the attempt has returned and before the wait for the
// next one. f runs in the goroutine of the call, so it delays the call. The observers of
// ctx receive the result as an [EventCapture].
//
// Package recovery provides such a function, so few programs need to call WithCapture
// themselves.
func WithCapture(ctx context.Context, f func(context.Context, Timeout) error) context.Context {
	return context.WithValue(ctx, captureKey{}, f)
}

var errNoCapture = errors.New("there is no recorder in the context: derive it with package recovery")

// Capture captures the timeout of an attempt, if the attempt timed out and the policy has
// Capture set. v is the decision made after the attempt. [Call.Next] calls Capture
// itself. A package that stores calls first passes the state that Decide returned to
// [Call.Restore]. Then it calls Capture with the inputs that [Call.Inspect] returned.
func (c *Call) Capture(ctx context.Context, f Failure, in Inputs, v Verdict) {
	if c.policy.Capture {
		f.classify(c.policy)
		c.capture(ctx, &f, &in, &v)
	}
}

// capture captures a timeout, and reports that to the observers.
func (c *Call) capture(ctx context.Context, f *Failure, in *Inputs, v *Verdict) {
	if in.Ended == ErrCanceled || in.Ended == "" && v.Reason != ErrDeadline && !f.facts.expired {
		return
	}
	t := Timeout{
		Policy: c.policy.Name, Scope: c.policy.Scope, Retries: max(c.state.attemptsMade()-1, 0), Action: v.action(),
		Err: unmark(c.last),
	}
	t.Limit, t.Elapsed = c.measure(ctx, f, in)
	err := errNoCapture
	if capture, ok := ctx.Value(captureKey{}).(captureFunc); ok {
		err = capture(ctx, t)
	}
	if observe := observer(ctx); observe != nil {
		e := c.event(f, EventCapture)
		e.Err, e.Timeout = err, t.Limit
		e.Waited -= v.Wait
		observe(ctx, e)
	}
}

// action returns what follows a failure.
func (v *Verdict) action() Action {
	switch {
	case v.Reason == "":
		return ActionRetry
	case v.escalated():
		return ActionEscalate
	}
	return ActionFail
}

// measure returns the limit on time that was reached, and the time since it began.
func (c *Call) measure(ctx context.Context, f *Failure, in *Inputs) (limit, elapsed time.Duration) {
	p := c.policy
	if f.facts.expired && c.attempt != nil && p.AttemptTimeout > 0 {
		if end, _ := c.attempt.Deadline(); c.state.Deadline.IsZero() || end.Before(c.state.Deadline) {
			return p.AttemptTimeout, in.Now.Sub(end) + p.AttemptTimeout
		}
	}
	limit, _ = p.limit(ctx)
	end := c.state.Deadline
	if end.IsZero() || limit <= 0 {
		return 0, 0
	}
	elapsed = in.Now.Sub(end) + limit
	if outer, ok := ctx.Deadline(); ok && outer.Before(end) {
		limit -= end.Sub(outer)
	}
	return limit, elapsed
}
