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

// This file has jobs: runs that are one step. Attempt 1 of the step has no record of its
// own: its start is part of the first claim of the run, and its success part of the end
// of the run, so that a job that succeeds at once is two updates of one record. For
// everything else, the transaction that records it writes the record that the step would
// have had, and from then on nothing is special: see record.Job.

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
	if startsRecorded(now) && now.Policy != nil && s.Breaker == nil && s.Budget == nil { // or its records need others
		j.start = &record.Job{Name: s.Name, Function: s.Function, Policy: now.Policy.Name}
		if id == nil {
			j.start.Step, _ = genapi.StepID{}.Path("", s.Name) // which has no parts that could be wrong
		}
	}
	e.handle(name, &handler{invoke: invoke, job: j}, options)
}

// A jobStep is the step that the runs of a handler are.
type jobStep struct {
	policy *genapi.StepPolicy
	id     func(input *record.Payload) (string, error)
	start  *record.Job // what the first claim records; nil: the step always has a record
}

// A jobCall is the call of the step that a run is, by the execution whose claim has
// started attempt 1.
type jobCall struct {
	policy *genapi.StepPolicy
	call   *stepCall   // nil: not yet
	called bool        // the function of attempt 1
	end    *attemptEnd // its success, which is to be recorded with the end of the run
}

// begins reports whether c is that call, whose attempt 1 has started.
func (j *jobCall) begins(c *stepCall) bool {
	return j != nil && j.call == nil && c.declared == j.policy && c.unit == nil
}

// isOf reports whether j is the call of a step.
func (j *jobCall) isOf(c *stepCall) bool { return j != nil && j.call != nil && j.call.key == c.key }

// beginJob returns the answer to the start of attempt 1, which the claim has recorded. If
// the process does not admit it, the transaction that records the refusal takes the start
// back.
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

// holds reports whether the end of attempt 1 can be recorded with the end of the run, and
// keeps it for that.
func (j *jobCall) holds(end *attemptEnd) bool {
	if end.result.Refuse != "" || len(end.timeouts) > 0 {
		return false // only a record of the step has room for it
	}
	j.end = end
	return true
}

// unfold makes the record of the step in a transaction about it, if the run stands for
// it. An attempt that was not called leaves no trace: its number is used again.
func (v *stepView) unfold() {
	if v.runBody.Job == nil || v.step.Version != 0 || !v.x.job.isOf(v.c) {
		return
	}
	v.policies = true // the run is written, too
	if !v.x.job.called {
		v.runBody.Job = nil
		return
	}
	v.body, _ = v.runBody.Unfold(&v.run, &v.step)
	v.unfolded = true
}

// errUnfold means that the end of an attempt cannot be part of the end of its run.
var errUnfold = errors.New("the run ends otherwise than its step")

// settle decides about the attempt that a run stands for, when an execution ends with a
// status.
func (x *execution) settle(r *storage.Record, b *record.Run, status storage.Status) error {
	switch {
	case b.Job == nil:
	case x.job == nil || !x.job.called:
		b.Job = nil // it was not executed
	case status == storage.StatusSucceeded && x.job.end != nil:
		j := *b.Job
		j.Step, j.Took = x.job.call.key.ID, x.job.end.duration
		b.Job = &j
	case status == storage.StatusOpen && x.job.end == nil:
		b.LeaveJob(r) // its end could not be recorded: the next execution finds that it is lost
	default:
		return errUnfold
	}
	return nil
}

// unfoldEnd records attempt 1 in a record of the step, since the run ends otherwise.
func (x *execution) unfoldEnd(ctx context.Context) error {
	end, c := x.job.end, x.job.call
	if end == nil { // it is not known
		return x.unfold(ctx, c.key.ID, c.policy.Policy.CallTimeout(ctx))
	}
	x.job.end = nil
	n, err := x.end(ctx, c, end)
	if err == nil {
		x.emit(ctx, c, &n)
	}
	return err
}

// unfold makes a record of the step that the run stands for, before another execution than
// the one that has started attempt 1 goes on: as if the start had been recorded there.
// timeout limits the call; 0 means no limit.
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
		case b.Job != nil: // or the reply was lost
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
		x.run, x.known = view.body, storage.Record{} // its version may be another one
		x.latest.Store(&view)
	}
	return err
}

// openJob prepares the execution of a run that stands for its step.
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
	if id == "" { // the handler is another one now, or cannot read the input any more
		id = record.Escape(j.Name)
	}
	return x.unfold(ctx, id, timeout)
}

// settled reports the success of a step that was recorded with the end of the run. If the
// run belongs to somebody else, status 0, the success is added as evidence.
func (x *execution) settled(ctx context.Context, status storage.Status) {
	if x.job == nil || x.job.end == nil {
		return
	}
	end, c := x.job.end, x.job.call
	if status == 0 {
		_, _ = x.end(ctx, c, end) // which reports it
		return
	}
	x.emit(ctx, c, &next{event: events.Event{
		Kind: events.EventSucceeded, Attempt: 1, Duration: end.duration, Total: end.duration,
	}})
}

// leave notes an execution whose end could not be recorded, and which has called the
// function of attempt 1: the release of its run must not take back the start.
func (e *Engine) leave(x *execution) {
	if x.job == nil || !x.job.called {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.left[x.id] = x.fence
}
