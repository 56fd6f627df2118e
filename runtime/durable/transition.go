package durable

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/capacity"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// This file contains the decisions on the starts and failures of attempts. They are pure
// functions of records, the time of the store, and the data that was prepared before the
// transaction.

// decideStart decides on the start of an attempt.
func (x *execution) decideStart(tx storage.Tx, c *stepCall, in *starting) (storage.Writes, next, error) {
	v, err := x.view(tx, c)
	if err != nil {
		return storage.Writes{}, next{}, err
	}
	s := &v.body
	switch {
	case !v.owned():
		return storage.Writes{}, next{}, ErrFenced
	case v.run.Status == storage.StatusCanceled:
		return storage.Writes{}, next{}, ErrCanceled
	case s.Open != nil && s.Open.Token == in.token: // the reply was lost
		return storage.Writes{}, v.started(), nil
	case s.Last == in.token: // the reply was lost, and the attempt was not started
		return storage.Writes{}, v.repeat(), nil
	case v.recalled && record.Blocked(v.step.Status): // an operator resolves a step in this state
		return v.commit()
	case v.step.Version != 0 && (record.Finished(v.step.Status) || record.Blocked(v.step.Status)):
		return storage.Writes{}, v.next(), nil
	case v.runBody.Hold != nil:
		return storage.Writes{}, next{}, held(x.id, v.runBody.Hold)
	case v.step.Version != 0 && x.mistaken(c, s.Function) != nil:
		return storage.Writes{}, next{}, x.mistaken(c, s.Function)
	case v.step.Version != 0 && x.differs(c, s) != nil:
		return storage.Writes{}, next{}, &ChangedError{Run: x.id, Step: c.key.ID, Arguments: x.differs(c, s)}
	case s.Open != nil:
		v.notePolicy()
		outcome := events.OutcomeLost
		if slices.Contains(v.runBody.Spared, s.Open.Fence) {
			outcome = events.OutcomeInterrupted
		}
		v.lose(outcome, in.sample, in.correlation)
		return v.refuse(in)
	}
	if c.pause != nil {
		return v.pause(in)
	}
	if v.step.Version != 0 && !in.due {
		if n := v.next(); n.kind == nextWait && (n.wait > 0 || v.spread(&n, in.spread)) {
			n.event = events.Event{
				Kind: events.EventWaiting, Attempt: s.Attempts + 1, Wait: n.wait, Correlation: s.Correlation,
			}
			return storage.Writes{}, n, nil
		}
	}
	return v.start(in)
}

// refuse returns the writes of the decision not to start an attempt.
func (v *stepView) refuse(in *starting) (storage.Writes, next, error) {
	v.body.Last = in.token
	return v.commit()
}

// differs returns the parameters whose arguments differ from the recorded ones, if such a
// difference is an error.
func (x *execution) differs(c *stepCall, s *record.Step) []string {
	if c.policy.OnChanged != genapi.ChangedFail || s.Imported {
		return nil
	}
	return record.OtherArguments(s.Arguments, c.digest)
}

// spread delays a retry that became due while no process executed the run, so that many such
// retries do not start at the same time. The delay depends only on the step, and is the same
// after another crash. most is the maximum delay.
func (v *stepView) spread(n *next, most time.Duration) bool {
	if v.step.Fence == v.x.fence || v.body.NextAt.IsZero() {
		return false // this execution has decided on the wait
	}
	d := min(spreadOf(v.c.policy, v.body.Delay), most)
	if d <= 0 {
		return false
	}
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s\x00%s\x00%s", v.step.Key.Space, v.step.Key.Run, v.step.Key.ID)
	n.wait = time.Duration(h.Sum64() % uint64(d))
	return n.wait > 0
}

// start records the start of an attempt.
func (v *stepView) start(in *starting) (storage.Writes, next, error) {
	s, p := &v.body, v.c.policy.Policy
	if v.step.Version == 0 {
		*s = record.Step{
			Name: v.c.policy.Name, Function: v.c.policy.Function, Arguments: v.c.digest, Policy: p.Name, First: v.now,
		}
		v.step = storage.Record{Key: v.c.key}
	}
	v.notePolicy()
	if s.Imported {
		s.Arguments, s.Imported = v.c.digest, false
	}
	if s.Call.Deadline.IsZero() && in.timeout > 0 {
		s.Call.Deadline = v.now.Add(in.timeout)
	}
	if s.Attempts > 0 {
		// The policy may have changed, and time has passed.
		if _, verdict := p.Decide(s.Call, retry.Failure{}, v.inputs(in.sample)); verdict.Reason != "" {
			v.exhaust(verdict.Reason, verdict.Escalate)
			return v.refuse(in)
		}
	}
	permit, f, inputs, ok := v.admit(in)
	if !ok {
		v.decide(f, inputs, nil, in.correlation)
		return v.refuse(in)
	}
	s.Attempts++
	s.Refusal = nil
	s.Open = &record.OpenAttempt{Token: in.token, Fence: v.x.fence, Owner: v.x.owner.id, Started: v.now, Permit: permit}
	v.step.Status = storage.StatusExecuting
	w, _, err := v.commit()
	return w, v.started(), err
}

// started returns the answer for an attempt that has started.
func (v *stepView) started() next {
	return next{
		kind: nextCall, record: v.step, body: v.body, now: v.now, changed: v.changed,
		event: events.Event{Kind: events.EventStarted, Attempt: v.body.Attempts, Correlation: v.body.Correlation},
	}
}

// inputs returns the inputs of a decision that restores the state of the step.
func (v *stepView) inputs(sample float64) retry.Inputs {
	return retry.Inputs{Now: v.now, Sample: sample, Restored: v.step.Fence != v.x.fence, LostMax: lostMax(v.c.policy)}
}

// admit asks the breakers for permission: the breaker of this process, which was asked before
// the transaction, and the shared breaker. If one of them refuses, admit returns the failure to
// decide on.
func (v *stepView) admit(in *starting) (*breaker.Permit, *retry.Failure, retry.Inputs, bool) {
	if in.refused != nil {
		inputs := in.inputs
		if at := &inputs.Refusal.AdmitsAt; !at.IsZero() {
			*at = v.now.Add(at.Sub(in.local))
		}
		inputs.Now, inputs.Deadline, inputs.Ended = v.now, time.Time{}, ""
		return nil, in.refused, inputs, false
	}
	if v.breaker == nil {
		return nil, nil, retry.Inputs{}, true
	}
	permit, ok := v.c.policy.Breaker.Admit(&v.state, v.now)
	v.putBreaker()
	if !ok {
		inputs := v.inputs(in.sample)
		inputs.Refusal = retry.RefusalBy(v.c.policy.Breaker.Name, v.state)
		return nil, &retry.Failure{Err: retry.ErrBreakerOpen, Refused: true}, inputs, false
	}
	return &permit, nil, retry.Inputs{}, true
}

// sample passes the outcome of the open attempt to the shared breaker.
func (v *stepView) sample(outcome events.Outcome, f retry.Failure) {
	if v.breaker == nil || v.body.Open == nil || v.body.Open.Permit == nil {
		return
	}
	b := v.c.policy.Breaker
	s := breaker.Neutral
	switch outcome {
	case events.OutcomeSucceeded:
		if b.Calm(v.state) {
			return
		}
		s = breaker.Success
	case events.OutcomeFailed, events.OutcomeTimedOut:
		s = v.c.policy.Policy.Sample(b, f)
	}
	b.Record(&v.state, *v.body.Open.Permit, s, v.now)
	v.putBreaker()
}

// putBreaker writes the shared breaker if it has changed.
func (v *stepView) putBreaker() {
	_ = record.PutBreaker(&v.w, *v.breaker, &v.state, v.now) // plain data can always be encoded as JSON
}

// lose decides on an open attempt whose process has died.
func (v *stepView) lose(outcome events.Outcome, sample float64, correlation string) {
	s := &v.body
	open := s.Open
	v.sample(outcome, retry.Failure{})
	s.Open = nil // Last is kept: the end of the attempt may still arrive, and is evidence
	if s.Correlation == "" {
		s.Correlation = correlation
	}
	v.doubt(outcome, sample, correlation)
	body := record.Entry{
		Outcome: outcome, Started: open.Started, Owner: open.Owner, Fence: open.Fence, Reason: s.Reason,
		Correlation: s.Correlation,
	}
	if v.step.Status == storage.StatusWaiting {
		body.Wait = s.Delay
	}
	v.w.Add = append(v.w.Add, v.newEntry(s.Attempts, 0, body))
}

// doubt decides on a step whose last attempt may have taken effect, because it was lost or
// interrupted.
func (v *stepView) doubt(outcome events.Outcome, sample float64, correlation string) {
	s, interrupted := &v.body, outcome == events.OutcomeInterrupted
	if interrupted {
		s.Interrupted++
	}
	switch on := onLost(v.c.policy); {
	case on == genapi.OnLostRetry && !interrupted:
		v.decide(&retry.Failure{Lost: true}, v.inputs(sample), nil, correlation)
	case on == genapi.OnLostRetry && s.Interrupted < maxInterrupted:
		v.resume(sample, correlation)
	default:
		if !interrupted {
			s.Call.Lost++
		}
		if v.step.Status = storage.StatusInDoubt; on != genapi.OnLostPause {
			v.exhaust(retry.ErrLost, false)
		}
	}
	switch v.step.Status {
	case storage.StatusWaiting:
		if v.event.Kind = events.EventLost; interrupted {
			v.event.Kind = events.EventInterrupted
		}
	case storage.StatusInDoubt:
		v.event.Kind = events.EventInDoubt
	}
	v.event.Attempt = v.body.Attempts
}

// resume decides on an attempt that was interrupted, which is not a failure. The next attempt
// requires no grant, and no limit counts it. It waits as after a lost attempt, so that the
// steps of a process that has ended do not all start at the same time.
func (v *stepView) resume(sample float64, correlation string) {
	s := &v.body
	in := v.inputs(sample)
	in.LostMax = 0
	state, verdict := v.c.policy.Policy.Decide(s.Call, retry.Failure{Lost: true}, in)
	if verdict.Reason != "" { // a time limit, or the policy has changed
		v.event = events.Event{Kind: events.EventExhausted}
		v.exhaust(verdict.Reason, verdict.Escalate)
		return
	}
	s.Call.Waited, s.Call.Previous = state.Waited, state.Previous
	v.event = events.Event{Kind: events.EventInterrupted, Wait: verdict.Wait, Correlation: s.Correlation}
	v.step.Status, s.Delay, s.NextAt = storage.StatusWaiting, verdict.Wait, v.now.Add(verdict.Wait)
}

// decide decides on a failure: the step waits, or is exhausted.
func (v *stepView) decide(f *retry.Failure, in retry.Inputs, refusal error, correlation string) retry.Verdict {
	s := &v.body
	if s.Correlation == "" {
		s.Correlation = correlation
	}
	state, verdict := v.c.policy.Policy.Decide(s.Call, *f, in)
	s.Call = state
	if verdict.Reason == "" && !f.Refused {
		if cause := v.grant(refusal); cause != nil {
			verdict.Reason, verdict.Cause = reasonOf(cause), cause
		}
	}
	v.event = events.Event{
		Kind: events.EventFailed, Attempt: s.Attempts, Reason: verdict.Reason, Wait: verdict.Wait, Class: f.Class(),
		Err:         f.Err,
		Correlation: s.Correlation,
	}
	if verdict.Reason != "" {
		if f.Refused || verdict.Reason == retry.ErrBreakerOpen {
			s.Error = v.refusals(f)
		}
		s.Call.Waited -= verdict.Wait
		v.exhaust(verdict.Reason, verdict.Escalate)
		return verdict
	}
	if s.Refusal = nil; f.Refused && verdict.Refusal != (retry.Refusal{}) {
		s.Refusal = &verdict.Refusal // from a breaker; a gate does not set it
	}
	v.step.Status, s.Delay, s.NextAt = storage.StatusWaiting, verdict.Wait, v.now.Add(verdict.Wait)
	return verdict
}

// refusals returns the error of a step that was exhausted by refusals. The error of its last
// attempt, if there was one, does not explain why there was no other attempt.
func (v *stepView) refusals(f *retry.Failure) *record.Error {
	e := &record.Error{Class: retry.ClassBreakerOpen, Text: "refused by " + breakerName(v.c.policy)}
	if by, ok := errors.AsType[capacity.Refusal](f.Err); ok {
		e.Class, e.Text = f.Class(), "refused: "+by.Error()
	}
	if n := v.body.Call.Refusals; n > 0 {
		e.Text = fmt.Sprintf("%d %s", n, e.Text)
	}
	if last := v.body.Error; last != nil {
		e.Text, e.Targets = record.Clip(e.Text+"; the last attempt: "+last.Text), last.Targets
	}
	return e
}

// grant deducts one retry from the budgets, once per attempt: first from the budget of the run,
// and then from the shared budgets.
func (v *stepView) grant(refusal error) error {
	s := &v.body
	if refusal != nil {
		return refusal
	}
	if s.Grant == s.Attempts+1 {
		return nil // already deducted
	}
	if v.count != nil {
		if ev := v.count.refuses(v.step.Key.ID, s.Granted); ev != nil {
			v.jobs = []job.Event{*ev}
			return ev.Err
		}
	}
	if v.group != nil {
		if ev := v.group.refuses(); ev != nil {
			v.jobs = []job.Event{*ev}
			return ev.Err
		}
	}
	if v.ratio != nil {
		if !v.ratio.Withdraw() {
			return retry.ErrBudget
		}
	}
	if v.count != nil {
		v.jobs = append(v.jobs, *v.count.consume(v.step.Key.ID))
	}
	if v.group != nil {
		v.jobs = append(v.jobs, *v.group.consume())
	}
	s.Granted++
	s.Grant = s.Attempts + 1
	return nil
}

// reasonOf returns the reason for a refusal by a budget.
func reasonOf(err error) retry.Reason {
	if r, ok := errors.AsType[retry.Reason](err); ok {
		return r
	}
	return retry.ErrBudget
}

// exhaust ends a step with an error.
func (v *stepView) exhaust(reason retry.Reason, escalate bool) {
	s := &v.body
	s.Reason, s.Ended, s.NextAt, s.Delay, s.Refusal = reason, v.now, time.Time{}, 0, nil
	refused := reason == retry.ErrPermanent || reason == retry.ErrUnclassified // attempts were left
	s.Escalated = reason == retry.ErrEscalated || escalate && !refused ||
		v.c.policy.OnExhausted == genapi.ExhaustedEscalate
	v.event.Kind, v.event.Reason, v.event.Attempt = events.EventExhausted, reason, s.Attempts
	switch on := v.c.policy.OnExhausted; {
	case on == genapi.ExhaustedPause:
		v.step.Status = storage.StatusPaused
	case on == genapi.ExhaustedDeadLetter || !s.Dead.IsZero(): // requeued: dead until it has succeeded
		v.step.Status, s.Dead, v.event.Kind = storage.StatusDead, v.now, events.EventDeadLetter
	default:
		v.step.Status = storage.StatusFailed
	}
}
