package retry

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/capacity"
)

// A Call is one retried call. It holds the state of the call and the resources of the
// attempt in progress. The zero Call is not usable; [Policy.Begin] and [Policy.BeginWith]
// return one. A Call belongs to one goroutine. Generated code keeps it on the stack and
// uses these methods:
//
//   - [Call.Spend], if attempts read from an argument, and [Call.Next] after each failed
//     attempt;
//   - [Call.Attempt], for the context of an attempt, or [Call.Race] and [Call.Settle] for
//     a hedged attempt;
//   - [Call.End], deferred, if the policy has a time limit or the call has a breaker or a
//     gate;
//   - [Call.Admit] before the first attempt and [Call.Succeed] after a success,
//     if the call has a breaker or a gate.
type Call struct {
	policy *Policy
	state  CallState
	last   error  // of the last attempt
	spent  error  // why the last attempt cannot be repeated, or nil
	id     uint64 // for observers, or 0

	expired  bool // the last attempt exceeded its own limit
	restored bool // the state was stored and loaded again: see Policy.Resume

	breaker *breaker.Breaker // or nil
	permit  breaker.Permit   // of the attempt that is running
	budget  Budget
	gate    capacity.Gate
	pass    capacity.Pass // of the attempt that is running
	queued  time.Duration // sum of the waits at the gate
	race    *Race         // of the attempt that is running, or nil

	attempt context.Context // derived for the attempt, or nil
	cancel  context.CancelFunc

	beforeWait func() // or nil
}

// Attempt returns the context for the next attempt. Its deadline is the earliest of those
// set by ctx, Timeout and AttemptTimeout. For a retry, it also carries the number of the
// attempt (see [AttemptNumber]). If the attempt needs neither a deadline nor a number,
// Attempt returns ctx itself. A context limited by AttemptTimeout ends when [Call.Next]
// starts to wait. [Call.End] ends every derived context.
func (c *Call) Attempt(ctx context.Context) context.Context {
	p := c.policy
	if p.AttemptTimeout <= 0 && p.Timeout <= 0 && p.HardLimit <= 0 {
		return c.withNumber(ctx)
	}
	if c.attempt != nil {
		return c.withNumber(c.attempt) // of the call: Next has released the context of an attempt
	}
	now := time.Now()
	c.start(ctx, now)
	limit := c.state.Deadline
	var cause error = ErrTimeout // a constant in an interface: boxing a variable would allocate
	if p.AttemptTimeout > 0 {
		if end := now.Add(p.AttemptTimeout); limit.IsZero() || end.Before(limit) {
			limit, cause = end, ErrAttemptTimeout
		}
	}
	if outer, ok := ctx.Deadline(); ok && !outer.After(limit) {
		return c.withNumber(ctx)
	}
	c.attempt, c.cancel = context.WithDeadlineCause(c.withNumber(ctx), limit, cause)
	return c.attempt
}

// withNumber returns ctx with the number of the next attempt, if that is a retry
// or part of one.
func (c *Call) withNumber(ctx context.Context) context.Context {
	if c.state.attemptsMade() == 0 && c.policy.Nested && retrying(ctx) {
		return &attemptContext{ctx, 1} // ctx has the number of the outer attempt
	}
	return withAttemptNumber(ctx, c.state.attemptsMade()+1)
}

// start sets the deadline of the call, once.
func (c *Call) start(ctx context.Context, now time.Time) {
	if !c.state.Deadline.IsZero() {
		return
	}
	if timeout := c.policy.timeout(ctx); timeout > 0 {
		c.state.Deadline = now.Add(timeout)
	}
}

// Succeed reports to the breaker, the gate and the budget that the attempt succeeded.
func (c *Call) Succeed() {
	c.leave(capacity.Success, capacity.Success)
	if c.breaker != nil && !c.breaker.Calm() {
		c.sample(breaker.Success)
	}
	if c.budget != nil {
		c.budget.Deposit()
	}
}

// End stops the attempt's timer and returns the permits to the breaker and the gate.
// Defer it, so that nothing leaks if the called function panics. End may be called more
// than once.
func (c *Call) End() {
	if c.race != nil {
		c.race.race.Close()
		c.race = nil
	}
	c.leave(capacity.Neutral, capacity.Neutral)
	if c.attempt != nil {
		c.release()
	}
	if c.permit.Probe != 0 {
		c.sample(breaker.Neutral)
	}
}

// BeforeWait sets a function that is called after each decision to make another attempt,
// before the wait and before the failed attempt's context ends. Use it to release a
// resource that the failed attempt has returned.
func (c *Call) BeforeWait(f func()) { c.beforeWait = f }

// release cancels the context of the attempt.
func (c *Call) release() {
	c.cancel()
	c.attempt, c.cancel = nil, nil
}

// Admit asks the breaker and the gate for permission before the first attempt. It returns
// nil if the attempt may start. If the gate has a limiter or a rate, Admit may have to
// wait. If the breaker or the gate refuses and the policy retries such refusals, Admit
// waits until an attempt is admitted or a limit is reached. Otherwise it returns the
// error for the caller.
func (c *Call) Admit(ctx context.Context) error {
	err := c.admit(ctx)
	if err == nil {
		return nil
	}
	f := &Failure{Err: err, Refused: true}
	if f.facts = c.policy.inspect(err); c.policy.retriesRefusal(f.facts.refused) {
		c.start(ctx, time.Now()) // the limits of the call apply to the wait
	}
	return c.waitOrStop(ctx, f)
}

// Next decides what happens after an attempt that has failed with err. If another attempt
// may start, Next waits for its delay and returns nil. Otherwise it returns the error for
// the caller, usually an [*Error]. ctx is the caller's context. If err is nil, Next
// returns nil at once.
//
//go:noinline
func (c *Call) Next(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	c.last, c.expired = err, false
	return c.waitOrStop(ctx, &Failure{Err: err})
}

// waitOrStop decides about a failure. It returns nil after the wait for the next
// attempt, or the error for the caller.
func (c *Call) waitOrStop(ctx context.Context, f *Failure) error {
	for {
		var in Inputs
		var v Verdict
		c.inspect(ctx, f, &in)
		c.policy.decide(&c.state, f, &in, &v)
		// A refused attempt put no load on the service. The attempt after it is
		// the first one, or its retry has been withdrawn already.
		if v.Reason == "" && c.budget != nil && !f.Refused {
			if cause := c.budget.Withdraw(); cause != nil {
				v.Reason, v.Cause = reasonOf(cause), cause
			}
		}
		if c.policy.Capture {
			c.capture(ctx, f, &in, &v)
		}
		if v.Reason != "" {
			return c.stop(ctx, f, &v)
		}
		c.retry(ctx, f, &v)
		if !sleep(ctx, v.Wait) {
			deadline, _ := ctx.Deadline()
			v.Reason, v.Cause = ended(ctx, deadline, time.Now())
			return c.stop(ctx, f, &v)
		}
		refused := c.admit(ctx)
		if refused == nil {
			return nil
		}
		f = &Failure{Err: refused, Refused: true}
	}
}

// inspect gathers what the decision about a failure depends on. The breaker
// takes its sample of the attempt first, since the failure may open it.
func (c *Call) inspect(ctx context.Context, f *Failure, in *Inputs) {
	p := c.policy
	var limited bool
	in.Deadline, limited = ctx.Deadline()
	if limited || !c.state.Deadline.IsZero() || p.MaxElapsed > 0 || c.attempt != nil ||
		p.DelayBudget > 0 && (c.restored || c.state.FailedAt.IsZero()) {
		in.Now = time.Now()
	}
	in.Restored = c.restored
	f.policy, f.facts = p, p.inspect(f.Err)
	if in.Ended, in.Cause = ended(ctx, in.Deadline, in.Now); in.Ended != "" {
		f.ended = true
		return // End returns the permits
	}
	if f.Refused && errors.Is(f.Err, context.DeadlineExceeded) {
		// The wait at the gate would have passed the deadline of the call.
		in.Ended, in.Cause, f.ended = ErrDeadline, context.DeadlineExceeded, true
		return
	}
	if !f.Refused && c.attempt != nil {
		// The attempt's own limit has passed: any error counts as a timeout.
		if limit, _ := c.attempt.Deadline(); !in.Now.Before(limit) {
			f.facts.timedOut()
			c.expired = true
		}
	}
	f.judge()
	if !f.Refused && c.pass.Admitted() {
		var throttle capacity.ThrottlePolicy
		if c.gate.Throttle != nil {
			throttle = c.gate.Throttle.Policy()
		}
		c.leave(p.samples(&throttle, f))
	}
	if c.breaker != nil {
		if !f.Refused {
			policy := c.breaker.Policy()
			c.sample(p.sample(&policy, f))
		}
		if in.Refusal = refusalOf(c.breaker); in.Refusal.State == breaker.Open && in.Now.IsZero() {
			in.Now = time.Now()
		}
	}
	if f.verdict == retriedError {
		in.Spent = c.spent
		in.Once = p.once(ctx)
		if p.Jitter != JitterNone || len(p.PerError) > 0 {
			in.Sample = rand.Float64()
		}
	}
}

// ended returns the reason and the cause with which a context has ended, or "".
// deadline is the deadline of ctx, or zero. A context has ended once its deadline has
// passed, even before ctx.Err() returns an error: an operation that copied the
// deadline to a connection may fail a moment earlier.
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

// retry releases the failed attempt and reports the retry, before the wait.
func (c *Call) retry(ctx context.Context, f *Failure, v *Verdict) {
	if c.beforeWait != nil {
		c.beforeWait()
	}
	if c.policy.AttemptTimeout > 0 && c.attempt != nil {
		c.release()
	}
	if observe := observer(ctx); observe != nil {
		e := c.event(f, EventRetry)
		e.Wait, e.RetryAfter, e.AdmitsIn = v.Wait, v.Granted, v.Refusal.AdmitsIn
		e.Waited -= v.Wait
		if f.Refused {
			e.Err = v.refusal(f)
		}
		observe(ctx, e)
	}
}

// sleep waits for d, or until ctx ends. It reports whether ctx has not ended.
func sleep(ctx context.Context, d time.Duration) bool {
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	// If both cases are ready, select chooses either: check ctx again.
	return ctx.Err() == nil
}

// admit asks the breaker and the gate for permission to make an attempt. It returns nil,
// the reason or the [capacity.Refusal] with which one of them refuses, or the error of a
// context that ended during the wait. An open breaker refuses first, so that a refused
// attempt takes no turn of a rate; its permit comes last, so that the probe of a
// half-open breaker does not wait.
func (c *Call) admit(ctx context.Context) error {
	if c.gate != (capacity.Gate{}) {
		if c.breaker != nil && !c.breaker.MayAdmit() {
			return ErrBreakerOpen
		}
		if c.policy.Timeout > 0 || c.policy.HardLimit > 0 {
			c.start(ctx, time.Now()) // the wait is part of the call
		}
		pass, err := c.gate.Enter(ctx, c.state.Deadline)
		if c.queued += pass.Queued; err != nil {
			return err
		}
		c.pass = pass
	}
	if c.breaker == nil {
		return nil
	}
	permit, ok := c.breaker.Admit()
	if !ok {
		c.gate.GiveBack(c.pass)
		c.pass = capacity.Pass{}
		return ErrBreakerOpen
	}
	c.permit = permit
	return nil
}

// leave returns what the attempt holds at the gate, if anything, with its samples.
func (c *Call) leave(limiter, throttle capacity.Sample) {
	if c.pass.Admitted() {
		c.gate.Leave(c.pass, limiter, throttle)
		c.pass = capacity.Pass{}
	}
}

// sample reports the sample of the attempt that has ended to the breaker.
func (c *Call) sample(s breaker.Sample) {
	c.breaker.Record(c.permit, s)
	c.permit = breaker.Permit{}
}

// event returns the event of a failure.
func (c *Call) event(f *Failure, kind EventKind) Event {
	if c.id == 0 {
		c.id = rand.Uint64() | 1
	}
	e := Event{
		Kind: kind, Policy: c.policy.Name, Call: c.id,
		Attempt: c.state.attemptsMade(), Waited: c.state.Waited, Queued: c.queued, BudgetLeft: -1,
	}
	if f.Err != nil {
		e.Err, e.Class = unmark(f.Err), f.Class()
	}
	if c.breaker != nil {
		e.Breaker, e.BreakerState = c.breaker.Policy().Name, c.breaker.State()
	}
	if c.budget != nil {
		e.BudgetLeft = c.budget.Left()
	}
	return e
}
