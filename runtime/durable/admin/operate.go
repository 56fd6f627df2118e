package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/fault"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A Resolution states what an operator knows about a step in doubt, or what to do with a
// waiting step.
type Resolution struct {
	outcome events.Outcome
	value   any
	err     error
}

// Succeeded is the resolution for a step that has taken effect. value is its result.
func Succeeded(value any) Resolution {
	return Resolution{outcome: events.OutcomeSucceeded, value: value}
}

// Failed is the resolution for a step that has not taken effect and must not be attempted
// again. Calls to the step return err in its recorded form.
func Failed(err error) Resolution { return Resolution{outcome: events.OutcomeFailed, err: err} }

// Retry is the resolution for a step that has not taken effect or may be executed again.
// The next attempt starts when the run is executed, or never if the run was canceled. The
// policy counts attempts from zero, as after [Client.Requeue]. For a waiting step, Retry
// only ends the wait and does not change the counts.
func Retry() Resolution { return Resolution{} }

// Resolve records what an operator knows about a step in doubt, or about a step that has
// paused its run. It may be called again to correct a resolution. When the last such step
// of a run is resolved, the run is open again: call Run, or let workers execute it. A run
// that was canceled or has timed out remains in that state, and [Retry] ends the step as
// canceled.
//
// Resolve can also end a step's wait for its next attempt. With [Retry], the attempt is
// due now. [Succeeded] skips the step and gives it a result. [Failed] ends the step as a
// permanent error would, whatever the policy does when attempts are exhausted. If workers
// execute the run, a parked run continues at once. A durable.Sleep can be skipped or
// failed. A durable.Wait can be failed. To send it a value, use [Client.Signal].
//
// If the step does not exist, the error matches [ErrNotFound]. If the step is in any
// other state, or if an engine is executing the run, the error matches [ErrConflict].
func (c *Client) Resolve(ctx context.Context, run, step string, r Resolution, by ...events.Operator) error {
	var result *record.Payload
	if r.outcome == events.OutcomeSucceeded {
		p := record.NewPayload(c.ns.Codec, r.value)
		if err := p.Refused(); err != nil {
			return fmt.Errorf("step %q of run %q: %w", step, run, err)
		}
		result = &p
	}
	change := func(o *operation) error {
		if o.body.Open != nil {
			o.lose()
		}
		if err := o.resolvable(r); err != nil {
			return fmt.Errorf("step %q of run %q %w: %w", step, run, err, fault.ErrConflict)
		}
		o.resolve(r, result)
		return nil
	}
	_, err := c.operate(
		ctx, run, step, operand{by: operator(by), event: events.EventResolved, ended: true, change: change},
	)
	return err
}

// resolvable returns why a step cannot be resolved so, or nil.
func (o *operation) resolvable(r Resolution) error {
	pause := pauses[o.body.Function]
	switch {
	case o.step.Status == storage.StatusWaiting && pause == PauseSignal && r.outcome == events.OutcomeSucceeded:
		return errors.New("waits for a signal: use Signal")
	case o.step.Status == storage.StatusWaiting && pause != "" && r.outcome == "":
		return fmt.Errorf("waits for no attempt, but for a %s: it cannot be retried", pause)
	case o.step.Status == storage.StatusWaiting, record.Blocked(o.step.Status), o.body.Resolved:
		return nil
	}
	return fmt.Errorf("is %v, not in doubt, paused or waiting", o.step.Status)
}

// A RequeueOption is an option for [Client.Requeue], which accepts [NewKey], [Repeat] and
// [RequeueBy], or for [Client.RequeueDead], which also accepts [RequeueRate] and [Only].
type RequeueOption func(*requeue)

type requeue struct {
	newKey, repeat bool
	deadOnly       bool // and nothing else that can be requeued
	rate           float64
	only           func(StepInfo) bool // or nil
	by             events.Operator

	delay time.Duration // before a worker executes the run
}

// RequeueBy names the person who requeues a step, and the reason: see [By].
func RequeueBy(o events.Operator) RequeueOption {
	return func(q *requeue) { q.by = operator([]events.Operator{o}) }
}

// NewKey gives the step a new idempotency key, for a server that remembers the failure
// under the old one. Use it only if you are certain that the step has not taken effect.
func NewKey() RequeueOption { return func(q *requeue) { q.newKey = true } }

// Repeat requeues a step even if it has succeeded, to execute it again.
func Repeat() RequeueOption { return func(q *requeue) { q.repeat = true } }

func newRequeue(options []RequeueOption) requeue {
	q := requeue{rate: defaultRate}
	for _, option := range options {
		option(&q)
	}
	return q
}

// Requeue allows a failed step, such as a dead letter, to be executed again. The policy
// counts the step's attempts from zero, but the attempt numbers continue and the history
// is kept. The run is open again, even if it had ended: call Run, or let workers execute
// it. This execution runs the step again, and uses the recorded results of the other
// steps. A dead letter is listed until its step has succeeded. A run that was paused with
// [Client.Pause] stays paused.
//
// A unit of a group is requeued together with its failed steps, and a step of a unit is
// requeued together with the unit. When the group is called again, it counts the unit
// again.
//
// If the step does not exist, the error matches [ErrNotFound]. If the state of the step
// does not allow the operation, or if an engine is executing the run, the error matches
// [ErrConflict].
func (c *Client) Requeue(ctx context.Context, run, step string, options ...RequeueOption) error {
	_, err := c.requeue(ctx, run, step, newRequeue(options))
	return err
}

// requeue returns the fence of the run that it has opened.
func (c *Client) requeue(ctx context.Context, run, step string, q requeue) (fence uint64, err error) {
	change := func(o *operation) error {
		switch s := o.step.Status; {
		case q.deadOnly && s != storage.StatusDead:
			return errNotDead
		case s == storage.StatusFailed || s == storage.StatusDead || s == storage.StatusDiscarded ||
			s == storage.StatusPaused || s == storage.StatusAbandoned:
		case s == storage.StatusSucceeded && q.repeat:
			o.body.Result = nil
		case s == storage.StatusSucceeded:
			return fmt.Errorf(
				"step %q of run %q has succeeded: use Repeat to execute it again: %w", step, run, fault.ErrConflict,
			)
		case s == storage.StatusInDoubt:
			return fmt.Errorf("step %q of run %q is in doubt: use Resolve: %w", step, run, fault.ErrConflict)
		default:
			return fmt.Errorf("step %q of run %q is %v: %w", step, run, s, fault.ErrConflict)
		}
		text := ""
		if q.newKey {
			o.body.Keys++
			text = "with a new idempotency key"
		}
		o.reopen(events.OutcomeRequeued, text)
		return nil
	}
	return c.operate(ctx, run, step, operand{by: q.by, event: events.EventRequeued, delay: q.delay, change: change})
}

// An operation is a change that an operator makes to a step.
type operation struct {
	now  time.Time
	by   events.Operator
	over bool // the run is canceled or has timed out: nothing is executed any more
	step storage.Record
	body record.Step
	add  []storage.Entry
}

// An operand is what an operation works on, and what it does.
type operand struct {
	by     events.Operator
	event  events.Kind
	ended  bool          // possible in a run that is canceled or has timed out
	delay  time.Duration // before a worker executes the run
	change func(*operation) error

	token string // distinguishes a repetition, after a lost reply, from another operation
	step  string // its id

	owner, stepKey storage.Key // of the run, and the step

	// As they were read before:
	run     storage.Record
	dead    bool          // the process of its owner
	blocked []string      // its steps that wait for a person
	units   []storage.Key // in which the step is called
	failed  []storage.Key // steps of the unit, if the step records one

	fence uint64 // of the run, as it was written
}

// errRunChanged makes an operation look at its run again.
var errRunChanged = errors.New("the run has changed since it was read")

// operate changes a step of a run that nobody executes, and opens the run. It returns
// the fence of the run.
func (c *Client) operate(ctx context.Context, run, step string, p operand) (fence uint64, err error) {
	p.token, p.step = record.Token(8), step
	for {
		keys, err := c.prepare(ctx, run, &p)
		if err == nil {
			err = c.ns.Update(ctx, keys, p.decide)
		}
		switch {
		case err == nil:
			c.ns.Event(ctx, events.Event{Kind: p.event, Run: run, Step: step, By: p.by})
			c.ns.Notify(run)
			return p.fence, nil
		case err != errRunChanged:
			return 0, err
		}
	}
}

// prepare reads what an operation depends on, and returns the keys of its records.
func (c *Client) prepare(ctx context.Context, run string, p *operand) ([]storage.Key, error) {
	runKey, stepKey := c.ns.Key(storage.KindRun, run, ""), c.ns.Key(storage.KindStep, run, p.step)
	known, err := c.ns.Store.Get(ctx, []storage.Key{runKey, stepKey})
	if err != nil {
		return nil, err
	}
	p.run, p.failed = known[0], nil
	owner := p.run.Owner
	if live, ok := c.ns.Store.(storage.Liveness); ok && owner != "" {
		p.dead = live.Dead(owner)
	}
	if p.run.Status == storage.StatusPaused {
		if p.blocked, err = c.ns.BlockedSteps(ctx, run); err != nil {
			return nil, err
		}
	}
	body, err := record.Decode[record.Step](known[1])
	if err != nil {
		return nil, err
	}
	p.units = nil
	for _, id := range record.UnitsOf(p.step, body.Unit != nil) {
		p.units = append(p.units, c.ns.Key(storage.KindStep, run, id))
	}
	if body.Unit != nil {
		if p.failed, err = c.failedSteps(ctx, run, p.step); err != nil {
			return nil, err
		}
	}
	p.owner, p.stepKey = c.ns.Key(storage.KindOwner, "", owner), stepKey
	return slices.Concat([]storage.Key{p.owner, runKey, stepKey}, p.units, p.failed), nil
}

// decide decides about an operation.
func (p *operand) decide(tx storage.Tx) (storage.Writes, error) {
	r := tx.Record(p.run.Key)
	b, err := record.Decode[record.Run](r)
	if err != nil {
		return storage.Writes{}, err
	}
	o := operation{now: tx.Now, by: p.by, over: r.Status.IsOver(), step: tx.Record(p.stepKey)}
	p.fence = r.Fence
	if o.body, err = record.Decode[record.Step](o.step); err != nil || o.body.Operated == p.token {
		return storage.Writes{}, err
	}
	if err := operable(tx, r, p); err != nil {
		return storage.Writes{}, err
	}
	if err := o.find(&r, &b); err != nil {
		return storage.Writes{}, fmt.Errorf("step %q of run %q: %w", o.step.Key.ID, r.Key.Run, err)
	}
	if err := p.change(&o); err != nil {
		return storage.Writes{}, err
	}
	o.body.Operated = p.token
	r.Owner = ""
	r.Fence++ // an engine that is slow to learn of it must not go on
	p.fence = r.Fence
	others := slices.ContainsFunc(p.blocked, func(id string) bool { return id != o.step.Key.ID })
	if !o.over && (r.Status != storage.StatusPaused || b.Hold == nil && !others) {
		r.Status, r.Attention, r.Due = storage.StatusOpen, false, time.Time{}
		if r.Handler != "" {
			r.Due = tx.Now.Add(p.delay) // for a worker
		}
	}
	if !o.over {
		b.Recoveries, b.Ended, b.Result, b.Tail = 0, time.Time{}, nil, false
	}
	o.step.Fence = r.Fence
	err = errors.Join(record.Encode(&r, &b), record.EncodeStep(&o.step, &o.body))
	w := storage.Writes{Put: []storage.Record{r, o.step}, Add: o.add}
	if o.over {
		return w, err
	}
	return w, errors.Join(err, p.open(&w, tx, r.Fence))
}

// find looks for the step. If the run stands for it, the step gets a record.
func (o *operation) find(r *storage.Record, b *record.Run) error {
	switch j := b.Job; {
	case o.step.Version != 0:
		return nil
	case j == nil || j.StepID() != o.step.Key.ID:
		return fault.ErrNotFound
	case j.Step == "" && !o.over: // the next execution may look for its record under another id
		return fmt.Errorf("its id depends on the input of the run: a worker has to claim that first: %w", fault.ErrConflict)
	}
	o.body, o.add = b.Unfold(r, &o.step)
	return nil
}

// operable returns an error if an operator cannot change a run.
func operable(tx storage.Tx, r storage.Record, p *operand) error {
	owner := tx.Record(p.owner)
	switch {
	case r.Version == 0:
		return fmt.Errorf("run %q: %w", r.Key.Run, fault.ErrNotFound)
	case r.Status.IsOver() && !p.ended:
		return fmt.Errorf("run %q is %v: %w", r.Key.Run, r.Status, fault.ErrConflict)
	case r.Status == storage.StatusExpired:
		return fmt.Errorf("run %q: its steps were deleted: %w", r.Key.Run, fault.ErrConflict)
	case r.Version != p.run.Version:
		return errRunChanged
	case r.Owner == "" || p.dead || owner.Version == 0:
		return nil
	}
	b, err := record.Decode[record.Owner](owner)
	if err != nil {
		return err
	}
	if b.Until.After(tx.Now) {
		return fmt.Errorf("run %q is executed by %s, whose lease ends at %s: %w",
			r.Key.Run, r.Owner, b.Until.Format(time.RFC3339), fault.ErrConflict)
	}
	return nil
}

// lose ends an open attempt whose engine is dead: it may have taken effect.
func (o *operation) lose() {
	open := o.body.Open
	o.body.Open = nil
	o.body.Call.Lost++
	o.step.Status = storage.StatusInDoubt
	o.entry(0, record.Entry{Outcome: events.OutcomeLost, Started: open.Started, Owner: open.Owner, Fence: open.Fence})
}

// entry adds an entry to the history of the step.
func (o *operation) entry(part int, body record.Entry) {
	body.Correlation = o.body.Correlation
	o.add = append(o.add, record.NewEntry(o.step, o.now, o.body.Attempts, part, body))
}

// resolvedPart is the Part of the first entry about what an operator did: those
// of late ends are smaller.
const resolvedPart = 1 << 30

// record adds what the operator did to the history of the step.
func (o *operation) record(outcome events.Outcome, text string) {
	o.body.Operations++
	o.entry(resolvedPart+o.body.Operations, record.Entry{Outcome: outcome, Started: o.now, Error: text, By: o.by})
}

// resolve records a resolution.
func (o *operation) resolve(r Resolution, result *record.Payload) {
	switch {
	case r.outcome == "" && o.over:
		o.body.Ended, o.body.NextAt, o.body.Delay, o.body.Resolved = o.now, time.Time{}, 0, true
		o.step.Status = storage.StatusCanceled
		o.record(events.OutcomeResolved, "not executed again")
		return
	case r.outcome == "" && o.step.Status == storage.StatusWaiting:
		o.body.NextAt, o.body.Delay = time.Time{}, 0 // it is due, and not overdue: retries are spread
		o.record(events.OutcomeResolved, "execute now")
		return
	case r.outcome == "":
		o.reopen(events.OutcomeResolved, "execute again")
		return
	}
	o.body.Ended, o.body.NextAt, o.body.Delay, o.body.Resolved = o.now, time.Time{}, 0, true
	text := "succeeded"
	switch r.outcome {
	case events.OutcomeSucceeded:
		o.step.Status, o.body.Result, o.body.Error, o.body.Dead = storage.StatusSucceeded, result, nil, time.Time{}
	case events.OutcomeFailed:
		o.step.Status, o.body.Reason = storage.StatusFailed, retry.ErrPermanent
		o.body.Error = &record.Error{Text: record.Clip(record.ErrorText(r.err))}
		text = o.body.Error.Text
	}
	o.record(events.OutcomeResolved, text)
}

// reopen makes a step executable with a new count of attempts, whatever the
// limits of its policy say about those that were made.
func (o *operation) reopen(outcome events.Outcome, text string) {
	o.step.Status, o.body.Resolved = storage.StatusOpen, false
	o.body.Waited += o.body.Call.Waited
	o.body.Call, o.body.Reason, o.body.Escalated, o.body.Granted = retry.CallState{}, "", false, 0
	o.body.Interrupted = 0
	o.body.Ended, o.body.NextAt, o.body.Delay = time.Time{}, time.Time{}, 0
	o.record(outcome, text)
}
