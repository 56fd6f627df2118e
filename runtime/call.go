package retry

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// A Call is one retried call: its state, and what it holds while an attempt
// runs. The zero Call is not usable; [Policy.Begin] and [Policy.BeginWith]
// return one. A Call belongs to one goroutine. Generated code keeps it on the
// stack:
//
//   - [Call.Rewind] or [Call.Spend], if an attempt reads an argument, and
//     [Call.Next] after each failed attempt;
//   - [Call.Attempt] for the context of an attempt;
//   - [Call.End], deferred, if the policy limits time or the call has a breaker;
//   - [Call.Admit] before the first attempt and [Call.Succeed] after a success,
//     if the call has a breaker.
type Call struct {
	policy *Policy
	state  callState
	last   error  // of the last attempt
	spent  error  // why the last attempt cannot be repeated, or nil
	id     uint64 // for observers, or 0

	breaker *Breaker // or nil
	permit  permit   // of the attempt that is running
	budget  RetryBudget

	attempt context.Context // derived for the attempt, or nil
	cancel  context.CancelFunc

	beforeWait func() // or nil
}

// Attempt returns the context for the next attempt: ctx limited by the
// policy's Timeout and AttemptTimeout, as one deadline, and marked with the
// number of a retry (see [AttemptNumber]). If ctx ends no later, and nothing is
// marked, it is ctx itself. A context that is limited by AttemptTimeout ends
// when [Call.Next] waits; every derived context ends with [Call.End].
func (c *Call) Attempt(ctx context.Context) context.Context {
	p := c.policy
	if p.AttemptTimeout <= 0 && p.Timeout <= 0 && p.HardLimit <= 0 {
		return c.mark(ctx)
	}
	if c.attempt != nil {
		return c.mark(c.attempt) // of the call: Next has released that of an attempt
	}
	now := time.Now()
	c.start(ctx, now)
	limit := c.state.deadline
	var cause error = ErrTimeout // a constant in an interface: boxing a variable would allocate
	if p.AttemptTimeout > 0 {
		if end := now.Add(p.AttemptTimeout); limit.IsZero() || end.Before(limit) {
			limit, cause = end, ErrAttemptTimeout
		}
	}
	if outer, ok := ctx.Deadline(); ok && !outer.After(limit) {
		return c.mark(ctx)
	}
	c.attempt, c.cancel = context.WithDeadlineCause(c.mark(ctx), limit, cause)
	return c.attempt
}

// mark returns ctx for the next attempt.
func (c *Call) mark(ctx context.Context) context.Context {
	if c.state.attempts == 0 && c.policy.Nested && retrying(ctx) {
		return &attemptContext{ctx, 1} // ctx has the number of the attempt around it
	}
	return markAttempt(ctx, c.state.attempts+1)
}

// start sets the deadline of the call, once.
func (c *Call) start(ctx context.Context, now time.Time) {
	if !c.state.deadline.IsZero() {
		return
	}
	if timeout := c.policy.timeout(ctx); timeout > 0 {
		c.state.deadline = now.Add(timeout)
	}
}

// Succeed reports the success of the attempt to the breaker and the budget.
func (c *Call) Succeed() {
	if c.breaker != nil && !c.breaker.Calm() {
		c.sample(succeeded)
	}
	if c.budget != nil {
		c.budget.Deposit()
	}
}

// End releases what the call holds. It is deferred, so that a panic in the
// callee leaks neither a timer nor a permit of the breaker. End may be called
// more than once.
func (c *Call) End() {
	if c.attempt != nil {
		c.release()
	}
	if c.permit.probe != 0 {
		c.sample(neutral)
	}
}

// BeforeWait sets a function that is called after each decision to try again,
// before the wait and before the context of the last attempt ends. A callee
// whose result holds a resource releases it there.
func (c *Call) BeforeWait(f func()) { c.beforeWait = f }

func (c *Call) release() {
	c.cancel()
	c.attempt, c.cancel = nil, nil
}

// Admit asks the breaker for permission before the first attempt. It returns
// nil if the attempt may start, after a wait where the policy retries
// [ClassBreakerOpen]. Otherwise it returns the error for the caller.
func (c *Call) Admit(ctx context.Context) error {
	if c.admit() {
		return nil
	}
	now := time.Now()
	deadline, _ := ctx.Deadline()
	if reason, cause := ended(ctx, deadline, now); reason != "" {
		return c.stop(ctx, &failure{}, &decision{reason: reason, cause: cause})
	}
	if !c.waitsForBreaker() {
		return c.shut(ctx, &failure{}, &decision{})
	}
	c.start(ctx, now) // the limits of the call apply to such waits
	return c.again(ctx, &failure{err: ErrBreakerOpen, refused: true})
}

// Next decides what follows an attempt that failed with err. It returns nil
// after having waited: try again. Otherwise it returns the error for the
// caller, usually an [*Error]. ctx is the caller's context.
//
//go:noinline
func (c *Call) Next(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	c.last = err
	return c.again(ctx, &failure{err: err})
}

// again decides about a failure, and waits if there is another attempt.
func (c *Call) again(ctx context.Context, f *failure) error {
	for {
		var in inputs
		c.inspect(ctx, f, &in)
		d := c.policy.decide(&c.state, f, &in)
		switch d.reason {
		case "":
		case ErrBreakerOpen:
			return c.shut(ctx, f, &d)
		default:
			return c.stop(ctx, f, &d)
		}
		// A refused attempt burdened nobody. The attempt after it has been paid
		// for already, or is the first.
		if c.budget != nil && !f.refused {
			if cause := c.budget.Withdraw(); cause != nil {
				d.reason, d.cause = reasonOf(cause), cause
				c.state.waited -= d.wait
				return c.stop(ctx, f, &d)
			}
		}
		if err := c.wait(ctx, f, &d); err != nil {
			return err
		}
		if c.admit() {
			return nil
		}
		if !c.waitsForBreaker() {
			return c.shut(ctx, f, &d)
		}
		f = &failure{err: ErrBreakerOpen, refused: true}
	}
}

// inspect gathers what the decision about a failure depends on. The breaker
// takes its sample of the attempt first, since the failure may open it.
func (c *Call) inspect(ctx context.Context, f *failure, in *inputs) {
	p := c.policy
	var limited bool
	in.deadline, limited = ctx.Deadline()
	if limited || !c.state.deadline.IsZero() || p.MaxElapsed > 0 || c.attempt != nil {
		in.now = time.Now()
	}
	f.facts = p.inspect(f.err)
	if in.ended, in.cause = ended(ctx, in.deadline, in.now); in.ended != "" {
		return // End gives the permit of a probe back
	}
	if !f.refused && c.attempt != nil {
		// The attempt's own limit has passed: that is a timeout, whatever the
		// error is.
		if limit, _ := c.attempt.Deadline(); !in.now.Before(limit) {
			f.facts.timedOut()
		}
	}
	f.verdict = p.judge(f.err, &f.facts)
	if c.breaker != nil {
		if !f.refused {
			c.sample(c.breaker.policy.sample(p, f.err, &f.facts, f.verdict))
		}
		if in.admitsAt = c.breaker.admitsAt(); !in.admitsAt.IsZero() && in.now.IsZero() {
			in.now = time.Now()
		}
	}
	if f.verdict == retriedError {
		in.spent = c.spent
		in.nested = retrying(ctx)
		if p.Jitter != JitterNone || len(p.PerError) > 0 {
			in.sample = rand.Float64()
		}
	}
}

// ended reports whether a context with a deadline, or with none if that is
// zero, has ended: why, and with which cause. A passed deadline is its end, even
// before ctx.Err() returns an error: an operation that copied the deadline to a
// connection fails a moment earlier.
func ended(ctx context.Context, deadline, now time.Time) (Reason, error) {
	switch ctx.Err() {
	case nil:
		if deadline.IsZero() || now.Before(deadline) {
			return "", nil
		}
		return ErrDeadline, context.DeadlineExceeded
	case context.DeadlineExceeded:
		return ErrDeadline, context.Cause(ctx)
	}
	return ErrCanceled, context.Cause(ctx)
}

// wait waits before the next attempt. It returns the error for the caller if
// its context ends before.
func (c *Call) wait(ctx context.Context, f *failure, d *decision) error {
	if c.beforeWait != nil {
		c.beforeWait()
	}
	if c.policy.AttemptTimeout > 0 && c.attempt != nil {
		c.release()
	}
	if observe := observer(ctx); observe != nil {
		e := c.event(f, EventRetry)
		e.Delay, e.RetryAfter = d.wait, d.granted
		e.Waited -= d.wait
		observe(e)
	}
	if sleep(ctx, d.wait) {
		return nil
	}
	c.state.waited -= d.wait
	deadline, _ := ctx.Deadline()
	d.reason, d.cause = ended(ctx, deadline, time.Now())
	return c.stop(ctx, f, d)
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

// admit asks the breaker for a permit.
func (c *Call) admit() (ok bool) {
	if c.breaker == nil {
		return true
	}
	if pass, ok := c.breaker.Ready(); ok {
		c.permit = permit{pass: pass} // without reading the clock
		return true
	}
	c.permit, ok = c.breaker.admit(time.Now())
	return ok
}

// waitsForBreaker reports whether the policy waits for a breaker that refuses
// calls. An escalated breaker does not close by itself.
func (c *Call) waitsForBreaker() bool {
	return c.policy.retriesOpenBreaker() && c.breaker.State() != StateEscalated
}

// sample gives the breaker the sample of the attempt that has ended.
func (c *Call) sample(s sample) {
	c.breaker.record(c.permit, s)
	c.permit = permit{}
}

// shut stops the call because the breaker refuses it.
func (c *Call) shut(ctx context.Context, f *failure, d *decision) error {
	d.reason, d.escalate = ErrBreakerOpen, c.policy.schedule(f).Escalate
	if c.breaker.State() == StateEscalated {
		d.escalate = true
		d.cause = escalatedBreaker(c.breaker.policy.Name)
	}
	return c.stop(ctx, f, d)
}

// stop returns the error for the caller.
func (c *Call) stop(ctx context.Context, f *failure, d *decision) error {
	if f.refused && d.cause == nil {
		d.cause = ErrBreakerOpen
	}
	if f.refused && c.last != nil {
		// A refusal must not hide the error of the last attempt.
		f = &failure{err: c.last, facts: c.policy.inspect(c.last), refused: true}
	}
	if observe := observer(ctx); observe != nil {
		e := c.event(f, EventStop)
		e.Reason = d.reason
		observe(e)
	}
	err := unmark(f.err)
	if c.undecided(f, d) {
		return err
	}
	return &Error{
		Policy: c.policy.Name, Reason: d.reason, Attempts: c.state.attempts, Waited: c.state.waited, RetryAfter: d.asked,
		Escalated: d.reason == ErrEscalated || d.escalate && d.reason.exhausted(), Err: err, Cause: d.cause,
	}
}

// undecided reports whether the policy did nothing about the error of the
// first attempt, which is then returned unchanged.
func (c *Call) undecided(f *failure, d *decision) bool {
	switch {
	case f.refused || c.state.tries() > 1:
		return false
	case d.ended:
		// An error that does not show that the context has ended needs the
		// reason.
		return d.reason == ErrCanceled && errors.Is(f.err, context.Canceled) ||
			d.reason == ErrDeadline && errors.Is(f.err, context.DeadlineExceeded)
	case d.reason == ErrAttempts:
		return !d.escalate
	}
	return d.reason == ErrPermanent || d.reason == ErrNested
}

// event returns the event of a failure.
func (c *Call) event(f *failure, kind EventKind) Event {
	if c.id == 0 {
		c.id = rand.Uint64() | 1
	}
	e := Event{
		Kind: kind, Policy: c.policy.Name, Call: c.id, Attempt: c.state.attempts, Waited: c.state.waited, BudgetLeft: -1,
	}
	if f.err != nil {
		e.Err, e.Class = unmark(f.err), c.policy.class(f.err, &f.facts)
	}
	if c.breaker != nil {
		e.Breaker, e.BreakerState = c.breaker.policy.Name, c.breaker.State()
	}
	if c.budget != nil {
		e.BudgetLeft = c.budget.Left()
	}
	return e
}
