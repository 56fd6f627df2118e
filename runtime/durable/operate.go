package durable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// A Resolution is what an operator knows about a step in doubt, or decides about one
// that waits.
type Resolution struct {
	outcome Outcome
	value   any
	err     error
}

// Succeeded is the resolution of a step that has taken effect, with its result.
func Succeeded(value any) Resolution { return Resolution{outcome: OutcomeSucceeded, value: value} }

// Failed is the resolution of a step that has not taken effect and is not to be
// tried again: its calls return err in recorded form.
func Failed(err error) Resolution { return Resolution{outcome: OutcomeFailed, err: err} }

// Retry is the resolution of a step that has not taken effect, or that may be
// executed again. The next attempt starts when the run is executed, and never if
// it was canceled. The policy counts attempts from zero, as after [Engine.Requeue],
// except for a step that waits: its wait ends, and nothing else changes.
func Retry() Resolution { return Resolution{} }

// Resolve records what an operator knows about a step in doubt, or about one
// that has paused its run. It may be called again to correct a resolution. A run
// whose last such step is resolved is open again: call Run. A run that was canceled
// or has timed out stays as it is: there, [Retry] ends the step as canceled.
//
// Resolve also ends the wait of a step before its next attempt: [Retry] makes the
// attempt due now, [Succeeded] skips the step with a result, and [Failed] ends it as
// a permanent error does, whatever the policy does when attempts are exhausted. A
// parked run goes on at once where workers execute it. A [Sleep] can be skipped or
// failed, and a [Wait] can be failed; [Engine.Signal] sends it a value.
//
// The error matches [ErrNotFound], or [ErrConflict] if the step is in another state,
// or an engine executes the run.
func (e *Engine) Resolve(ctx context.Context, run, step string, r Resolution, by ...Operator) error {
	var result *payload
	if r.outcome == OutcomeSucceeded {
		p := encode(e.codec, r.value)
		if err := p.refused(); err != nil {
			return fmt.Errorf("step %q of run %q: %w", step, run, err)
		}
		result = &p
	}
	change := func(o *operation) error {
		if o.body.Open != nil {
			o.lose()
		}
		if err := o.resolvable(r); err != nil {
			return fmt.Errorf("step %q of run %q %w: %w", step, run, err, ErrConflict)
		}
		o.resolve(r, result)
		return nil
	}
	_, err := e.operate(ctx, run, step, operand{by: operator(by), event: EventResolved, ended: true, change: change})
	return err
}

// resolvable returns why a step cannot be resolved so, or nil.
func (o *operation) resolvable(r Resolution) error {
	pause := pauses[o.body.Function]
	switch {
	case o.step.Status == StatusWaiting && pause == PauseSignal && r.outcome == OutcomeSucceeded:
		return errors.New("waits for a signal: use Signal")
	case o.step.Status == StatusWaiting && pause != "" && r.outcome == "":
		return fmt.Errorf("waits for no attempt, but for a %s: it cannot be retried", pause)
	case o.step.Status == StatusWaiting, blocked(o.step.Status), o.body.Resolved:
		return nil
	}
	return fmt.Errorf("is %v, not in doubt, paused or waiting", o.step.Status)
}

// A RequeueOption changes what [Engine.Requeue] does: [NewKey], [Repeat] or [By]; or
// what [Engine.RequeueDead] does: also [Rate] or [Only].
type RequeueOption interface{ requeue(*requeue) }

type requeue struct {
	newKey, repeat bool
	deadOnly       bool // and nothing else that can be requeued
	rate           float64
	only           func(StepInfo) bool // or nil
	by             Operator

	delay time.Duration // before a worker executes the run
}

type requeueOption func(*requeue)

func (f requeueOption) requeue(q *requeue) { f(q) }

func (o Operator) requeue(q *requeue) { q.by = operator([]Operator{o}) }

// NewKey gives the step a new idempotency key, for a server that remembers the
// failure under the old one. Only do so if the step has certainly not taken
// effect.
func NewKey() RequeueOption { return requeueOption(func(q *requeue) { q.newKey = true }) }

// Repeat requeues a step although it has succeeded, to execute it again.
func Repeat() RequeueOption { return requeueOption(func(q *requeue) { q.repeat = true }) }

func newRequeue(options []RequeueOption) requeue {
	q := requeue{rate: defaultRate}
	for _, option := range options {
		option.requeue(&q)
	}
	return q
}

// Requeue makes a failed step, or a dead letter, executable again. Its attempts
// are counted from zero for its policy; their numbers go on, and its history
// stays. The run is open again, even if it has ended: call Run, which executes
// this step and returns the recorded results of the others. A dead letter stays
// one until it has succeeded: if it is exhausted again, it is listed again. A
// run that [Engine.Pause] has paused stays paused.
//
// A unit of a group is requeued with its steps that have failed, and a step of a
// unit with the unit. The group counts the unit again when it is called.
//
// The error matches
// [ErrNotFound], or [ErrConflict] if the state of the step does not allow it, or
// an engine executes the run.
func (e *Engine) Requeue(ctx context.Context, run, step string, options ...RequeueOption) error {
	_, err := e.requeue(ctx, run, step, newRequeue(options))
	return err
}

// requeue returns the fence of the run that it has opened.
func (e *Engine) requeue(ctx context.Context, run, step string, q requeue) (fence uint64, err error) {
	change := func(o *operation) error {
		switch s := o.step.Status; {
		case q.deadOnly && s != StatusDead:
			return errNotDead
		case s == StatusFailed || s == StatusDead || s == StatusDiscarded || s == StatusPaused || s == StatusAbandoned:
		case s == StatusSucceeded && q.repeat:
			o.body.Result = nil
		case s == StatusSucceeded:
			return fmt.Errorf("step %q of run %q has succeeded: use Repeat to execute it again: %w", step, run, ErrConflict)
		case s == StatusInDoubt:
			return fmt.Errorf("step %q of run %q is in doubt: use Resolve: %w", step, run, ErrConflict)
		default:
			return fmt.Errorf("step %q of run %q is %v: %w", step, run, s, ErrConflict)
		}
		text := ""
		if q.newKey {
			o.body.Keys++
			text = "with a new idempotency key"
		}
		o.reopen(OutcomeRequeued, text)
		return nil
	}
	return e.operate(ctx, run, step, operand{by: q.by, event: EventRequeued, delay: q.delay, change: change})
}

// An operation is a change that an operator makes to a step.
type operation struct {
	now  time.Time
	by   Operator
	over bool // the run is canceled or has timed out: nothing is executed any more
	step Record
	body stepBody
	add  []Entry
}

// An operand is what an operation works on, and what it does.
type operand struct {
	by     Operator
	event  EventKind
	ended  bool          // possible in a run that is canceled or has timed out
	delay  time.Duration // before a worker executes the run
	change func(*operation) error

	token string // distinguishes a repetition, after a lost reply, from another operation
	step  string // its id

	owner, stepKey Key // of the run, and the step

	// As they were read before:
	run     Record
	dead    bool     // the process of its owner
	blocked []string // its steps that wait for a person
	units   []Key    // in which the step is called
	failed  []Key    // steps of the unit, if the step records one

	fence uint64 // of the run, as it was written
}

// errRunChanged makes an operation look at its run again.
var errRunChanged = errors.New("the run has changed since it was read")

// operate changes a step of a run that nobody executes, and opens the run. It returns
// the fence of the run.
func (e *Engine) operate(ctx context.Context, run, step string, p operand) (fence uint64, err error) {
	p.token, p.step = token(8), step
	for {
		keys, err := e.prepare(ctx, run, &p)
		if err == nil {
			err = e.update(ctx, keys, p.decide)
		}
		switch {
		case err == nil:
			e.event(ctx, Event{Kind: p.event, Run: run, Step: step, By: p.by})
			e.notify(run)
			return p.fence, nil
		case err != errRunChanged:
			return 0, err
		}
	}
}

// prepare reads what an operation depends on, and returns the keys of its records.
func (e *Engine) prepare(ctx context.Context, run string, p *operand) ([]Key, error) {
	runKey, stepKey := e.key(KindRun, run, ""), e.key(KindStep, run, p.step)
	known, err := e.store.Get(ctx, []Key{runKey, stepKey})
	if err != nil {
		return nil, err
	}
	p.run, p.failed = known[0], nil
	holder := p.run.Owner
	if h, ok := e.store.(Holder); ok && holder != "" {
		p.dead = h.Dead(holder)
	}
	if p.run.Status == StatusPaused {
		if p.blocked, err = e.blockedSteps(ctx, run); err != nil {
			return nil, err
		}
	}
	body, err := open[stepBody](known[1])
	if err != nil {
		return nil, err
	}
	p.units = nil
	for _, id := range unitsOf(p.step, body.Unit != nil) {
		p.units = append(p.units, e.key(KindStep, run, id))
	}
	if body.Unit != nil {
		if p.failed, err = e.failedSteps(ctx, run, p.step); err != nil {
			return nil, err
		}
	}
	p.owner, p.stepKey = e.key(KindOwner, "", holder), stepKey
	return slices.Concat([]Key{p.owner, runKey, stepKey}, p.units, p.failed), nil
}

// decide decides about an operation.
func (p *operand) decide(tx Tx) (Writes, error) {
	r := tx.Record(p.run.Key)
	b, err := open[runBody](r)
	if err != nil {
		return Writes{}, err
	}
	o := operation{now: tx.Now, by: p.by, over: isOver(r.Status), step: tx.Record(p.stepKey)}
	p.fence = r.Fence
	if o.body, err = open[stepBody](o.step); err != nil || o.body.Operated == p.token {
		return Writes{}, err
	}
	if err := operable(tx, r, p); err != nil {
		return Writes{}, err
	}
	if o.step.Version == 0 {
		return Writes{}, fmt.Errorf("step %q of run %q: %w", o.step.Key.ID, r.Key.Run, ErrNotFound)
	}
	if err := p.change(&o); err != nil {
		return Writes{}, err
	}
	o.body.Operated = p.token
	r.Owner = ""
	r.Fence++ // an engine that is slow to learn of it must not go on
	p.fence = r.Fence
	others := slices.ContainsFunc(p.blocked, func(id string) bool { return id != o.step.Key.ID })
	if !o.over && (r.Status != StatusPaused || b.Hold == nil && !others) {
		r.Status, r.Attention, r.Due = StatusOpen, false, time.Time{}
		if r.Handler != "" {
			r.Due = tx.Now.Add(p.delay) // for a worker
		}
	}
	if !o.over {
		b.Recoveries, b.Ended, b.Result, b.Tail = 0, time.Time{}, nil, false
	}
	o.step.Fence = r.Fence
	err = errors.Join(write(&r, &b), writeStep(&o.step, &o.body))
	w := Writes{Put: []Record{r, o.step}, Add: o.add}
	if o.over {
		return w, err
	}
	return w, errors.Join(err, p.open(&w, tx, r.Fence))
}

// isOver reports whether a run with a status is never executed again, whatever
// becomes of its steps.
func isOver(s Status) bool { return s == StatusCanceled || s == StatusTimedOut }

// operable returns an error if an operator cannot change a run.
func operable(tx Tx, r Record, p *operand) error {
	owner := tx.Record(p.owner)
	switch {
	case r.Version == 0:
		return fmt.Errorf("run %q: %w", r.Key.Run, ErrNotFound)
	case isOver(r.Status) && !p.ended:
		return fmt.Errorf("run %q is %v: %w", r.Key.Run, r.Status, ErrConflict)
	case r.Status == StatusExpired:
		return fmt.Errorf("run %q: its steps were deleted: %w", r.Key.Run, ErrConflict)
	case r.Version != p.run.Version:
		return errRunChanged
	case r.Owner == "" || p.dead || owner.Version == 0:
		return nil
	}
	b, err := open[ownerBody](owner)
	if err != nil {
		return err
	}
	if b.Until.After(tx.Now) {
		return fmt.Errorf("run %q is executed by %s, whose lease ends at %s: %w",
			r.Key.Run, r.Owner, b.Until.Format(time.RFC3339), ErrConflict)
	}
	return nil
}

// lose ends an open attempt whose engine is dead: it may have taken effect.
func (o *operation) lose() {
	open := o.body.Open
	o.body.Open = nil
	o.body.Call.Lost++
	o.step.Status = StatusInDoubt
	o.entry(0, entryBody{Outcome: OutcomeLost, Started: open.Started, Owner: open.Owner, Fence: open.Fence})
}

// entry adds an entry to the history of the step.
func (o *operation) entry(part int, body entryBody) {
	body.Correlation = o.body.Correlation
	o.add = append(o.add, newEntry(o.step, o.now, o.body.Attempts, part, body))
}

// resolvedPart is the Part of the first entry about what an operator did: those
// of late ends are smaller.
const resolvedPart = 1 << 30

// record adds what the operator did to the history of the step.
func (o *operation) record(outcome Outcome, text string) {
	o.body.Operations++
	o.entry(resolvedPart+o.body.Operations, entryBody{Outcome: outcome, Started: o.now, Error: text, By: o.by})
}

// resolve records a resolution.
func (o *operation) resolve(r Resolution, result *payload) {
	switch {
	case r.outcome == "" && o.over:
		o.body.Ended, o.body.NextAt, o.body.Delay, o.body.Resolved = o.now, time.Time{}, 0, true
		o.step.Status = StatusCanceled
		o.record(OutcomeResolved, "not executed again")
		return
	case r.outcome == "" && o.step.Status == StatusWaiting:
		o.body.NextAt, o.body.Delay = time.Time{}, 0 // it is due, and not overdue: retries are spread
		o.record(OutcomeResolved, "execute now")
		return
	case r.outcome == "":
		o.reopen(OutcomeResolved, "execute again")
		return
	}
	o.body.Ended, o.body.NextAt, o.body.Delay, o.body.Resolved = o.now, time.Time{}, 0, true
	text := "succeeded"
	switch r.outcome {
	case OutcomeSucceeded:
		o.step.Status, o.body.Result, o.body.Error, o.body.Dead = StatusSucceeded, result, nil, time.Time{}
	case OutcomeFailed:
		o.step.Status, o.body.Reason = StatusFailed, retry.ErrPermanent
		o.body.Error = &recordedError{Text: clip(errorText(r.err))}
		text = o.body.Error.Text
	}
	o.record(OutcomeResolved, text)
}

// reopen makes a step executable with a new count of attempts, whatever the
// limits of its policy say about those that were made.
func (o *operation) reopen(outcome Outcome, text string) {
	o.step.Status, o.body.Resolved = StatusOpen, false
	o.body.Waited += o.body.Call.Waited
	o.body.Call, o.body.Reason, o.body.Escalated, o.body.Granted = retry.CallState{}, "", false, 0
	o.body.Interrupted = 0
	o.body.Ended, o.body.NextAt, o.body.Delay = time.Time{}, time.Time{}, 0
	o.record(outcome, text)
}
