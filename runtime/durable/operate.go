package durable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// Cancel ends a run for ever. An engine that executes it, here or elsewhere,
// starts no further attempt; the contexts of those that are executing end, here
// at once, elsewhere with the next renewal of the lease. A run that has ended is
// left as it is, and the error matches [ErrConflict]; the repetition of a
// cancellation is not an error. The runs that it has started are canceled as
// well.
func (e *Engine) Cancel(ctx context.Context, run string) error {
	err := e.update(ctx, []Key{e.key(KindRun, run, "")}, func(tx Tx) (Writes, error) {
		r := tx.Records[0]
		b, err := open[runBody](r)
		if err != nil {
			return Writes{}, err
		}
		switch r.Status {
		case StatusCanceled:
			return Writes{}, nil
		case StatusSucceeded, StatusExpired, StatusTimedOut:
			return Writes{}, fmt.Errorf("run %q has %v: %w", run, r.Status, ErrConflict)
		}
		if r.Version == 0 {
			return Writes{}, fmt.Errorf("run %q: %w", run, ErrNotFound)
		}
		r.Status, r.Due, r.Attention, b.Ended = StatusCanceled, time.Time{}, false, tx.Now
		if err := write(&r, &b); err != nil {
			return Writes{}, err
		}
		return Writes{Put: []Record{r}}, nil
	})
	if err != nil {
		return err
	}
	e.mu.Lock()
	x := e.active[run]
	e.mu.Unlock()
	if x != nil {
		x.halt(ErrCanceled)
	}
	return e.cancelChildren(ctx, run)
}

// cancelChildren cancels the runs that a canceled run has started.
func (e *Engine) cancelChildren(ctx context.Context, run string) error {
	return e.each(ctx, Query{Kind: KindStep, Space: e.space, Run: run}, func(r Record) error {
		b, err := open[stepBody](r)
		if err != nil || b.Child == "" {
			return err
		}
		if err := e.Cancel(ctx, b.Child); err != nil && !errors.Is(err, ErrConflict) && !errors.Is(err, ErrNotFound) {
			return err
		}
		return nil
	})
}

// A Resolution is what an operator knows about a step in doubt.
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
// executed again. The next attempt starts when the run is executed; the policy
// counts attempts from zero, as after [Engine.Requeue].
func Retry() Resolution { return Resolution{} }

// Resolve records what an operator knows about a step in doubt, or about one
// that has paused its run. It may be called again to correct a resolution. A run
// whose last such step is resolved is open again: call Run. The step "" is the
// run itself, paused since it was recovered too often, or failed where workers
// execute it; its resolution is [Retry]. The error matches [ErrNotFound], or
// [ErrConflict] if the step is not in doubt, or an engine executes the run.
func (e *Engine) Resolve(ctx context.Context, run, step string, r Resolution) error {
	var result *payload
	if r.outcome == OutcomeSucceeded {
		p := encode(e.codec, r.value)
		if err := p.decode(e.codec, step, new(any)); p.Refuse != "" {
			return err
		}
		result = &p
	}
	if step == "" {
		if r != (Resolution{}) {
			return fmt.Errorf("run %q has no result that can be resolved: use Retry: %w", run, ErrConflict)
		}
		return e.operate(ctx, run, "", func(o *operation) error {
			if o.run != StatusPaused && o.run != StatusFailed {
				return fmt.Errorf("run %q is %v, neither paused nor failed: %w", run, o.run, ErrConflict)
			}
			return nil
		})
	}
	return e.operate(ctx, run, step, func(o *operation) error {
		if o.body.Open != nil {
			o.lose()
		}
		if !blocked(o.step.Status) && !o.body.Resolved {
			return fmt.Errorf("step %q of run %q is %v, not in doubt: %w", step, run, o.step.Status, ErrConflict)
		}
		o.resolve(r, result)
		return nil
	})
}

// A RequeueOption changes what [Engine.Requeue] does.
type RequeueOption func(*requeue)

type requeue struct{ newKey, repeat bool }

// NewKey gives the step a new idempotency key, for a server that remembers the
// failure under the old one. Only do so if the step has certainly not taken
// effect.
func NewKey() RequeueOption { return func(r *requeue) { r.newKey = true } }

// Repeat requeues a step although it has succeeded, to execute it again.
func Repeat() RequeueOption { return func(r *requeue) { r.repeat = true } }

// Requeue makes a failed step, or a dead letter, executable again. Its attempts
// are counted from zero for its policy; their numbers go on, and its history
// stays. The run is open again, even if it has ended: call Run, which executes
// this step and returns the recorded results of the others. A dead letter is
// listed until it has succeeded.
func (e *Engine) Requeue(ctx context.Context, run, step string, options ...RequeueOption) error {
	var q requeue
	for _, option := range options {
		option(&q)
	}
	return e.operate(ctx, run, step, func(o *operation) error {
		switch s := o.step.Status; {
		case s == StatusFailed || s == StatusDead || s == StatusPaused || s == StatusAbandoned:
		case s == StatusSucceeded && q.repeat:
			o.body.Result = nil
		case s == StatusSucceeded:
			return fmt.Errorf("step %q of run %q has succeeded: use Repeat to execute it again: %w", step, run, ErrConflict)
		case s == StatusInDoubt:
			return fmt.Errorf("step %q of run %q is in doubt: use Resolve: %w", step, run, ErrConflict)
		default:
			return fmt.Errorf("step %q of run %q is %v: %w", step, run, s, ErrConflict)
		}
		o.reopen("requeued")
		if q.newKey {
			o.body.Keys++
		}
		return nil
	})
}

// An operation is a change that an operator makes to a step.
type operation struct {
	now  time.Time
	run  Status
	step Record
	body stepBody
	add  []Entry
}

// operate changes a step, or "" for none, of a run that nobody executes, and
// opens the run.
func (e *Engine) operate(ctx context.Context, run, step string, change func(*operation) error) error {
	runKey, stepKey := e.key(KindRun, run, ""), e.key(KindStep, run, step)
	for {
		known, err := e.store.Get(ctx, []Key{runKey})
		if err != nil {
			return err
		}
		holder := known[0].Owner
		p := operand{run: known[0], step: step}
		if h, ok := e.store.(Holder); ok && holder != "" {
			p.dead = h.Dead(holder)
		}
		if p.blocked, err = e.blockedSteps(ctx, run); err != nil {
			return err
		}
		err = e.update(ctx, []Key{e.key(KindOwner, "", holder), runKey, stepKey}, func(tx Tx) (Writes, error) {
			return p.decide(tx, change)
		})
		switch {
		case err == nil:
			e.event(ctx, Event{Kind: EventResolved, Run: run, Step: step})
			e.wakeWorkers()
			return nil
		case err != errRunChanged:
			return err
		}
	}
}

// errRunChanged makes an operation look at its run again.
var errRunChanged = errors.New("the run has changed since it was read")

// An operand is what an operation works on, as it was read before.
type operand struct {
	run     Record
	dead    bool     // the process of its owner
	blocked []string // the steps that wait for a person
	step    string   // the one to change, or ""
}

// decide decides about an operation. The records are those of the owner, the run
// and the step.
func (p *operand) decide(tx Tx, change func(*operation) error) (Writes, error) {
	r := tx.Records[1]
	b, err := open[runBody](r)
	if err != nil {
		return Writes{}, err
	}
	if err := operable(tx, r, p); err != nil {
		return Writes{}, err
	}
	o := operation{now: tx.Now, run: r.Status, step: tx.Records[2]}
	if o.body, err = open[stepBody](o.step); err != nil {
		return Writes{}, err
	}
	if o.step.Version == 0 && p.step != "" {
		return Writes{}, fmt.Errorf("step %q of run %q: %w", p.step, r.Key.Run, ErrNotFound)
	}
	if err := change(&o); err != nil {
		return Writes{}, err
	}
	r.Owner = ""
	r.Fence++ // an engine that is slow to learn of it must not go on
	others := slices.ContainsFunc(p.blocked, func(id string) bool { return id != p.step })
	if r.Status != StatusPaused || !others {
		r.Status, r.Attention, r.Due = StatusOpen, false, time.Time{}
		if r.Handler != "" {
			r.Due = tx.Now // for a worker
		}
	}
	b.Recoveries, b.Ended, b.Result = 0, time.Time{}, nil
	w := Writes{Put: []Record{r}, Add: o.add}
	err = write(&w.Put[0], &b)
	if p.step != "" {
		o.step.Fence = r.Fence
		o.step.Attention = !finished(o.step.Status) || o.step.Status == StatusDead
		err = errors.Join(err, write(&o.step, &o.body))
		w.Put = append(w.Put, o.step)
	}
	return w, err
}

// operable returns an error if an operator cannot change a run.
func operable(tx Tx, r Record, p *operand) error {
	owner := tx.Records[0]
	switch {
	case r.Version == 0:
		return fmt.Errorf("run %q: %w", r.Key.Run, ErrNotFound)
	case r.Status == StatusCanceled || r.Status == StatusTimedOut:
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
		return fmt.Errorf("%w: %w", &OwnedError{Run: r.Key.Run, Owner: r.Owner, Until: b.Until}, ErrConflict)
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
	v := stepView{now: o.now, step: o.step, run: Record{Bucket: o.step.Bucket}}
	o.add = append(o.add, v.newEntry(o.body.Attempts, part, body))
}

// resolvedPart is the Part of the first entry about what an operator did: those
// of late ends are smaller.
const resolvedPart = 1 << 30

// part returns the Part of the next entry about what an operator did.
func (o *operation) part() int {
	o.body.Operations++
	return resolvedPart + o.body.Operations
}

// resolve records a resolution.
func (o *operation) resolve(r Resolution, result *payload) {
	if r.outcome == "" {
		o.reopen("execute again")
		return
	}
	o.body.Ended, o.body.NextAt, o.body.Delay, o.body.Resolved = o.now, time.Time{}, 0, true
	text := "succeeded"
	switch r.outcome {
	case OutcomeSucceeded:
		o.step.Status, o.body.Result, o.body.Error = StatusSucceeded, result, nil
	case OutcomeFailed:
		o.step.Status, o.body.Reason = StatusFailed, retry.ErrPermanent
		o.body.Error = &recordedError{Text: clip(errorText(r.err))}
		text = o.body.Error.Text
	}
	o.entry(o.part(), entryBody{Outcome: OutcomeResolved, Started: o.now, Error: text})
}

// reopen makes a step executable with a new count of attempts, whatever the
// limits of its policy say about those that were made.
func (o *operation) reopen(text string) {
	o.step.Status, o.body.Resolved = StatusOpen, false
	o.body.Call, o.body.Reason, o.body.Escalated, o.body.Granted = retry.CallState{}, "", false, 0
	o.body.Ended, o.body.NextAt, o.body.Delay = time.Time{}, time.Time{}, 0
	o.entry(o.part(), entryBody{Outcome: OutcomeResolved, Started: o.now, Error: text})
}
