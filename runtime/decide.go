package retry

import (
	"context"
	"slices"
	"time"

	"github.com/retrygen/retrygen/runtime/breaker"
)

// A CallState is the state of a call between two attempts. It is plain data that can be
// stored, for example as JSON. A call that continues from a copy makes the same decisions
// as the original call would. A CallState is for generated code and for packages that
// store calls; hand-written code calls [Do]. In JSON, durations are nanoseconds.
type CallState struct {
	Attempts int           `json:"attempts,omitzero"` // number of failed attempts
	Refusals int           `json:"refusals,omitzero"` // refused attempts, if the policy retries refusals
	Lost     int           `json:"lost,omitzero"`     // attempts whose result is unknown
	Waited   time.Duration `json:"waited,omitzero"`   // sum of the waits, including the one before the next attempt
	Previous time.Duration `json:"previous,omitzero"` // the last delay, for JitterDecorrelated

	// FailedAt is the time of the first failure, loss or refusal. It is set only if the
	// policy has MaxElapsed or DelayBudget.
	FailedAt time.Time `json:"failed_at,omitzero"`
	// Expires is FailedAt + DelayBudget. A restored call makes no retry after this time.
	Expires time.Time `json:"expires,omitzero"`
	// Deadline is the time when Timeout ends the call. Zero means no deadline.
	Deadline time.Time `json:"deadline,omitzero"`
}

// attemptsCounted returns the number that MaxAttempts limits.
func (s *CallState) attemptsCounted() int { return s.Attempts + s.Refusals }

// attemptsMade returns the number of attempts that were made.
func (s *CallState) attemptsMade() int { return s.Attempts + s.Lost }

// A Failure is an attempt that failed, was refused, or was lost when its process ended.
// [Call.Inspect] returns a Failure to be passed to [Policy.Decide]. Decide also
// classifies a Failure that your own code has created. The zero Failure means that
// nothing failed.
type Failure struct {
	Err     error // error of the attempt; the refusal (ErrBreakerOpen or a capacity.Refusal) if refused; nil if lost
	Refused bool  // no attempt was made
	Lost    bool  // the result of the attempt is unknown, so the attempt may have succeeded

	policy  *Policy // the policy that classified Err, or nil
	facts   facts
	verdict verdict // what the policy decided about Err
	ended   bool    // the caller's context had ended: the failure shows nothing about the service
}

// Class returns the class of the error, as in events, or "". It is always "" for a
// failure that was not returned by [Call.Inspect].
func (f *Failure) Class() Class {
	if f.policy == nil || f.Err == nil {
		return ""
	}
	return f.policy.class(f.Err, &f.facts)
}

// classify completes a failure that was not inspected.
func (f *Failure) classify(p *Policy) {
	if f.policy == nil {
		f.policy, f.facts = p, p.inspect(f.Err)
		f.judge()
	}
}

// judge sets the verdict of the policy about the error. A lost attempt has no
// error, and is retried.
func (f *Failure) judge() {
	if f.Err != nil {
		f.verdict = f.policy.judge(f.Err, &f.facts)
	}
}

// isZero reports whether nothing failed.
func (f *Failure) isZero() bool { return f.Err == nil && !f.Refused && !f.Lost }

// Inputs are the facts on which a decision depends, in addition to the policy,
// the state and the failure.
type Inputs struct {
	// Now is the current time. It may be zero if neither the policy nor the
	// caller limits time.
	Now      time.Time
	Sample   float64   // random number from [0, 1), used for jitter
	Deadline time.Time // deadline of the caller's context, or zero
	Ended    Reason    // ErrCanceled or ErrDeadline once the caller's context has ended
	Cause    error     // the cause of the context's end
	Once     Reason    // ErrNested or ErrWithoutRetries if the call is attempted once, or ""
	Spent    error     // why the attempt cannot be repeated, or nil
	// Refusal describes when the breaker will admit the next attempt. Zero means that it
	// admits attempts now. AdmitsIn is ignored.
	Refusal Refusal
	// Restored reports whether the state was loaded from a store. A restored call makes
	// no retry after the Expires time of its state.
	Restored bool
	// LostMax is the number of lost attempts after which the call ends with ErrLost. Zero
	// means no limit.
	LostMax int
}

// A Verdict is a decision about a failure. Without a Reason, the call waits and
// makes another attempt. With a Reason, it ends.
type Verdict struct {
	Reason   Reason        // why the call ends, or ""
	Cause    error         // why the context ended or the attempt cannot be repeated, or nil
	Refusal  Refusal       // the breaker's refusal, if it has refused the attempt or will refuse the next one
	Ended    bool          // the caller's context had ended when the attempt failed
	Wait     time.Duration // wait before the next attempt; included in Waited of the new state
	Asked    time.Duration // the wait that the error asked for
	Granted  time.Duration // the part of Asked that the schedule allows
	Escalate bool          // if the call ends, whether its error matches ErrEscalated

	// If the Reason is ErrRetryAfter, Limit is the limit that Asked exceeds. It is
	// ErrDeadline, ErrElapsed or ErrDelayBudget, or ErrRetryAfter for the Max of
	// [RetryAfter]. Allowed is the longest wait that the limit allows.
	Limit   Reason
	Allowed time.Duration
}

// Decide returns the state of a call after a failure, and decides whether and when
// another attempt follows. The result depends only on the arguments. So a repeated call
// to Decide gives the same result, and a restored call makes the same decisions as the
// original call. Decide makes the checks listed in the package documentation, in that
// order, except for the shared budget. The caller checks the budget afterwards. If the
// budget refuses, the caller sets the Reason and Cause of the verdict.
//
// With the zero Failure, Decide reports whether an interrupted call may make its next
// attempt now. In this case, it returns s unchanged.
//
// Decide is for packages that store calls; hand-written code calls [Do].
func (p *Policy) Decide(s CallState, f Failure, in Inputs) (CallState, Verdict) {
	if f.isZero() {
		return s, p.decideResumed(&s, &in)
	}
	f.classify(p)
	var v Verdict
	p.decide(&s, &f, &in, &v)
	return s, v
}

// decide is [Policy.Decide] in place, for a failure that is classified. v must
// point to a zero verdict.
func (p *Policy) decide(s *CallState, f *Failure, in *Inputs, v *Verdict) {
	switch {
	case f.Lost:
		s.Lost++
	case !f.Refused:
		s.Attempts++
	}
	if p.MaxElapsed > 0 || p.DelayBudget > 0 {
		s.recordFirstFailure(p, in.Now)
	}
	v.Asked = max(f.facts.after, 0)
	if f.Refused && f.facts.refused == ErrBreakerOpen {
		v.setRefusal(in)
	}
	switch {
	case in.Ended != "":
		v.Reason, v.Cause, v.Ended = in.Ended, in.Cause, true
		return
	case f.verdict == escalatedError:
		v.Reason = ErrEscalated
		return
	case f.Refused && v.countRefusal(p, s, f, in):
		return
	case f.verdict == permanentError:
		v.Reason = ErrPermanent
		return
	case f.verdict == unclassifiedError:
		v.Reason = ErrUnclassified
		return
	case in.Once != "":
		v.Reason = in.Once
		return
	}
	schedule := p.schedule(f)
	v.Escalate = schedule.Escalate
	switch {
	case s.attemptsCounted() >= schedule.maxAttempts():
		v.Reason = ErrAttempts
		return
	case in.LostMax > 0 && s.Lost >= in.LostMax:
		v.Reason = ErrLost
		return
	case in.Spent != nil:
		v.Reason, v.Cause = ErrSpent, in.Spent
		return
	}
	// After a lost attempt, the next one is a retry as well.
	s.Previous = schedule.delay(s.attemptsCounted()+s.Lost, s.Previous, in.Sample)
	if !v.setRetryAfter(p, schedule, f) {
		v.Reason, v.Limit, v.Allowed = ErrRetryAfter, ErrRetryAfter, v.Granted
		return
	}
	wait := max(s.Previous, v.Granted)
	if limit, allowed := p.exceeds(s, in, wait); limit != "" {
		v.stopAtLimit(p, s, in, limit, allowed)
		return
	}
	if !p.retriesRefusal(ErrBreakerOpen) && !in.Refusal.admits(in.Now.Add(wait)) {
		v.setRefusal(in)
		v.stopAtRefusal(ErrBreakerOpen, schedule)
		return
	}
	v.Wait = wait
	s.Waited += wait
}

// recordFirstFailure records the time of the first failure.
func (s *CallState) recordFirstFailure(p *Policy, now time.Time) {
	if s.FailedAt.IsZero() {
		s.FailedAt = now
	}
	if p.DelayBudget > 0 && !s.FailedAt.IsZero() {
		s.Expires = s.FailedAt.Add(p.DelayBudget)
	}
}

// decideResumed decides whether an interrupted call may make its next attempt
// now.
func (p *Policy) decideResumed(s *CallState, in *Inputs) (v Verdict) {
	if in.Ended != "" {
		v.Reason, v.Cause, v.Ended = in.Ended, in.Cause, true
		return v
	}
	// The class of the last error is not known: the greatest limit applies.
	limit := p.maxAttempts()
	for i := range p.PerError {
		limit = max(limit, p.PerError[i].maxAttempts())
	}
	switch {
	case s.attemptsCounted() >= limit:
		v.Reason = ErrAttempts
	case in.LostMax > 0 && s.Lost >= in.LostMax:
		v.Reason = ErrLost
	case p.DelayBudget > 0 && in.Restored && !s.Expires.IsZero() && !in.Now.Before(s.Expires):
		v.Reason = ErrDelayBudget // at the time of the expiry, too
	default:
		v.Reason, _ = p.exceeds(s, in, 0)
	}
	return v
}

// schedule returns the schedule for a failure.
func (p *Policy) schedule(f *Failure) *Schedule {
	if f.Err != nil {
		if o := p.override(f.Err, &f.facts); o != nil {
			return &o.Schedule
		}
	}
	return &p.Schedule
}

// countRefusal counts a refusal if the policy retries those, and otherwise ends
// the call. It also ends the call at an escalated breaker, which does not close
// by itself. It reports whether the call ends.
func (v *Verdict) countRefusal(p *Policy, s *CallState, f *Failure, in *Inputs) (stops bool) {
	reason := f.facts.refused
	if !p.retriesRefusal(reason) || reason == ErrBreakerOpen && in.Refusal.State.NeedsReset() {
		v.stopAtRefusal(reason, &p.Schedule)
		return true
	}
	if f.verdict == retriedError {
		s.Refusals++
	}
	return false
}

// setRefusal sets what is known about the refusal of the breaker.
func (v *Verdict) setRefusal(in *Inputs) {
	v.Refusal = in.Refusal
	if v.Refusal.State == breaker.Open {
		v.Refusal.AdmitsIn = max(v.Refusal.AdmitsAt.Sub(in.Now), 0)
	}
}

// stopAtRefusal ends the call because the next attempt is refused.
func (v *Verdict) stopAtRefusal(reason Reason, schedule *Schedule) {
	escalated := reason == ErrBreakerOpen && v.Refusal.State == breaker.Escalated
	v.Reason, v.Escalate = reason, schedule.Escalate || escalated
}

// stopAtLimit ends the call because the wait exceeds a limit on time.
func (v *Verdict) stopAtLimit(p *Policy, s *CallState, in *Inputs, limit Reason, allowed time.Duration) {
	v.Reason = limit
	if limit == ErrDeadline {
		v.Cause = context.DeadlineExceeded
	}
	if exceeded, _ := p.exceeds(s, in, s.Previous); exceeded == "" {
		// The delay of the schedule alone would be allowed.
		v.Reason, v.Limit, v.Allowed = ErrRetryAfter, limit, allowed
	}
}

// setRetryAfter sets the wait that the error asks for, and reports whether the
// schedule allows it.
func (v *Verdict) setRetryAfter(p *Policy, schedule *Schedule, f *Failure) bool {
	r := &schedule.RetryAfter
	// The class is needed only here, and may require reading the text.
	rateLimit := r.Default > 0 && !f.facts.asked && p.belongs(f.Err, &f.facts, ClassRateLimit)
	v.Asked = r.wait(&f.facts, rateLimit)
	v.Granted = r.granted(v.Asked)
	return !r.FailOver || v.Asked <= r.Limit()
}

// granted returns the part of a wait that is allowed.
func (r *RetryAfter) granted(asked time.Duration) time.Duration { return min(asked, r.Limit()) }

// wait returns how long an error asks to wait.
func (r *RetryAfter) wait(f *facts, rateLimit bool) time.Duration {
	switch {
	case r.Max < 0:
		return 0
	case f.asked && f.after >= 0:
		return f.after
	case f.asked && r.Default == 0:
		return defaultRetryAfterUnreadable
	case f.asked || rateLimit:
		return r.Default
	}
	return 0
}

// exceeds returns the limit on time that a wait would exceed, and the longest wait
// that it allows; or "".
func (p *Policy) exceeds(s *CallState, in *Inputs, wait time.Duration) (limit Reason, allowed time.Duration) {
	end := in.Now.Add(wait)
	if p.DelayBudget > 0 {
		left := p.DelayBudget - s.Waited
		if in.Restored && !s.Expires.IsZero() {
			left = min(left, s.Expires.Sub(in.Now))
		}
		if wait > left {
			return ErrDelayBudget, max(left, 0)
		}
	}
	deadline := in.Deadline
	if !s.Deadline.IsZero() && (deadline.IsZero() || s.Deadline.Before(deadline)) {
		deadline = s.Deadline
	}
	switch {
	// An attempt that starts exactly at the deadline cannot succeed.
	case !deadline.IsZero() && !end.Before(deadline):
		return ErrDeadline, max(deadline.Sub(in.Now), 0)
	case p.MaxElapsed > 0 && !s.FailedAt.IsZero() && end.Sub(s.FailedAt) > p.MaxElapsed:
		return ErrElapsed, max(p.MaxElapsed-in.Now.Sub(s.FailedAt), 0)
	}
	return "", 0
}

// retriesRefusal reports whether the policy tries again after an attempt that was
// refused for a reason.
func (p *Policy) retriesRefusal(r Reason) bool { return slices.Contains(p.RetryOn, r.class()) }
