package durable

import (
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// This file decides on the ends of attempts, and on what is recorded about them.

// decideEnd decides on the end of an attempt.
func (x *execution) decideEnd(tx storage.Tx, c *stepCall, e *attemptEnd) (storage.Writes, next, error) {
	v, err := x.view(tx, c)
	if err != nil {
		return storage.Writes{}, next{}, err
	}
	s := &v.body
	if s.Last == e.token {
		return storage.Writes{}, v.repeat(), nil // the reply was lost
	}
	open := s.Open != nil && s.Open.Token == e.token
	if !v.owned() || !open && !e.unstarted {
		// Another engine has claimed the run. An operator may need this information, unless the
		// record of the step is gone, because then nothing would list or delete the entry.
		var w storage.Writes
		if v.step.Version != 0 || v.unfolded { // or will have one soon
			w.Add = []storage.Entry{v.entry(e, true)}
		}
		return w, next{
			kind: nextFenced, record: v.step,
			event: events.Event{Kind: events.EventRefused, Attempt: e.number, Outcome: e.outcome},
		}, nil
	}
	switch {
	case e.unstarted:
		v.first(e)
	case v.unfolded:
		v.notePolicy()
		v.limit(e)
	}
	v.sample(e.outcome, e.failure) // before the rest, because the failure may open the breaker
	s.Open, s.Last = nil, e.token
	if e.outcome != events.OutcomeInterrupted && e.outcome != events.OutcomeWithdrawn {
		s.Interrupted = 0
	}
	var n next
	v.step.Status = storage.StatusOpen
	switch e.outcome {
	case events.OutcomeSucceeded:
		v.succeed(e)
	case events.OutcomeWithdrawn:
		v.withdraw(e)
	case events.OutcomeInterrupted:
		v.keepError(e)
		v.doubt(events.OutcomeInterrupted, e.inputs.Sample, e.correlation)
	default:
		v.keepError(e)
		inputs := e.inputs
		inputs.Now, inputs.LostMax = v.now, lostMax(c.policy)
		inputs.Restored = v.step.Version != 0 && v.step.Fence != x.fence
		if b := c.policy.Breaker; b != nil {
			inputs.Refusal = retry.RefusalBy(b.Name, v.state)
		}
		n.verdict = v.decide(&e.failure, inputs, e.refusal, e.correlation)
		n.failure = &e.failure
	}
	v.w.Add = append(v.w.Add, v.entry(e, false))
	w, answer, err := v.commit()
	answer.failure, answer.verdict = n.failure, n.verdict
	return w, answer, err
}

// first creates the record of a step whose first attempt was started without a record.
func (v *stepView) first(e *attemptEnd) {
	v.step = storage.Record{Key: v.c.key, Version: v.step.Version}
	v.body = record.Step{
		Name: v.c.policy.Name, Function: v.c.policy.Function, Arguments: v.c.digest, Attempts: e.number,
		First: v.now.Add(-e.duration), Keys: v.body.Keys,
	}
	if p := v.c.policy.Policy; p != nil {
		v.notePolicy()
	}
	v.limit(e)
}

// limit sets the deadline of a call whose first attempt was started without a record.
func (v *stepView) limit(e *attemptEnd) {
	if !e.deadline.IsZero() {
		v.body.Call.Deadline = v.now.Add(e.deadline.Sub(e.begun.Add(e.duration)))
	}
}

// keepError records the error of an attempt.
func (v *stepView) keepError(e *attemptEnd) {
	v.body.Error = e.err
	if v.body.Correlation == "" {
		v.body.Correlation = e.correlation
	}
}

// succeed records a result.
func (v *stepView) succeed(e *attemptEnd) {
	s := &v.body
	v.step.Status, s.Ended = storage.StatusSucceeded, v.now
	s.Error, s.Reason, s.Escalated, s.NextAt, s.Delay, s.Dead = nil, "", false, time.Time{}, 0, time.Time{}
	v.keepResult(e.result)
	if v.ratio != nil {
		v.ratio.Deposit()
	}
	v.event = events.Event{
		Kind: events.EventSucceeded, Attempt: s.Attempts, Duration: e.duration, Total: v.now.Sub(s.First),
		Correlation: s.Correlation,
	}
}

// withdraw reverts the start of an attempt that was not executed. Its number is not used again.
func (v *stepView) withdraw(e *attemptEnd) {
	v.event = events.Event{Kind: events.EventWithdrawn, Attempt: e.number}
	if !v.body.NextAt.IsZero() {
		v.step.Status = storage.StatusWaiting
	}
}

// entry returns the entry of an attempt, or of an end that was refused.
func (v *stepView) entry(e *attemptEnd, refused bool) storage.Entry {
	body := record.Entry{
		Outcome: e.outcome, Started: v.now.Add(-e.duration), Duration: e.duration, Owner: e.owner, Fence: e.fence,
		Correlation: v.body.Correlation, Refused: refused, Timeouts: e.timeouts,
	}
	if e.err != nil {
		body.Class, body.Error = e.err.Class, e.err.Text
	}
	part := 0
	switch {
	case refused:
		part = record.ResultPart + 1 + int(e.fence)
	case e.outcome == events.OutcomeWithdrawn: // the wait before it was decided with the preceding attempt
	case v.step.Status == storage.StatusWaiting:
		body.Wait = v.body.Delay
	default:
		body.Reason = v.body.Reason
	}
	return v.newEntry(e.number, part, body)
}

// newEntry returns an entry in the history of the step.
func (v *stepView) newEntry(attempt, part int, body record.Entry) storage.Entry {
	return record.NewEntry(v.bucketed(), v.now, attempt, part, body)
}

// keepResult records a result.
func (v *stepView) keepResult(result record.Payload) {
	v.w.Add = append(v.w.Add, v.body.KeepResult(v.bucketed(), v.now, result)...)
}

// bucketed returns the record of the step with its bucket. The record may be new.
func (v *stepView) bucketed() storage.Record {
	r := v.step
	r.Bucket = v.run.Bucket
	return r
}
