package retry

import (
	"context"
	"slices"
	"time"
)

// A callState is what a call remembers from one attempt to the next. It is
// plain data: a call that continues from a copy of it decides as the call from
// which the copy was made.
type callState struct {
	attempts int           // that failed
	refusals int           // attempts that the breaker refused, where the policy retries those
	waited   time.Duration // sum of the waits, that before the next attempt included
	previous time.Duration // the last delay, for JitterDecorrelated
	failedAt time.Time     // the first failure or refusal, under MaxElapsed
	deadline time.Time     // of the call, under Timeout
}

// tries returns the number that MaxAttempts limits.
func (s *callState) tries() int { return s.attempts + s.refusals }

// A failure is a failed attempt, or one that the breaker refused.
type failure struct {
	err     error
	refused bool // by the breaker: no attempt was made
	facts   facts
	verdict verdict // of the policy about err
}

// inputs are what a decision depends on besides the policy, the state and the
// failure.
type inputs struct {
	now      time.Time // zero where the policy and the caller have no limit on time
	sample   float64   // from [0, 1), for jitter
	deadline time.Time // of the caller's context, or zero
	ended    Reason    // ErrCanceled or ErrDeadline once the caller's context has ended
	cause    error     // with which it ended
	nested   bool      // the call is part of a retry of another call
	spent    error     // why the attempt cannot be repeated, or nil
	// The breaker admits no attempt before this time. Zero: it admits attempts
	// now.
	admitsAt time.Time
}

// A decision is what follows a failure: a wait and another attempt, or, with a
// reason, the end of the call.
type decision struct {
	reason   Reason
	cause    error         // why the context ended or the attempt cannot be repeated, or nil
	ended    bool          // the caller's context had ended when the attempt failed
	wait     time.Duration // before the next attempt
	asked    time.Duration // the wait that the error asked for
	granted  time.Duration // the part of it that the schedule allows
	escalate bool          // if this ends the call
}

// decide returns the decision about a failure, and updates the state of the
// call. It depends on nothing but its arguments, so that it may be repeated,
// and so that a restored call decides as a live one. The order of its checks is
// that of the package documentation; the shared budget comes last and is left
// to the caller.
func (p *Policy) decide(s *callState, f *failure, in *inputs) (d decision) {
	if f.refused {
		s.refusals++
	} else {
		s.attempts++
	}
	d.asked = max(f.facts.after, 0)
	switch {
	case in.ended != "":
		d.reason, d.cause, d.ended = in.ended, in.cause, true
		return d
	case f.verdict == escalatedError:
		d.reason = ErrEscalated
		return d
	case f.verdict == permanentError:
		d.reason = ErrPermanent
		return d
	case in.nested && !p.Nested:
		d.reason = ErrNested
		return d
	}
	schedule := p.schedule(f)
	d.escalate = schedule.Escalate
	if s.tries() >= schedule.maxAttempts() {
		d.reason = ErrAttempts
		return d
	}
	if in.spent != nil {
		d.reason, d.cause = ErrSpent, in.spent
		return d
	}
	if p.MaxElapsed > 0 && s.failedAt.IsZero() {
		s.failedAt = in.now
	}
	s.previous = schedule.delay(s.tries(), s.previous, in.sample)
	if !d.ask(p, schedule, f) {
		return d
	}
	d.wait = max(s.previous, d.granted)
	if d.reason = p.exceeds(s, in, d.wait); d.reason != "" {
		if d.reason == ErrDeadline {
			d.cause = context.DeadlineExceeded
		}
		if p.exceeds(s, in, s.previous) == "" {
			d.reason = ErrRetryAfter // without the request the call would go on
		}
		return d
	}
	if !in.admitsAt.IsZero() && !p.retriesOpenBreaker() && !in.now.Add(d.wait).After(in.admitsAt) {
		d.reason = ErrBreakerOpen
		return d
	}
	s.waited += d.wait
	return d
}

// schedule returns the schedule for a failure.
func (p *Policy) schedule(f *failure) *Schedule {
	if f.err != nil {
		if o := p.override(f.err, &f.facts); o != nil {
			return &o.Schedule
		}
	}
	return &p.Schedule
}

// ask sets the wait that the error asks for, and reports whether the schedule
// allows it.
func (d *decision) ask(p *Policy, schedule *Schedule, f *failure) bool {
	r := &schedule.RetryAfter
	// The class is looked for only where it matters: that may take the text.
	rateLimit := r.Default > 0 && !f.facts.asked && p.belongs(f.err, &f.facts, ClassRateLimit)
	d.asked = r.wait(&f.facts, rateLimit)
	d.granted = min(d.asked, r.Limit())
	if r.FailOver && d.asked > r.Limit() {
		d.reason = ErrRetryAfter
		return false
	}
	return true
}

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

// exceeds returns the limit on time that a wait would exceed, or "".
func (p *Policy) exceeds(s *callState, in *inputs, wait time.Duration) Reason {
	if p.DelayBudget > 0 && addSaturated(s.waited, wait) > p.DelayBudget {
		return ErrDelayBudget
	}
	deadline := in.deadline
	if !s.deadline.IsZero() && (deadline.IsZero() || s.deadline.Before(deadline)) {
		deadline = s.deadline
	}
	end := in.now.Add(wait)
	switch {
	// An attempt that starts at the deadline is lost as well.
	case !deadline.IsZero() && !end.Before(deadline):
		return ErrDeadline
	case p.MaxElapsed > 0 && end.Sub(s.failedAt) > p.MaxElapsed:
		return ErrElapsed
	}
	return ""
}

// retriesOpenBreaker reports whether the policy waits for a breaker that
// refuses attempts.
func (p *Policy) retriesOpenBreaker() bool { return slices.Contains(p.RetryOn, ClassBreakerOpen) }
