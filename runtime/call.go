package retry

import (
	"context"
	"math/rand/v2"
	"time"
)

// A Call is the state of one retried call. Generated code keeps it on the
// stack; it belongs to one goroutine. Policies with a time limit use
// [Call.Attempt] and [Call.End]; all use [Call.Next].
type Call struct {
	policy   *Policy
	attempts int           // that failed
	waited   time.Duration // between them
	previous time.Duration // the last wait, for Decorrelated
	failedAt time.Time     // the first time, under MaxElapsed
	deadline time.Time     // of the call, under Timeout

	decided  bool          // the policy had something to decide about an error
	escalate bool          // if this error exhausts the call
	asked    time.Duration // wait that the last error asked for

	attempt context.Context // derived for the attempt, or nil
	cancel  context.CancelFunc
}

// Begin returns the state of a new call under p.
func (p *Policy) Begin() Call { return Call{policy: p} }

// Attempt returns the context for the next attempt: ctx limited by the
// policy's Timeout and AttemptTimeout, folded into one deadline. Where ctx
// already ends no later, it is ctx itself. The context ends with the next call
// of Attempt, Next or End, except that one derived for Timeout alone serves
// all attempts.
func (c *Call) Attempt(ctx context.Context) context.Context {
	p := c.policy
	if c.attempt != nil {
		if p.AttemptTimeout <= 0 {
			return c.attempt
		}
		c.release()
	}
	now := time.Now()
	var limit time.Time
	var cause error
	if p.Timeout > 0 {
		if c.deadline.IsZero() {
			c.deadline = now.Add(p.Timeout)
		}
		limit, cause = c.deadline, ErrTimeout
	}
	if p.AttemptTimeout > 0 {
		if end := now.Add(p.AttemptTimeout); limit.IsZero() || end.Before(limit) {
			limit, cause = end, ErrAttemptTimeout
		}
	}
	if limit.IsZero() {
		return ctx
	}
	if outer, ok := ctx.Deadline(); ok && !outer.After(limit) {
		return ctx
	}
	c.attempt, c.cancel = context.WithDeadlineCause(ctx, limit, cause)
	return c.attempt
}

// End releases what [Call.Attempt] took. Generated code defers it, so that a
// panic in the callee leaks no timer.
func (c *Call) End() {
	if c.attempt != nil {
		c.release()
	}
}

func (c *Call) release() {
	c.cancel()
	c.attempt, c.cancel = nil, nil
}

// Next decides what follows a failed attempt. It returns nil after having
// waited: try again. Otherwise it returns the error to give to the caller,
// usually an [*Error]. ctx is the caller's context; err is not nil.
//
//go:noinline
func (c *Call) Next(ctx context.Context, err error) error {
	c.attempts++
	// Asked before the attempt's context is released, which would end it too.
	timedOut := c.attempt != nil && c.attempt.Err() != nil
	if c.policy.AttemptTimeout > 0 {
		c.End()
	}
	if ctx.Err() != nil {
		return c.stopped(ctx, err)
	}
	p := c.policy
	f := inspect(err)
	if timedOut {
		f.typed, f.timeout = true, true
	}
	c.asked = max(f.after, 0)
	switch p.judge(err, &f) {
	case escalatedError:
		c.decided = true
		return c.stop(ctx, err, ErrEscalated, nil)
	case permanentError:
		return c.stop(ctx, err, ErrPermanent, nil)
	}
	c.decided = true
	schedule := p
	if o := p.override(err, &f); o != nil {
		own := o.Schedule()
		schedule = &own
	}
	c.escalate = schedule.Escalate
	if limit := schedule.attempts(); limit != Unlimited && c.attempts >= limit {
		return c.stop(ctx, err, ErrAttempts, nil)
	}

	delay := schedule.Delay(c.attempts, c.previous, schedule.sample())
	c.previous = delay
	asked := schedule.RetryAfter.wait(&f, p.belongs(err, &f, RateLimit))
	c.asked = asked
	if most := schedule.RetryAfter.max(); asked > most {
		if schedule.RetryAfter.FailOver {
			return c.stop(ctx, err, ErrRetryAfter, nil)
		}
		asked = most
	}
	wait := max(delay, asked)
	if reason := c.refuse(ctx, wait); reason != "" {
		if wait > delay {
			reason = ErrRetryAfter
		}
		var cause error
		if reason == ErrDeadline {
			cause = context.DeadlineExceeded
		}
		return c.stop(ctx, err, reason, cause)
	}

	observe(ctx, Event{Policy: p.Name, Attempt: c.attempts, Err: unmark(err), Delay: wait, Waited: c.waited})
	if !sleep(ctx, wait) {
		return c.stopped(ctx, err)
	}
	c.waited += wait
	return nil
}

// wait returns how long an error asks to wait.
func (r *RetryAfter) wait(f *facts, rateLimit bool) time.Duration {
	switch {
	case r.Max < 0:
		return 0
	case f.asked && f.after >= 0:
		return f.after
	case f.asked && r.Default == 0:
		return DefaultRetryAfterUnreadable
	case f.asked || rateLimit:
		return r.Default
	}
	return 0
}

// refuse returns the limit on time that a wait would pass, or "".
func (c *Call) refuse(ctx context.Context, wait time.Duration) Reason {
	p := c.policy
	deadline, limited := ctx.Deadline()
	if !c.deadline.IsZero() && (!limited || c.deadline.Before(deadline)) {
		deadline, limited = c.deadline, true
	}
	if limited || p.MaxElapsed > 0 {
		end := time.Now()
		if c.failedAt.IsZero() {
			c.failedAt = end
		}
		end = end.Add(wait)
		// An attempt that starts on the deadline is lost as well.
		if limited && !end.Before(deadline) {
			return ErrDeadline
		}
		if p.MaxElapsed > 0 && end.Sub(c.failedAt) > p.MaxElapsed {
			return ErrElapsed
		}
	}
	if p.DelayBudget > 0 && addSaturated(c.waited, wait) > p.DelayBudget {
		return ErrDelayBudget
	}
	return ""
}

// sample draws from [0, 1) when the policy has a use for it.
func (p *Policy) sample() float64 {
	if p.Jitter == NoJitter {
		return 0
	}
	return rand.Float64()
}

// sleep reports whether ctx is still alive after d.
func sleep(ctx context.Context, d time.Duration) bool {
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	// A select picks any ready case: the timer may have won over a context
	// that had ended before it.
	return ctx.Err() == nil
}

// stopped gives up because the caller's context has ended.
func (c *Call) stopped(ctx context.Context, err error) error {
	reason := ErrCanceled
	if ctx.Err() == context.DeadlineExceeded {
		reason = ErrDeadline
	}
	return c.stop(ctx, err, reason, context.Cause(ctx))
}

// stop gives up. Where the policy had nothing to decide, the error goes back as
// the callee made it.
func (c *Call) stop(ctx context.Context, err error, reason Reason, cause error) error {
	err = unmark(err)
	observe(ctx, Event{Policy: c.policy.Name, Attempt: c.attempts, Err: err, Waited: c.waited, Reason: reason})
	if !c.decided {
		return err
	}
	return &Error{
		Policy: c.policy.Name, Reason: reason, Attempts: c.attempts, Waited: c.waited,
		RetryAfter: c.asked, Escalated: reason == ErrEscalated || c.escalate && reason.exhausted(), Err: err, Cause: cause,
	}
}
