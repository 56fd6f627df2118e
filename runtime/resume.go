package retry

import (
	"context"
	"time"
)

// The methods in this file are the steps of [Call.Next], for packages that store
// calls: Inspect, [Policy.Decide], and then either Stop, or Retry and the wait.
// Hand-written code calls [Do].

// Resume returns a call under p that continues from s, a state returned by [Call.State]
// or [Policy.Decide]. The call uses the breaker and the budget
// in shared.
func (p *Policy) Resume(s CallState, shared Shared) Call {
	c := p.BeginWith(shared)
	c.state, c.restored = s, true
	return c
}

// State returns the state of the call, for [Policy.Resume]. Its times are in UTC and have
// no monotonic clock reading, so that a stored copy is equal to it.
func (c *Call) State() CallState {
	s := c.state
	s.FailedAt, s.Expires, s.Deadline = s.FailedAt.Round(0).UTC(), s.Expires.Round(0).UTC(), s.Deadline.Round(0).UTC()
	return s
}

// Restore sets the state of the call to s, which was returned by [Policy.Decide].
func (c *Call) Restore(s CallState) { c.state = s }

// Inspect returns the arguments of [Policy.Decide] for an attempt that failed with err.
// If err is nil, the attempt was lost. Inspect also reports the sample of the attempt to
// the breaker, and keeps err as the last error of the call. ctx is the caller's context.
// A package that stores calls must replace Now and Refusal in the inputs and set LostMax.
func (c *Call) Inspect(ctx context.Context, err error) (Failure, Inputs) {
	if err != nil {
		c.last, c.expired = err, false
	}
	f, in := Failure{Err: err, Lost: err == nil}, Inputs{}
	c.inspect(ctx, &f, &in)
	return f, in
}

// Stop reports the end of a call as [EventStop] and returns the error for the caller. v
// is the decision to end the call. Before calling Stop, pass the state that Decide
// returned to [Call.Restore]. If v has a Wait, Stop subtracts it from Waited, because the
// call did not wait.
func (c *Call) Stop(ctx context.Context, f Failure, v Verdict) error {
	f.classify(c.policy)
	return c.stop(ctx, &f, &v)
}

// Retry reports the decision to retry as [EventRetry] and ends the context of the
// attempt. Before calling Retry, pass the state that Decide returned to [Call.Restore].
// Retry neither waits nor takes anything from a budget.
func (c *Call) Retry(ctx context.Context, f Failure, v Verdict) {
	f.classify(c.policy)
	c.retry(ctx, &f, &v)
}

// TryAdmit asks the breaker and the gate for permission for the next attempt. It waits
// for its turn at the gate, but for nothing else. If one of them refuses, TryAdmit
// returns the arguments of [Policy.Decide] for this refusal, and false. ctx is the
// caller's context.
func (c *Call) TryAdmit(ctx context.Context) (Failure, Inputs, bool) {
	err := c.admit(ctx)
	if err == nil {
		return Failure{}, Inputs{}, true
	}
	f, in := Failure{Err: err, Refused: true}, Inputs{}
	c.inspect(ctx, &f, &in)
	return f, in, false
}

// CallTimeout returns the timeout of a call with ctx. It is Timeout, or the timeout set
// with [WithScopeTimeout], but at most the hard limit. Zero means no timeout.
func (p *Policy) CallTimeout(ctx context.Context) time.Duration { return p.timeout(ctx) }

// TimedOut reports whether the attempt exceeded its own limit. It is always false for a
// failure that was not returned by [Call.Inspect].
func (f *Failure) TimedOut() bool { return f.facts.expired }
