package durable

import (
	"context"
	"errors"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// This file handles jobs, which are runs that consist of a single step. Attempt 1 of this step
// has no record: its start is part of the first claim of the run, and its success is part of
// the end of the run. A job that succeeds on its first attempt therefore only requires two
// updates of one record. In all other cases, the next transaction writes the record that the
// step would have had. After that, the step is like any other: see record.Job.

// Job registers a function that executes runs, like [Handle]. The function is the only
// step of its run, is retried under the policy of s, and is recorded like a call to a
// step with this policy. The function id, which may be nil, returns the step's id for an
// input. A run that succeeds on its first attempt takes two updates of one record. In a
// store that is a [storage.Claimer] and a [storage.Swapper], each update is one
// statement.
//
// Within the function, [Current] returns the step, and durable calls are part of the
// step. Generated code calls Job for the bindings of durable policies.
func Job[In, Out any](
	e *Engine, name string, s *genapi.StepPolicy, id func(In) genapi.StepID,
	fn func(context.Context, In) (Out, error), options ...HandleOption,
) {
	j := &jobStep{policy: s, id: func(input *record.Payload) (string, error) {
		if id == nil {
			return genapi.StepID{}.Path("", s.Name)
		}
		var in In
		if err := input.Decode(e.ns.Codec, &in); err != nil {
			return "", err
		}
		return id(in).Path("", s.Name)
	}}
	invoke := func(ctx context.Context, input *record.Payload) (record.Payload, error) {
		var in In
		if err := input.Decode(e.ns.Codec, &in); err != nil {
			return record.Payload{}, inputError(fromContext(ctx).x.id, err)
		}
		var step genapi.StepID
		if id != nil {
			step = id(in)
		}
		c := fromContext(ctx)
		call, err := c.x.newCall(ctx, nil, s, step, genapi.Arguments())
		if err != nil {
			return record.Payload{}, err
		}
		call.fn = func(ctx context.Context) (any, error) { return fn(ctx, in) }
		result, err := c.x.step(ctx, call)
		if err != nil {
			return record.Payload{}, err
		}
		return *result, nil
	}
	now := s.InForce()
	if startsRecorded(now) && now.Policy != nil && s.Breaker == nil && s.Budget == nil { // else it needs other records
		j.start = &record.Job{Name: s.Name, Function: s.Function, Policy: now.Policy.Name}
		if id == nil {
			j.start.Step, _ = genapi.StepID{}.Path("", s.Name) // no part of this id can be invalid
		}
	}
	e.handle(name, &handler{invoke: invoke, job: j}, options)
}

// A jobStep is the only step of the runs of a handler.
type jobStep struct {
	policy *genapi.StepPolicy
	id     func(input *record.Payload) (string, error)
	start  *record.Job // what the first claim records; nil: the step always has a record
}

// A jobCall is the call of a job's step in the execution whose claim has started attempt 1.
type jobCall struct {
	policy *genapi.StepPolicy
	call   *stepCall   // nil until the step is called
	called bool        // the function was called for attempt 1
	end    *attemptEnd // the success of attempt 1, to be recorded with the end of the run
}

// begins reports whether c is the call whose attempt 1 the claim has started.
func (j *jobCall) begins(c *stepCall) bool {
	return j != nil && j.call == nil && c.declared == j.policy && c.unit == nil
}

// isOf reports whether j is the call of the same step as c.
func (j *jobCall) isOf(c *stepCall) bool { return j != nil && j.call != nil && j.call.key == c.key }

// beginJob returns the answer for the start of attempt 1, which the claim has already recorded.
// If the process does not admit the attempt, the transaction that records the refusal reverts
// the start.
func (x *execution) beginJob(ctx context.Context, c *stepCall) (next, error) {
	x.job.call = c
	if err := x.ready(ctx); err != nil {
		return next{}, err
	}
	a, err := c.admit(ctx)
	switch {
	case err != nil:
		return next{}, err
	case a.refused != nil:
		return x.startAdmitted(ctx, c, false, a)
	}
	return next{
		kind: nextCall, token: record.JobToken, now: time.Now(),
		record: storage.Record{Key: c.key, Version: 1, Status: storage.StatusExecuting},
		body:   record.Step{Attempts: 1},
		event:  events.Event{Kind: events.EventStarted, Attempt: 1},
	}, nil
}

// holds reports whether the end of attempt 1 can be recorded with the end of the run. If so, it
// keeps the end for that.
func (j *jobCall) holds(end *attemptEnd) bool {
	if end.result.Refuse != "" || len(end.timeouts) > 0 {
		return false // this requires a record of the step
	}
	j.end = end
	return true
}

// unfold creates the record of a job's step in a transaction about it. If the attempt was not
// called, it leaves no trace, and its number is used again.
func (v *stepView) unfold() {
	if v.runBody.Job == nil || v.step.Version != 0 || !v.x.job.isOf(v.c) {
		return
	}
	v.policies = true // the run has to be written, too
	if !v.x.job.called {
		v.runBody.Job = nil
		return
	}
	v.body, _ = v.runBody.Unfold(&v.run, &v.step)
	v.unfolded = true
}

// errUnfold reports that the end of an attempt cannot be part of the end of its run.
var errUnfold = errors.New("the run ends otherwise than its step")

// settle decides on the attempt of a job when an execution ends with the given status.
func (x *execution) settle(r *storage.Record, b *record.Run, status storage.Status) error {
	switch {
	case b.Job == nil:
	case x.job == nil || !x.job.called:
		b.Job = nil // the attempt was not executed
	case status == storage.StatusSucceeded && x.job.end != nil:
		j := *b.Job
		j.Step, j.Took = x.job.call.key.ID, x.job.end.duration
		b.Job = &j
	case status == storage.StatusOpen && x.job.end == nil:
		b.LeaveJob(r) // the end could not be recorded, and the next execution finds that the attempt is lost
	default:
		return errUnfold
	}
	return nil
}

// unfoldEnd records attempt 1 in a record of the step, because the run ends differently.
func (x *execution) unfoldEnd(ctx context.Context) error {
	end, c := x.job.end, x.job.call
	if end == nil { // the end is unknown
		return x.unfold(ctx, c.key.ID, c.policy.Policy.CallTimeout(ctx))
	}
	x.job.end = nil
	n, err := x.end(ctx, c, end)
	if err == nil {
		x.emit(ctx, c, &n)
	}
	return err
}

// unfold creates a record of a job's step, as if the start had been recorded there. It is
// called before an execution continues the step, if another execution has started attempt 1.
// timeout limits the call. 0 means that there is no limit.
func (x *execution) unfold(ctx context.Context, step string, timeout time.Duration) error {
	runKey, stepKey := x.e.ns.Key(storage.KindRun, x.id, ""), x.e.ns.Key(storage.KindStep, x.id, step)
	var view runView
	err := x.e.ns.Update(ctx, []storage.Key{runKey, stepKey}, func(tx storage.Tx) (w storage.Writes, err error) {
		r, s := tx.Record(runKey), tx.Record(stepKey)
		b, err := record.Decode[record.Run](r)
		switch {
		case err != nil:
			return w, err
		case r.Owner != x.owner.id || r.Fence != x.fence:
			return w, ErrFenced
		case b.Job != nil: // otherwise, the reply was lost
			body, _ := b.Unfold(&r, &s)
			if timeout > 0 {
				body.Call.Deadline = body.First.Add(timeout)
			}
			err = errors.Join(record.Encode(&r, &b), record.EncodeStep(&s, &body))
			w.Put = []storage.Record{r, s}
		}
		view = runView{r, b}
		return w, err
	})
	if err == nil {
		x.run, x.known = view.body, storage.Record{} // the record may have another version
		x.latest.Store(&view)
	}
	return err
}

// openJob prepares the execution of a run that is a job.
func (x *execution) openJob(ctx context.Context, h *handler) error {
	j := x.run.Job
	switch {
	case j == nil:
		return nil
	case x.fence == 1 && h.job != nil:
		x.job = &jobCall{policy: h.job.policy}
		return nil
	}
	id, timeout := j.Step, time.Duration(0)
	if h.job != nil && id == "" {
		id, _ = h.job.id(x.run.Input)
	}
	if h.job != nil {
		if p := h.job.policy.InForce().Policy; p != nil {
			timeout = p.CallTimeout(ctx)
		}
	}
	if id == "" { // the handler has changed, or can no longer read the input
		id = record.Escape(j.Name)
	}
	return x.unfold(ctx, id, timeout)
}

// settled reports the success of a step that was recorded with the end of the run. If the run
// has another owner, which status 0 means, settled records the success as evidence.
func (x *execution) settled(ctx context.Context, status storage.Status) {
	if x.job == nil || x.job.end == nil {
		return
	}
	end, c := x.job.end, x.job.call
	if status == 0 {
		_, _ = x.end(ctx, c, end) // this also reports it
		return
	}
	x.emit(ctx, c, &next{event: events.Event{
		Kind: events.EventSucceeded, Attempt: 1, Duration: end.duration, Total: end.duration,
	}})
}

// leave remembers an execution whose end could not be recorded and that has called the function
// of attempt 1. The release of its run must not revert the start.
func (e *Engine) leave(x *execution) {
	if x.job == nil || !x.job.called {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.left[x.id] = x.fence
}
