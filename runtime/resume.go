package retry

import (
	"context"
	"time"
)

// The methods in this file take a [Call] apart, for packages that store calls:
// [Call.Next] is Inspect, [Policy.Decide], and then Stop, or Retry and the wait.
// Hand-written code calls [Do].

// Resume returns a call under p that continues from s, a state that [Call.State]
// or [Policy.Decide] returned.
func (p *Policy) Resume(s CallState, sh Shared) Call {
	c := p.BeginWith(sh)
	c.state, c.restored = s, true
	return c
}

// State returns the state of the call, for [Policy.Resume]. Its times are in UTC
// and have no monotonic clock reading, so that a copy that was stored equals it.
func (c *Call) State() CallState {
	s := c.state
	s.FailedAt, s.Expires, s.Deadline = s.FailedAt.Round(0).UTC(), s.Expires.Round(0).UTC(), s.Deadline.Round(0).UTC()
	return s
}

// Restore sets the state of the call to the one that [Policy.Decide] returned.
func (c *Call) Restore(s CallState) { c.state = s }

// Inspect returns what [Policy.Decide] needs to know about an attempt that
// failed with err. A nil err means that the attempt was lost. The breaker of the
// call takes its sample of the attempt, and the call keeps err as its last
// error. ctx is the context of the caller. A package that stores calls replaces
// Now and AdmitsAt of the inputs, and sets LostMax.
func (c *Call) Inspect(ctx context.Context, err error) (Failure, Inputs) {
	if err != nil {
		c.last, c.expired = err, false
	}
	f, in := Failure{Err: err, Lost: err == nil}, Inputs{}
	c.inspect(ctx, &f, &in)
	return f, in
}

// Stop returns the error for the caller of a call that v ends, and reports it as
// [EventStop]. The state of the call is that after the decision (see
// [Call.Restore]). If the verdict has a Wait, it is taken back from Waited: the
// call did not wait.
func (c *Call) Stop(ctx context.Context, f Failure, v Verdict) error {
	f.classify(c.policy)
	return c.stop(ctx, &f, &v)
}

// Retry reports the decision to try again as [EventRetry] and ends the context
// of the attempt. The state of the call is that after the decision (see
// [Call.Restore]). Retry neither waits nor withdraws from a budget.
func (c *Call) Retry(ctx context.Context, f Failure, v Verdict) {
	f.classify(c.policy)
	c.retry(ctx, &f, &v)
}

// TryAdmit asks the breaker for permission for the next attempt, without waiting
// for it. If the breaker refuses, TryAdmit returns false and what
// [Policy.Decide] needs to know about that. ctx is the context of the caller.
func (c *Call) TryAdmit(ctx context.Context) (Failure, Inputs, bool) {
	if c.admit() {
		return Failure{}, Inputs{}, true
	}
	f, in := Failure{Err: ErrBreakerOpen, Refused: true}, Inputs{}
	c.inspect(ctx, &f, &in)
	return f, in, false
}

// CallTimeout returns the timeout of a call with ctx: Timeout, or the one given
// to [WithScopeTimeout], within the hard limit. Zero means none.
func (p *Policy) CallTimeout(ctx context.Context) time.Duration { return p.timeout(ctx) }

// TimedOut reports whether the attempt exceeded its own limit, as far as
// [Call.Inspect] could know.
func (f *Failure) TimedOut() bool { return f.facts.expired }
