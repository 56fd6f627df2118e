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

// A nextKind is what follows a decision about a step.
type nextKind uint8

const (
	nextFinished nextKind = iota // its record has the result or the error
	nextBlocked                  // until a person decides
	nextWait                     // before the next attempt
	nextDecide                   // again, with the record as it is now
	nextCall                     // an attempt has started
	nextReturn                   // a result that is not recorded
	nextFenced                   // the run belongs to somebody else
)

// next is the answer of a transaction about a step.
type next struct {
	kind   nextKind
	record storage.Record
	body   record.Step
	now    time.Time // of the store
	wait   time.Duration

	token   string          // of the attempt that has started
	result  *record.Payload // of nextReturn
	event   events.Event    // what has happened, or its zero value
	jobs    []job.Event     // what the budgets of the run and the group have decided
	changed error           // another policy than before has decided

	failure *retry.Failure // that was decided about, for observers
	verdict retry.Verdict

	repeated bool // the decision was committed before: nothing has happened since
}

// after returns the answer with what has happened in the decision before, if it
// repeats that.
func (n next) after(before next) next {
	if n.repeated {
		n.event, n.jobs, n.failure, n.verdict = before.event, before.jobs, before.failure, before.verdict
	}
	return n
}

// emit reports what a transaction has done, now that it is committed.
func (x *execution) emit(ctx context.Context, c *stepCall, n *next) {
	if n.changed != nil {
		x.e.ns.Event(ctx, events.Event{
			Kind: events.EventPolicyChanged, Run: x.id, Step: c.key.ID, Name: c.policy.Name, Fence: x.fence,
			Attempt: n.body.Attempts, Err: n.changed,
		})
		n.changed = nil
	}
	if n.kind == nextCall && n.record.Version != 0 && record.OtherArguments(n.body.Arguments, c.digest) != nil {
		x.reportChange(ctx, c) // before the call
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

// begin looks for the record of a step, and starts its first attempt otherwise.
func (x *execution) begin(ctx context.Context, c *stepCall) (next, error) {
	if c.pause != nil {
		return x.start(ctx, c, false) // a signal may have come since the ledger was read
	}
	if x.job.begins(c) {
		return x.beginJob(ctx, c)
	}
	recorded := startsRecorded(c.policy)
	first := next{kind: nextCall, record: storage.Record{Key: c.key}, body: record.Step{Attempts: 1}}
	known := x.knowsUnfinished(c)
	if c.first != nil && !known && x.isComplete(c.ledger) {
		return first, nil // it was made
	}
	if c.first != nil { // another call of the step was faster, or may have been
		c.first.close()
		c.first = nil
	}
	switch {
	case known && c.policy.Policy != nil:
		return x.start(ctx, c, false)
	case known || !x.isComplete(c.ledger):
		// A read costs less than the transaction of a start.
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
		first.body.Attempts, first.body.Keys = body.Attempts+1, body.Keys // without a policy any more
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
	// The process was stopped, or the store did not answer.
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

// safe reports whether nobody can have claimed the run.
func (x *execution) safe() bool { return x.safeAt(time.Since(x.owner.begun)) }

// safeAt is safe at a time since the lease began.
func (x *execution) safeAt(d time.Duration) bool {
	return x.owner.aliveAt(d) && x.owner.gaps.Load() == x.gaps.Load()
}

// verify returns ErrFenced, and halts the execution, if somebody has claimed the
// run in a gap of the lease. The lease is valid again.
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

// A starting is what a decision about a start depends on besides the records.
type starting struct {
	token       string
	due         bool    // the wait has passed in this process
	sample      float64 // for jitter, if the last attempt is lost
	correlation string
	timeout     time.Duration // of the call, or 0
	spread      time.Duration // that a retry which is overdue may be delayed
	local       time.Time     // when it was prepared, by the clock of this process

	admission
}

// An admission is the answer of the breaker and the gate of this process to an attempt.
type admission struct {
	refused *retry.Failure // or nil
	inputs  retry.Inputs   // of that
}

// begin makes a call of the policy, for one attempt.
func (c *stepCall) begin() {
	shared := c.policy.Shared
	call := c.policy.Policy.Resume(retry.CallState{}, retry.Shared{Breaker: shared.Breaker, Gate: shared.Gate})
	c.call = &call
}

// admit begins a call, and asks the breaker and the gate of the process for permission. The
// wait at a gate is recorded nowhere: a crash meanwhile
// loses nothing. The error is not nil if the context has ended, or would end before a turn.
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

// start decides about the next attempt of a step: what is recorded, whether the
// last one is lost, and whether it has to wait.
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

// startAdmitted is start for an attempt about which the breaker and the gate of the
// process have decided.
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
		c.call.End() // gives the permit back
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
			return x.startAdmitted(ctx, c, false, a) // which records the refusal
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
			return next{kind: nextReturn, result: &result}, nil // not recorded, or later
		}
		if n, ok, err := x.deferEnd(ctx, c, end); ok {
			return n, err
		}
	default:
		x.inspect(ctx, c, call, end, err)
	}
	return x.ended(ctx, c, end)
}

// ended records the end of an attempt of a step with a policy, and reports what
// follows.
func (x *execution) ended(ctx context.Context, c *stepCall, end *attemptEnd) (next, error) {
	end.timeouts = c.attempt.timeouts()
	n, err := x.end(ctx, c, end)
	if err != nil {
		return n, err
	}
	x.report(ctx, c.call, end, &n)
	return n, nil
}

// once makes the attempt of a step without a policy.
func (x *execution) once(ctx context.Context, c *stepCall, n next) (next, error) {
	end := &attemptEnd{
		token: record.Token(8), number: n.body.Attempts, begun: time.Now(), unstarted: true, outcome: events.OutcomeSucceeded,
	}
	result, err, called := x.invoke(ctx, c, n, nil)
	if !called {
		err = x.ready(ctx) // if it is, the call comes next
	}
	if err != nil || !called {
		x.note(c, 0) // the function of the run returns its error
		return n, err
	}
	end.result, end.duration = result, time.Since(end.begun)
	return x.end(ctx, c, end)
}

// shift returns a state whose times are by a clock that is d ahead.
func shift(s retry.CallState, d time.Duration) retry.CallState {
	for _, t := range [...]*time.Time{&s.FailedAt, &s.Expires, &s.Deadline} {
		if !t.IsZero() {
			*t = t.Add(d)
		}
	}
	return s
}

// invoke calls the function of a step. It reports false, and does not call it,
// if the caller has gone, or if somebody may have claimed the run since the start
// was recorded.
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

// inspect gathers what the decision about a failed attempt depends on.
func (x *execution) inspect(ctx context.Context, c *stepCall, call *retry.Call, end *attemptEnd, err error) {
	f, in := call.Inspect(ctx, err)
	end.failure, end.correlation = f, x.e.correlation(ctx)
	if end.unstarted {
		end.token = record.Token(8)
	}
	end.err = record.ErrorOf(c.policy.Errors, f.Class(), err)
	end.deadline = call.State().Deadline
	if in.Ended != "" || c.lapsed {
		end.outcome = events.OutcomeInterrupted // it may have taken effect
		c.captureDoubt(ctx, call, f, in)
		return
	}
	end.outcome = events.OutcomeFailed
	if f.TimedOut() {
		end.outcome = events.OutcomeTimedOut
	}
	in.Deadline = time.Time{} // it ends the execution, not the step
	in.Once = ""              // a retry around the step gets what is recorded
	end.inputs = in
	b, p := c.policy.Shared.Budget, c.policy.Policy
	if b == nil && !p.Capture {
		return
	}
	state, v := p.Decide(call.State(), f, in)
	if b != nil && v.Reason == "" {
		// The budget of this process is asked before the transaction, which may be
		// repeated. A token is stranded if the transaction decides otherwise.
		if end.refusal = b.Withdraw(); end.refusal != nil {
			v.Reason, v.Cause = reasonOf(end.refusal), end.refusal
		}
	}
	if p.Capture {
		call.Restore(state)
		c.capture(ctx, call, f, in, v)
	}
}

// report shows the observers of the context what was decided about a failure.
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
