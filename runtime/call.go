package retry

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"
)

// A Call is the state of one retried call. Generated code keeps it on the
// stack; it belongs to one goroutine. Policies with a time limit use
// [Call.Attempt] and [Call.End], those with a breaker or a budget [Call.Succeed]
// and [Call.End]; all use [Call.Next].
type Call struct {
	policy   *Policy
	attempts int           // that failed
	refusals int           // of the breaker, where they are retried
	waited   time.Duration // between them
	previous time.Duration // the last wait, for Decorrelated
	failedAt time.Time     // the first time, under MaxElapsed
	deadline time.Time     // of the call, under Timeout

	decided  bool          // the policy had something to decide about an error
	escalate bool          // if this error exhausts the call
	refused  bool          // the breaker gave no leave for the last attempt
	timedOut bool          // the last attempt ended with its own limit
	asked    time.Duration // wait that the last error asked for
	last     error         // of an attempt that was made
	id       uint64        // for observers, or 0

	breaker *Breaker // or nil
	permit  permit   // of the attempt under way
	budget  RetryBudget

	attempt context.Context // derived for the attempt, or nil
	cancel  context.CancelFunc

	beforeWait func() // or nil
}

// Begin returns the state of a new call under p.
func (p *Policy) Begin() Call { return Call{policy: p} }

// BeginWith returns the state of a new call under p that shares a breaker and a
// budget with others; either may be nil. pass is what [Breaker.Ready] gave for
// the first attempt. Where that was not ready, [Call.Next] with a nil error
// comes before the first attempt.
func (p *Policy) BeginWith(breaker *Breaker, pass Pass, budget RetryBudget) Call {
	return Call{policy: p, breaker: breaker, permit: permit{pass: pass}, budget: budget}
}

// Attempt returns the context for the next attempt: ctx limited by the
// policy's Timeout and AttemptTimeout, folded into one deadline, and marked
// with the number of a retry (see [AttemptNumber]). Where ctx already ends no
// later, and nothing is marked, it is ctx itself. The context ends with a Next
// that waits, or with End, except that one derived for Timeout alone serves all
// attempts.
func (c *Call) Attempt(ctx context.Context) context.Context {
	p := c.policy
	if p.AttemptTimeout <= 0 && p.Timeout <= 0 && p.HardLimit <= 0 {
		return c.mark(ctx)
	}
	if c.attempt != nil {
		if p.AttemptTimeout <= 0 {
			return c.mark(c.attempt)
		}
		c.release()
	}
	now := time.Now()
	c.start(ctx, now)
	var limit time.Time
	var cause error
	if !c.deadline.IsZero() {
		limit, cause = c.deadline, ErrTimeout
	}
	if p.AttemptTimeout > 0 {
		if end := now.Add(p.AttemptTimeout); limit.IsZero() || end.Before(limit) {
			limit, cause = end, ErrAttemptTimeout
		}
	}
	if outer, ok := ctx.Deadline(); limit.IsZero() || ok && !outer.After(limit) {
		return c.mark(ctx)
	}
	c.attempt, c.cancel = context.WithDeadlineCause(c.mark(ctx), limit, cause)
	return c.attempt
}

// mark returns ctx for the next attempt.
func (c *Call) mark(ctx context.Context) context.Context {
	if c.attempts == 0 && c.policy.Nested && retrying(ctx) {
		return &attemptContext{ctx, 1} // ctx says the number of the attempt around it
	}
	return markAttempt(ctx, c.attempts+1)
}

// start sets the deadline of the call, once.
func (c *Call) start(ctx context.Context, now time.Time) {
	if !c.deadline.IsZero() {
		return
	}
	if timeout := c.policy.timeout(ctx); timeout > 0 {
		c.deadline = now.Add(timeout)
	}
}

// Succeed tells the breaker and the budget that the attempt has succeeded.
func (c *Call) Succeed() {
	if c.breaker != nil && (c.permit.probe != 0 || !c.breaker.Calm()) {
		c.sample(succeeded)
	}
	if b, ok := c.budget.(*Budget); ok && b != nil {
		b.Deposit()
	}
}

// End releases what the call has taken. Generated code defers it, so that a
// panic in the callee leaks neither a timer nor the leave of a breaker.
func (c *Call) End() {
	if c.attempt != nil {
		c.release()
	}
	if c.permit.probe != 0 {
		c.sample(neutral)
	}
}

// BeforeWait has f called whenever Next has decided to try again, before it
// waits and ends the context of the last attempt: what that attempt returned is
// of no use any more.
func (c *Call) BeforeWait(f func()) { c.beforeWait = f }

func (c *Call) release() {
	c.cancel()
	c.attempt, c.cancel = nil, nil
}

// Next decides what follows a failed attempt. It returns nil after having
// waited: try again. Otherwise it returns the error to give to the caller,
// usually an [*Error]. ctx is the caller's context. A nil err stands for no
// attempt yet: Next then asks the breaker for leave.
//
//go:noinline
func (c *Call) Next(ctx context.Context, err error) error {
	c.refused = false
	if err == nil {
		if c.attempts+c.refusals > 0 || c.admit() {
			return nil
		}
		c.decided = true
		if ctx.Err() != nil {
			return c.stopped(ctx, nil)
		}
		if !c.waitsForBreaker() {
			return c.shut(ctx, nil)
		}
		// The limits of the call hold for such waits, too.
		c.start(ctx, time.Now())
		c.refused, err = true, ErrBreakerOpen
	} else {
		c.last = err
	}
	for {
		f, done := c.failed(ctx, err)
		if done != nil {
			return done
		}
		if done := c.wait(ctx, err, &f); done != nil {
			return done
		}
		if c.admit() {
			return nil
		}
		if !c.waitsForBreaker() {
			return c.shut(ctx, err)
		}
		c.refused, err = true, ErrBreakerOpen
	}
}

// failed takes note of a failure, and judges it.
func (c *Call) failed(ctx context.Context, err error) (f facts, done error) {
	p := c.policy
	if c.refused {
		c.refusals++
	} else {
		c.attempts++
	}
	c.timedOut = !c.refused && c.attempt != nil && c.attempt.Err() != nil
	if ctx.Err() != nil {
		c.sample(neutral)
		return f, c.stopped(ctx, err)
	}
	f = c.inspect(err)
	c.asked = max(f.after, 0)
	v := p.judge(err, &f)
	if c.breaker != nil {
		c.sample(c.breaker.policy.sample(p, err, &f, v))
	}
	switch {
	case v == escalatedError:
		c.decided = true
		return f, c.stop(ctx, err, ErrEscalated, nil)
	case v == permanentError:
		return f, c.stop(ctx, err, ErrPermanent, nil)
	case !p.Nested && retrying(ctx):
		return f, c.stop(ctx, err, ErrNested, nil)
	}
	c.decided = true
	return f, nil
}

// inspect is that of the policy; the end of an attempt's own context is a
// timeout, whatever its error says.
func (c *Call) inspect(err error) facts {
	f := c.policy.inspect(err)
	if c.timedOut {
		f.typed, f.timeout = true, true
	}
	return f
}

// wait waits before the next attempt, if there is to be one.
func (c *Call) wait(ctx context.Context, err error, f *facts) (done error) {
	p := c.policy
	schedule := &p.Schedule
	if o := p.override(err, f); o != nil {
		schedule = &o.Schedule
	}
	c.escalate = schedule.Escalate
	if limit := schedule.maxAttempts(); limit != Unlimited && c.attempts+c.refusals >= limit {
		return c.stop(ctx, err, ErrAttempts, nil)
	}

	delay := schedule.delay(c.attempts+c.refusals, c.previous, schedule.sample())
	c.previous = delay
	// The class is looked for only where it matters: that may take the text.
	asked := schedule.RetryAfter.wait(f, schedule.RetryAfter.Default > 0 && !f.asked && p.belongs(err, f, ClassRateLimit))
	c.asked = asked
	if most := schedule.RetryAfter.Limit(); asked > most {
		if schedule.RetryAfter.FailOver {
			return c.stop(ctx, err, ErrRetryAfter, nil)
		}
		asked = most
	}
	wait := max(delay, asked)
	if reason := c.refuse(ctx, wait); reason != "" {
		var cause error
		if reason == ErrDeadline {
			cause = context.DeadlineExceeded
		}
		if wait > delay && c.refuse(ctx, delay) == "" {
			reason = ErrRetryAfter // alone
		}
		return c.stop(ctx, err, reason, cause)
	}
	if c.breaker != nil && !c.waitsForBreaker() && !c.breaker.mayAdmit(time.Now().Add(wait)) {
		return c.shut(ctx, err)
	}
	// Last, so that a call that stops anyway takes nothing from the others. A
	// refusal burdened nobody: the attempt in its place has been paid, or is the
	// first.
	if c.budget != nil && !c.refused {
		if cause := c.budget.Withdraw(); cause != nil {
			return c.stop(ctx, err, reasonOf(cause), cause)
		}
	}

	// Not before: what the last attempt returned may still be in use.
	if c.beforeWait != nil {
		c.beforeWait()
	}
	if p.AttemptTimeout > 0 && c.attempt != nil {
		c.release()
	}
	if f := observer(ctx); f != nil {
		f(c.event(err, Event{Delay: wait, RetryAfter: asked}))
	}
	if !sleep(ctx, wait) {
		return c.stopped(ctx, err)
	}
	c.waited += wait
	return nil
}

// admit asks the breaker for leave.
func (c *Call) admit() (ok bool) {
	if c.breaker == nil {
		return true
	}
	// While it is closed, nobody needs the clock.
	if pass, ok := c.breaker.Ready(); ok {
		c.permit = permit{pass: pass}
		return true
	}
	c.permit, ok = c.breaker.admit(time.Now())
	return ok
}

// waitsForBreaker reports whether the policy waits for a breaker that does not
// let calls through. One that is escalated opens to nobody.
func (c *Call) waitsForBreaker() bool {
	return slices.Contains(c.policy.RetryOn, ClassBreakerOpen) && c.breaker.State() != StateEscalated
}

// sample gives the breaker the sample of the attempt that has ended.
func (c *Call) sample(s sample) {
	if c.breaker != nil {
		c.breaker.record(c.permit, s)
		c.permit = permit{}
	}
}

// sample returns what a failure says of the service.
func (b *BreakerPolicy) sample(p *Policy, err error, f *facts, v verdict) sample {
	counts := p.belongsToAny(err, f, b.Count)
	if len(b.Count) == 0 {
		// What the policy does not retry may be the service's fault all the same.
		counts = v == retriedError || !f.permanent && p.action(err, f) <= ActionRetry && p.belongs(err, f, ClassTransient)
	}
	if counts {
		return failed
	}
	return neutral
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
func (s *Schedule) sample() float64 {
	if s.Jitter == JitterNone {
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

// shut gives up because the breaker does not let the call through.
func (c *Call) shut(ctx context.Context, err error) error {
	c.decided = true
	c.escalate = c.escalate || c.policy.Escalate || c.breaker.State() == StateEscalated
	return c.stop(ctx, err, ErrBreakerOpen, nil)
}

// stop gives up. Where the policy had nothing to decide, the error goes back as
// the callee made it.
func (c *Call) stop(ctx context.Context, err error, reason Reason, cause error) error {
	if c.refused && c.last != nil {
		err = c.last // a refusal must not hide it
	}
	if c.refused && cause == nil && reason != ErrBreakerOpen {
		cause = ErrBreakerOpen
	}
	err = unmark(err)
	if f := observer(ctx); f != nil {
		f(c.event(err, Event{Reason: reason}))
	}
	if !c.decided {
		return err
	}
	return &Error{
		Policy: c.policy.Name, Reason: reason, Attempts: c.attempts, Waited: c.waited,
		RetryAfter: c.asked, Escalated: reason == ErrEscalated || c.escalate && reason.exhausted(), Err: err, Cause: cause,
	}
}

// event fills in what an observer is told.
func (c *Call) event(err error, e Event) Event {
	if c.id == 0 {
		c.id = rand.Uint64() | 1
	}
	f := c.inspect(err)
	e.Policy, e.Call, e.Attempt, e.Waited = c.policy.Name, c.id, c.attempts, c.waited
	if err != nil {
		e.Err, e.Class = unmark(err), c.policy.class(err, &f)
	}
	if c.breaker != nil {
		e.Breaker, e.BreakerState = c.breaker.policy.Name, c.breaker.State()
	}
	e.BudgetLeft = -1
	if c.budget != nil {
		e.BudgetLeft = c.budget.Left()
	}
	return e
}
