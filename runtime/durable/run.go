package durable

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/retrygen/retrygen/runtime/job"
)

// A RunOption changes a default of a run. Options are recorded when the run is
// created; those of later calls are not looked at.
type RunOption func(*runOptions)

type runOptions struct {
	version     int
	timeout     time.Duration
	keep        time.Duration
	budget      *job.BudgetPolicy
	at          time.Time
	correlation string // of the caller
	worker      bool   // claims the run only if it is due, or its owner dead
}

func newRunOptions(options []RunOption) runOptions {
	o := runOptions{keep: defaultKeep}
	for _, option := range options {
		option(&o)
	}
	return o
}

// Timeout limits the time from the creation of a run to its end, downtime
// included. A run whose timeout has passed returns [ErrTimedOut].
func Timeout(d time.Duration) RunOption { return func(o *runOptions) { o.timeout = d } }

// Version records the version of the function of a run, which [Current] returns:
// a function whose steps change can continue older runs as they began.
func Version(n int) RunOption { return func(o *runOptions) { o.version = n } }

// Keep sets how long the results and the history of a run are kept after it has
// succeeded. The default is 30 days. The id stays, so that the run is not
// executed again. A run with dead letters is kept until they have succeeded.
func Keep(d time.Duration) RunOption { return func(o *runOptions) { o.keep = d } }

// Budget limits the retries of all steps of a run together, and those of each
// step. The limits are stored: those with which the run was created apply.
func Budget(p job.BudgetPolicy) RunOption { return func(o *runOptions) { o.budget = &p } }

// Run executes a run: it calls fn with a context whose durable calls are steps
// of the run. The id names the run for ever: what Run does depends on what the
// store knows about it.
//
//   - A new run, or one that is open, parked or failed: Run calls fn. Steps that
//     have finished return what was recorded.
//   - A run that has succeeded: Run returns nil, or [ErrExpired], and does not
//     call fn.
//   - A run that is paused: a [*PausedError]. One that was canceled, or has timed
//     out: [ErrCanceled] or [ErrTimedOut].
//   - A run that another engine owns: Run waits for the end of its lease, or until
//     the store knows that its process is dead. If the lease is renewed, it
//     returns an [*OwnedError].
//
// An error of fn is returned, and recorded for [Engine.List]; the next call of
// Run calls fn again. If ctx ends, the execution ends and the run stays open. Run
// returns when the steps of the run have returned. Within another run, the new
// run records it as its parent.
func (e *Engine) Run(ctx context.Context, id string, fn func(context.Context) error, options ...RunOption) error {
	_, err := e.run(ctx, id, func(ctx context.Context) (payload, error) { return payload{}, fn(ctx) }, options)
	return err
}

// Run is [Engine.Run] for a function with a result, which is recorded: a run that
// has succeeded returns it without calling fn.
func Run[T any](
	ctx context.Context, e *Engine, id string, fn func(context.Context) (T, error), options ...RunOption,
) (T, error) {
	var value T
	result, err := e.run(ctx, id, func(ctx context.Context) (payload, error) {
		value, err := fn(ctx)
		if err != nil {
			return payload{}, err
		}
		return encode(e.codec, value), nil
	}, options)
	if err == nil {
		err = result.decode(e.codec, "", &value)
	}
	return value, err
}

func (e *Engine) run(
	ctx context.Context, id string, fn func(context.Context) (payload, error), options []RunOption,
) (payload, error) {
	if err := checkRunID(id); err != nil {
		return payload{}, err
	}
	o := newRunOptions(options)
	o.correlation = e.spanID(ctx)
	if !o.at.IsZero() {
		return payload{}, fmt.Errorf("run %q: At is an option of Start: %w", id, ErrConflict)
	}
	owner, err := e.own(ctx)
	if err != nil {
		return payload{}, err
	}
	x, err := e.activate(ctx, id, owner)
	if err != nil {
		return payload{}, err
	}
	defer e.deactivate(x)
	recorded, err := x.claimWait(x.ctx, &o)
	if recorded != nil {
		return *recorded, err
	}
	var result payload
	if err == nil {
		result, err = x.execute(ctx, fn)
	}
	switch err {
	case ErrFenced, ErrCanceled, ErrTimedOut, ErrExpired:
		err = fmt.Errorf("run %q: %w", id, err)
	}
	return result, err
}

// activate registers an execution, before its claim: a run that the store says
// is owned, and that is not registered, is released by the next renewal.
func (e *Engine) activate(ctx context.Context, id string, o *owner) (*execution, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, ErrClosed
	}
	if e.active[id] != nil {
		return nil, &OwnedError{Run: id, Owner: o.id, Until: time.Now().Add(e.lease).UTC()}
	}
	x := newExecution(ctx, e, o, id)
	if outer := fromContext(ctx); outer != nil {
		x.parent = outer.x.id
	}
	e.active[id] = x
	e.running.Add(1)
	return x, nil
}

func (e *Engine) deactivate(x *execution) {
	x.cancel(nil)
	e.mu.Lock()
	delete(e.active, x.id)
	e.mu.Unlock()
	e.running.Done()
}

// claimPoll is how often a run that waits for the lease of another engine asks
// whether its process is dead.
const claimPoll = time.Second

// claimWait claims the run. It returns the result of one that has succeeded.
func (x *execution) claimWait(ctx context.Context, o *runOptions) (*payload, error) {
	var first *OwnedError
	for {
		if err := x.ready(ctx); err != nil {
			return nil, err
		}
		c, err := x.claim(ctx, o)
		if err != nil {
			if unsent(ctx, err) {
				err = context.Cause(ctx)
			}
			return nil, err
		}
		if c.again {
			continue
		}
		if c.owned == nil {
			return c.result, c.err
		}
		if first == nil || c.owned.Owner != first.Owner {
			first = c.owned
		}
		if c.owned.Until.After(first.Until) {
			return nil, c.owned // it has been renewed: somebody is working
		}
		if !pause(ctx, min(c.wait, claimPoll)) {
			return nil, context.Cause(ctx)
		}
	}
}

// A claim is the answer to an attempt to own a run.
type claim struct {
	fence   uint64
	run     runBody
	runJSON []byte // of run
	result  *payload
	err     error
	status  Status      // of a run that the claim has ended
	resume  bool        // the run existed
	crash   bool        // its last owner did not release it
	owned   *OwnedError // by another engine
	wait    time.Duration
	again   bool // the run has changed since it was read
}

// claim makes the engine the owner of the run, if nobody else is.
func (x *execution) claim(ctx context.Context, o *runOptions) (claim, error) {
	e := x.e
	runKey := e.key(KindRun, x.id, "")
	known, err := e.store.Get(ctx, []Key{runKey})
	if err != nil {
		return claim{}, err
	}
	// Asked before the transaction: an owner that is dead stays dead.
	holder, dead := known[0].Owner, false
	if h, ok := e.store.(Holder); ok && holder != "" && holder != x.owner.id {
		dead = h.Dead(holder)
	}
	keys := []Key{e.key(KindOwner, "", x.owner.id), e.key(KindOwner, "", holder), runKey}
	if o.budget != nil {
		keys = append(keys, e.key(KindBudget, x.id, ""))
	}
	x.gaps.Store(x.owner.gaps.Load())
	var c claim
	err = e.update(ctx, keys, func(tx Tx) (w Writes, err error) {
		w, c, err = x.decideClaim(tx, o, holder, dead)
		return w, err
	})
	if err != nil {
		return claim{}, err
	}
	if c.owned == nil && c.err == nil && c.result == nil && !c.again {
		x.fence, x.run, x.runJSON = c.fence, c.run, c.runJSON
		if o.worker {
			x.handler = known[0].Handler
		}
		x.claimed.Store(true)
		x.e.event(ctx, Event{Kind: claimEvent(&c), Run: x.id, Fence: c.fence})
		if c.resume {
			return c, x.load(ctx)
		}
		x.complete = true // no step is recorded that this execution does not know
	}
	if c.status != 0 {
		x.e.event(ctx, Event{Kind: endEvents[c.status], Run: x.id, Fence: c.fence, Err: c.err})
	}
	if paused, ok := errors.AsType[*PausedError](c.err); ok && err == nil {
		paused.Steps, err = e.blockedSteps(ctx, x.id)
	}
	return c, err
}

func claimEvent(c *claim) EventKind {
	switch {
	case c.crash:
		return EventRecovered
	case c.resume:
		return EventResumed
	}
	return EventCreated
}

// decideClaim decides about a claim of the run by x, whose owner was holder when
// it was read.
func (x *execution) decideClaim(tx Tx, o *runOptions, holder string, dead bool) (w Writes, c claim, err error) {
	self, other, r := tx.Records[0], tx.Records[1], tx.Records[2]
	b, err := open[runBody](r)
	if err != nil {
		return w, c, err
	}
	if r.Version == 0 {
		return x.create(tx, o)
	}
	if c.result, c.err = ended(r, &b); c.result != nil || c.err != nil {
		return w, c, nil
	}
	if self.Version == 0 {
		return w, c, fmt.Errorf("%w: the lease of this engine has ended, and was removed", ErrFenced)
	}
	if !o.worker && r.Handler != "" {
		return w, c, fmt.Errorf("run %q is executed by workers, which call %s: %w", x.id, r.Handler, ErrConflict)
	}
	if r.Owner != holder {
		c.again = true
		return w, c, nil
	}
	if r.Owner != "" && r.Owner != x.owner.id && !dead && other.Version != 0 {
		ob, err := open[ownerBody](other)
		if err != nil {
			return w, c, err
		}
		// A clock that was set back must not make a lease outlive its length.
		if left := min(ob.Until.Sub(tx.Now), ob.Lease); left > 0 {
			c.owned, c.wait = &OwnedError{Run: x.id, Owner: r.Owner, Until: ob.Until}, left
			if limit := tx.Now.Add(ob.Lease); ob.Until.After(limit) {
				ob.Until, other.Due = limit, limit
				err = write(&other, &ob)
				w.Put = []Record{other}
			}
			return w, c, err
		}
	}
	if o.worker && r.Owner == "" && (r.Due.IsZero() || r.Due.After(tx.Now)) {
		c.again = true // another worker has executed it since
		return w, c, nil
	}
	c.resume, c.crash = true, r.Owner != "" && r.Owner != x.owner.id
	return x.take(tx, r, b, c)
}

// take makes x the owner of a run that exists.
func (x *execution) take(tx Tx, r Record, b runBody, c claim) (Writes, claim, error) {
	if c.crash {
		b.Recoveries++
		b.Recovered++
	}
	r.Fence++
	r.Owner, r.Status, r.Due = x.owner.id, StatusOpen, time.Time{}
	switch {
	case !b.Deadline.IsZero() && !tx.Now.Before(b.Deadline):
		r.Owner, r.Status, b.Ended, c.err = "", StatusTimedOut, tx.Now, ErrTimedOut
	case b.Recoveries >= maxRecoveries:
		r.Owner, r.Status, r.Attention, c.err = "", StatusPaused, true, &PausedError{Run: x.id}
	default:
		b.Claimed, b.Ended, b.Error = tx.Now, time.Time{}, ""
	}
	c.fence, c.run = r.Fence, b
	if c.err != nil {
		c.status = r.Status
	}
	if err := write(&r, &b); err != nil {
		return Writes{}, c, err
	}
	c.runJSON = r.Body
	return Writes{Put: []Record{r}}, c, nil
}

// create makes a new run.
func (x *execution) create(tx Tx, o *runOptions) (Writes, claim, error) {
	b := runBody{
		Created: tx.Now, Claimed: tx.Now, Version: o.version, Keep: o.keep, Parent: x.parent, Budget: o.budget != nil,
		Correlation: o.correlation,
	}
	if o.timeout > 0 {
		b.Deadline = tx.Now.Add(o.timeout)
	}
	r := tx.Records[2]
	r.Owner, r.Fence, r.Status, r.Bucket = x.owner.id, 1, StatusOpen, month(tx.Now)
	if err := write(&r, &b); err != nil {
		return Writes{}, claim{}, err
	}
	w := Writes{Put: []Record{r}}
	if o.budget != nil {
		budget, err := newCountBudget(tx.Records[3], *o.budget, r.Bucket)
		if err != nil {
			return Writes{}, claim{}, err
		}
		w.Put = append(w.Put, budget)
	}
	return w, claim{fence: 1, run: b, runJSON: r.Body}, nil
}

// ended returns the result, or the error, of a run that is not executed any more.
func ended(r Record, b *runBody) (*payload, error) {
	switch r.Status {
	case StatusSucceeded:
		if b.Result == nil {
			return &payload{}, nil
		}
		return b.Result, nil
	case StatusExpired:
		return nil, ErrExpired
	case StatusCanceled:
		return nil, ErrCanceled
	case StatusTimedOut:
		return nil, ErrTimedOut
	case StatusPaused:
		if b.Hold != nil {
			return nil, b.Hold.err(r.Key.Run)
		}
		return nil, &PausedError{Run: r.Key.Run}
	}
	return nil, nil
}
