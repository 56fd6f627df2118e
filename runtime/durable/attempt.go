package durable

import (
	"context"
	"math/rand/v2"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// A nextKind describes what follows a decision about a step.
type nextKind uint8

const (
	nextFinished nextKind = iota // the record of the step has the result or the error
	nextBlocked                  // the step waits for a person's decision
	nextWait                     // the step waits before the next attempt
	nextDecide                   // decide again, with the current record
	nextCall                     // an attempt has started
	nextReturn                   // return a result that is not recorded
	nextFenced                   // another engine or call owns the run
)

// next is the result of a transaction about a step.
type next struct {
	kind   nextKind
	record storage.Record
	body   record.Step
	now    time.Time // the time of the store
	wait   time.Duration

	token   string          // the token of the attempt that has started
	result  *record.Payload // for nextReturn
	event   events.Event    // the event to report, or its zero value
	jobs    []job.Event     // the decisions of the budgets of the run and the group
	changed error           // the recorded decision was made under another policy

	failure *retry.Failure // the failure on which the decision was made, for observers
	verdict retry.Verdict

	repeated bool // the same decision was committed before, and nothing has happened since
}

// after returns n. If n repeats the preceding decision, the result has the events of that
// decision.
func (n next) after(before next) next {
	if n.repeated {
		n.event, n.jobs, n.failure, n.verdict = before.event, before.jobs, before.failure, before.verdict
	}
	return n
}

// emit reports the effects of a transaction after it was committed.
func (x *execution) emit(ctx context.Context, c *stepCall, n *next) {
	if n.changed != nil {
		x.e.ns.Event(ctx, events.Event{
			Kind: events.EventPolicyChanged, Run: x.id, Step: c.key.ID, Name: c.policy.Name, Fence: x.fence,
			Attempt: n.body.Attempts, Err: n.changed,
		})
		n.changed = nil
	}
	if n.kind == nextCall && n.record.Version != 0 && record.OtherArguments(n.body.Arguments, c.digest) != nil {
		x.reportChange(ctx, c) // reported before the call
	}
	for _, ev := range n.jobs {
		x.e.ns.Event(
			ctx, events.Event{Kind: events.EventJob, Run: x.id, Step: c.key.ID, Name: c.policy.Name, Fence: x.fence, Job: ev},
		)
		if c.unit != nil && ev.Unit == c.unit.name {
			c.unit.g.group.Notify(ctx, ev)
		}
	}
	n.jobs = nil
	if n.event.Kind == 0 {
		return
	}
	n.event.Run, n.event.Step, n.event.Name, n.event.Fence = x.id, c.key.ID, c.policy.Name, x.fence
	if p := c.policy.Policy; p != nil {
		n.event.Policy = p.Name
	}
	x.e.ns.Event(ctx, n.event)
	n.event = events.Event{}
}

// begin reads the record of a step. If there is none, it starts the first attempt.
func (x *execution) begin(ctx context.Context, c *stepCall) (next, error) {
	if c.pause != nil {
		return x.start(ctx, c, false) // a signal may have arrived since the ledger was read
	}
	if x.job.begins(c) {
		return x.beginJob(ctx, c)
	}
	recorded := startsRecorded(c.policy)
	first := next{kind: nextCall, record: storage.Record{Key: c.key}, body: record.Step{Attempts: 1}}
	known := x.knowsUnfinished(c)
	if c.first != nil && !known && x.isComplete(c.ledger) {
		return first, nil // the attempt was already made
	}
	if c.first != nil { // another call of the step was, or may have been, faster
		c.first.close()
		c.first = nil
	}
	switch {
	case known && c.policy.Policy != nil:
		return x.start(ctx, c, false)
	case known || !x.isComplete(c.ledger):
		// A read is cheaper than the transaction of a start.
		records, err := x.e.ns.Store.Get(ctx, []storage.Key{c.key})
		if err != nil {
			return next{}, x.failed(ctx, err)
		}
		r := records[0]
		body, err := record.Decode[record.Step](r)
		switch {
		case err != nil || record.Finished(r.Status):
			return next{kind: nextFinished, record: r, body: body}, err
		case c.policy.Policy == nil && record.Blocked(r.Status):
			return next{kind: nextBlocked, record: r, body: body}, nil
		}
		first.body.Attempts, first.body.Keys = body.Attempts+1, body.Keys // the step no longer has a policy
		recorded = recorded || r.Version != 0 && c.policy.Policy != nil
	}
	if recorded {
		return x.start(ctx, c, false)
	}
	if err := x.flush(ctx); err != nil {
		return next{}, err
	}
	if err := x.ready(ctx); err != nil {
		return next{}, err
	}
	first.now = time.Now()
	return first, nil
}

// ready returns an error if no attempt may start.
func (x *execution) ready(ctx context.Context) error {
	if err := x.err(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	// The process was suspended, or the store did not answer.
	if !x.owner.alive() {
		if err := x.owner.renew(ctx); err != nil {
			return x.failed(ctx, err)
		}
	}
	if err := x.verify(ctx); err != nil {
		return x.failed(ctx, err)
	}
	return nil
}

// safe reports whether no other engine can have claimed the run.
func (x *execution) safe() bool { return x.safeAt(time.Since(x.owner.begun)) }

// safeAt does the same as safe, at a time that is given as the duration since the lease began.
func (x *execution) safeAt(d time.Duration) bool {
	return x.owner.aliveAt(d) && x.owner.gaps.Load() == x.gaps.Load()
}

// verify returns ErrFenced, and halts the execution, if another engine has claimed the run
// during a gap in the lease. It is called when the lease is valid again.
func (x *execution) verify(ctx context.Context) error {
	gaps := x.owner.gaps.Load()
	if !x.claimed.Load() || gaps == x.gaps.Load() {
		return nil
	}
	records, err := x.e.ns.Store.Get(ctx, []storage.Key{x.e.ns.Key(storage.KindRun, x.id, "")})
	if err != nil {
		return err
	}
	if r := records[0]; r.Owner != x.owner.id || r.Fence != x.fence {
		x.halt(ErrFenced)
		return ErrFenced
	}
	x.gaps.Store(gaps)
	return nil
}

// A starting contains everything that a decision about a start depends on, in addition to the
// records.
type starting struct {
	token       string
	due         bool    // the wait has passed in this process
	sample      float64 // random number for the jitter, if the last attempt was lost
	correlation string
	timeout     time.Duration // the timeout of the call, or 0
	spread      time.Duration // the time by which an overdue retry may be delayed
	local       time.Time     // when the start was prepared, by the clock of this process

	admission
}

// An admission is the answer of this process's breaker and gate to an attempt.
type admission struct {
	refused *retry.Failure // the failure with which the attempt is refused, or nil
	inputs  retry.Inputs   // the inputs for a decision about this failure
}

// begin creates a call of the policy for one attempt.
func (c *stepCall) begin() {
	shared := c.policy.Shared
	call := c.policy.Policy.Resume(retry.CallState{}, retry.Shared{Breaker: shared.Breaker, Gate: shared.Gate})
	c.call = &call
}

// admit creates a call, and asks the breaker and the gate of this process for permission. The
// wait at a gate is not recorded, because a crash during this wait loses nothing. The error is
// not nil if the context has ended, or would end before the call is admitted.
func (c *stepCall) admit(ctx context.Context) (a admission, err error) {
	c.begin()
	f, inputs, ok := c.call.TryAdmit(ctx)
	switch {
	case ok:
		return a, nil
	case inputs.Ended != "":
		return a, inputs.Cause
	}
	return admission{&f, inputs}, nil
}

// start decides on the next attempt of a step: what is recorded, whether the last attempt is
// lost, and whether the step has to wait.
func (x *execution) start(ctx context.Context, c *stepCall, due bool) (next, error) {
	if err := x.ready(ctx); err != nil {
		return next{}, err
	}
	a, err := c.admit(ctx)
	if err != nil {
		return next{}, err
	}
	return x.startAdmitted(ctx, c, due, a)
}

// startAdmitted does the same as start, after the breaker and the gate of this process have
// decided.
func (x *execution) startAdmitted(ctx context.Context, c *stepCall, due bool, a admission) (next, error) {
	p := c.policy.Policy
	in := starting{
		token: record.Token(8), due: due, sample: rand.Float64(), correlation: x.e.correlation(ctx),
		timeout: p.CallTimeout(ctx),
		local:   time.Now(), spread: patience(ctx, c.policy), admission: a,
	}
	var n next
	err := x.update(ctx, x.keys(c), func(tx storage.Tx) (storage.Writes, error) {
		w, answer, err := x.decideStart(tx, c, &in)
		n = answer.after(n)
		return w, err
	})
	if n.kind != nextCall || err != nil {
		c.call.End() // returns the permit
	}
	if err != nil {
		return n, x.failed(ctx, err)
	}
	n.token = in.token
	return n, nil
}

// attempt makes the attempt that has started, and records its end.
func (x *execution) attempt(ctx context.Context, c *stepCall, n next) (next, error) {
	if c.policy.Policy == nil {
		return x.once(ctx, c, n)
	}
	if c.first != nil {
		return x.firstFailed(ctx, c)
	}
	end := &attemptEnd{token: n.token, number: n.body.Attempts, begun: time.Now()}
	job := n.token == record.JobToken
	if end.unstarted = n.record.Version == 0; end.unstarted {
		a, err := c.admit(ctx)
		switch {
		case err != nil:
			return next{}, err
		case a.refused != nil:
			return x.startAdmitted(ctx, c, false, a) // records the refusal
		}
	}
	call := c.call
	call.Restore(shift(n.body.Call, end.begun.Sub(n.now)))
	defer call.End()
	result, err, called := x.invoke(ctx, c, n, call)
	end.duration = time.Since(end.begun)
	switch {
	case !called && (end.unstarted || job):
		return next{kind: nextDecide}, x.ready(ctx)
	case !called:
		end.outcome = events.OutcomeWithdrawn
	case err == nil:
		end.outcome, end.result = events.OutcomeSucceeded, result
		call.Succeed()
		end.timeouts = c.attempt.timeouts()
		if end.unstarted || job && x.job.holds(end) {
			return next{kind: nextReturn, result: &result}, nil // the result is not recorded, or is recorded later
		}
		if n, ok, err := x.deferEnd(ctx, c, end); ok {
			return n, err
		}
	default:
		x.inspect(ctx, c, call, end, err)
	}
	return x.ended(ctx, c, end)
}

// ended records the end of an attempt of a step with a policy, and reports the events of this
// end.
func (x *execution) ended(ctx context.Context, c *stepCall, end *attemptEnd) (next, error) {
	end.timeouts = c.attempt.timeouts()
	n, err := x.end(ctx, c, end)
	if err != nil {
		return n, err
	}
	x.report(ctx, c.call, end, &n)
	return n, nil
}

// once makes the only attempt of a step without a policy.
func (x *execution) once(ctx context.Context, c *stepCall, n next) (next, error) {
	end := &attemptEnd{
		token: record.Token(8), number: n.body.Attempts, begun: time.Now(), unstarted: true, outcome: events.OutcomeSucceeded,
	}
	result, err, called := x.invoke(ctx, c, n, nil)
	if !called {
		err = x.ready(ctx) // if nil, the caller tries again
	}
	if err != nil || !called {
		x.note(c, 0) // the function of the run returns its error
		return n, err
	}
	end.result, end.duration = result, time.Since(end.begun)
	return x.end(ctx, c, end)
}

// shift converts the times in a state to a clock that is ahead by d.
func shift(s retry.CallState, d time.Duration) retry.CallState {
	for _, t := range [...]*time.Time{&s.FailedAt, &s.Expires, &s.Deadline} {
		if !t.IsZero() {
			*t = t.Add(d)
		}
	}
	return s
}

// invoke calls the function of a step. If the caller is gone, or another engine may have
// claimed the run since the start was recorded, invoke does not call it and returns false.
func (x *execution) invoke(ctx context.Context, c *stepCall, n next, call *retry.Call) (record.Payload, error, bool) {
	a := &attempt{
		runContext: runContext{Context: ctx, x: x}, policy: c.policy, number: int32(n.body.Attempts),
		step: c.key.ID, keys: int32(n.body.Keys), lapses: x.lapses.Load(),
	}
	a.attempt, c.attempt = a, a
	defer a.end()
	inner := context.Context(a)
	if call != nil {
		inner = call.Attempt(inner)
	}
	if ctx.Err() != nil || !x.safe() {
		return record.Payload{}, nil, false
	}
	if x.job.isOf(c) {
		x.job.called = true
	}
	value, err := c.fn(inner)
	c.lapsed = a.lapsed()
	if err != nil {
		return record.Payload{}, err, true
	}
	return record.NewPayload(x.e.ns.Codec, value), nil, true
}

// inspect collects everything that the decision about a failed attempt depends on.
func (x *execution) inspect(ctx context.Context, c *stepCall, call *retry.Call, end *attemptEnd, err error) {
	f, in := call.Inspect(ctx, err)
	end.failure, end.correlation = f, x.e.correlation(ctx)
	if end.unstarted {
		end.token = record.Token(8)
	}
	end.err = record.ErrorOf(c.policy.Errors, f.Class(), err)
	end.deadline = call.State().Deadline
	if in.Ended != "" || c.lapsed {
		end.outcome = events.OutcomeInterrupted // the attempt may have taken effect
		c.captureDoubt(ctx, call, f, in)
		return
	}
	end.outcome = events.OutcomeFailed
	if f.TimedOut() {
		end.outcome = events.OutcomeTimedOut
	}
	in.Deadline = time.Time{} // the deadline ends the execution, not the step
	in.Once = ""              // a retry around the step gets the recorded result
	end.inputs = in
	b, p := c.policy.Shared.Budget, c.policy.Policy
	if b == nil && !p.Capture {
		return
	}
	state, v := p.Decide(call.State(), f, in)
	if b != nil && v.Reason == "" {
		// The budget of this process is asked before the transaction, because the transaction
		// may be repeated. If the transaction decides against a retry, the token is lost.
		if end.refusal = b.Withdraw(); end.refusal != nil {
			v.Reason, v.Cause = reasonOf(end.refusal), end.refusal
		}
	}
	if p.Capture {
		call.Restore(state)
		c.capture(ctx, call, f, in, v)
	}
}

// report reports the decision on a failure to the observers of the context.
func (x *execution) report(ctx context.Context, call *retry.Call, end *attemptEnd, n *next) {
	if n.failure == nil {
		return
	}
	call.Restore(n.body.Call)
	if n.kind == nextWait {
		call.Retry(ctx, *n.failure, n.verdict)
		return
	}
	_ = call.Stop(ctx, *n.failure, n.verdict) // the step returns what is recorded
}
