package durable

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// This file contains the claims of runs by [Engine.Run], and the code that they share with the
// claims of workers: see claims.go.

// A claim is the result of an attempt to become the owner of a run.
type claim struct {
	fence  uint64
	record storage.Record // as stored, unless the transaction writes the record again
	run    record.Run     // the body of record
	result *record.Payload
	err    error
	status storage.Status // the status of a run that the claim has ended
	resume bool           // the run existed
	crash  bool           // the last execution of the run has crashed
	owned  *OwnedError    // set if another engine owns the run
	wait   time.Duration
	again  bool // the run has changed since it was read
}

// ok reports whether the engine now owns the run.
func (c *claim) ok() bool { return c.owned == nil && c.err == nil && c.result == nil && !c.again }

// event returns the kind of event that reports the claim.
func (c *claim) event() events.Kind {
	switch {
	case c.status != 0:
		return endEvents[c.status]
	case c.crash:
		return events.EventRecovered
	case c.resume && c.fence == 1:
		return events.EventBegan
	case c.resume:
		return events.EventResumed
	}
	return events.EventCreated
}

// claim makes the engine the owner of the run, unless it has another owner.
func (x *execution) claim(ctx context.Context, o *runOptions) (claim, error) {
	e := x.e
	runKey := e.ns.Key(storage.KindRun, x.id, "")
	known, err := e.ns.Store.Get(ctx, []storage.Key{runKey})
	if err != nil {
		return claim{}, err
	}
	// This is checked before the transaction, because a dead owner stays dead.
	lastOwner, dead := known[0].Owner, false
	if live, ok := e.ns.Store.(storage.Liveness); ok && lastOwner != "" && lastOwner != x.owner.id {
		dead = live.Dead(lastOwner)
	}
	keys := []storage.Key{x.owner.key(), e.ns.Key(storage.KindOwner, "", lastOwner), runKey}
	if o.budget != nil {
		keys = append(keys, e.ns.Key(storage.KindBudget, x.id, ""))
	}
	var waits time.Time
	if lastOwner != "" && lastOwner != x.owner.id {
		if waits, err = e.waitsUntil(ctx, x.id); err != nil {
			return claim{}, err
		}
	}
	accepted, err := e.accepted(ctx)
	if err != nil {
		return claim{}, err
	}
	x.gaps.Store(x.owner.gaps.Load())
	var c claim
	err = e.ns.Update(ctx, keys, func(tx storage.Tx) (w storage.Writes, err error) {
		if c = (claim{again: true}); e.changed(accepted) {
			return w, nil
		}
		w, c, err = x.decideClaim(tx, o, lastOwner, dead, waits)
		return w, err
	})
	if err != nil {
		return claim{}, err
	}
	switch {
	case c.ok():
		x.setClaim(ctx, &c)
		if c.resume {
			return c, x.load(ctx)
		}
		x.created, x.steps.complete = true, true // this execution knows all steps that are recorded
	case c.status != 0:
		e.ns.Event(ctx, events.Event{Kind: c.event(), Run: x.id, Fence: c.fence, Err: c.err})
	}
	if paused, ok := errors.AsType[*PausedError](c.err); ok && err == nil {
		paused.Steps, err = e.ns.BlockedSteps(ctx, x.id)
	}
	return c, err
}

// setClaim makes x the execution of a run that was claimed.
func (x *execution) setClaim(ctx context.Context, c *claim) {
	x.fence, x.run = c.fence, c.run
	x.latest.Store(&runView{c.record, c.run})
	x.claimed.Store(true)
	x.e.ns.Event(ctx, events.Event{Kind: c.event(), Run: x.id, Fence: c.fence})
}

// decideClaim decides on a claim of the run by x. lastOwner is the owner of the run when it was
// read. waits is the time until which the run is only waiting.
func (x *execution) decideClaim(
	tx storage.Tx, o *runOptions, lastOwner string, dead bool, waits time.Time,
) (w storage.Writes, c claim, err error) {
	self, r := tx.Record(x.owner.key()), tx.Record(x.e.ns.Key(storage.KindRun, x.id, ""))
	b, err := record.Decode[record.Run](r)
	if err != nil {
		return w, c, err
	}
	if r.Version == 0 {
		return x.create(tx, o)
	}
	if c.result, c.err = ended(r, &b); c.result != nil || c.err != nil {
		return w, c, nil
	}
	if err := leased(self); err != nil {
		return w, c, err
	}
	if r.Handler != "" {
		return w, c, fmt.Errorf("run %q is executed by workers, which call %s: %w", x.id, r.Handler, ErrConflict)
	}
	if r.Owner != lastOwner {
		c.again = true
		return w, c, nil
	}
	other := tx.Record(x.e.ns.Key(storage.KindOwner, "", lastOwner))
	if r.Owner != "" && r.Owner != x.owner.id && !dead {
		until, left, err := leaseOf(tx.Now, &other, &w)
		if err != nil || left > 0 {
			c.owned, c.wait = &OwnedError{Run: x.id, Owner: r.Owner, Until: until}, left
			return w, c, err
		}
	}
	last, err := crashOf(other, waits)
	if err != nil {
		return w, c, err
	}
	put, c, err := claimRecord(tx.Now, x.owner.id, r, b, last)
	return storage.Writes{Put: []storage.Record{put}}, c, err
}

// leased returns an error if the engine has no lease under which it could own a run.
func leased(self storage.Record) error {
	if self.Version == 0 {
		return fmt.Errorf("%w: the lease of this engine has ended, and was removed", ErrFenced)
	}
	return nil
}

// leaseOf returns the end of another engine's lease, and the remaining time. If the clock was
// set back, the remaining time could exceed the length of the lease. In this case, leaseOf
// shortens the lease.
func leaseOf(now time.Time, other *storage.Record, w *storage.Writes) (until time.Time, left time.Duration, err error) {
	if other.Version == 0 {
		return until, 0, nil
	}
	b, err := record.Decode[record.Owner](*other)
	if err != nil {
		return until, 0, err
	}
	until, left = b.Until, min(b.Until.Sub(now), b.Lease)
	if limit := now.Add(b.Lease); b.Until.After(limit) {
		b.Until, other.Due = limit, limit
		err = record.Encode(other, &b)
		w.Put = append(w.Put, *other)
	}
	return until, left, err
}

// claimRecord makes an engine the owner of an existing run, or ends a run whose deadline has
// passed. last describes how the last execution crashed, if it did.
func claimRecord(
	now time.Time, owner string, r storage.Record, b record.Run, last crash,
) (storage.Record, claim, error) {
	c := claim{resume: true, crash: r.Owner != "" && r.Owner != owner}
	if c.crash {
		last.count(now, &r, &b)
	}
	b.LeaveJob(&r)
	r.Fence++
	r.Owner, r.Status, r.Due = owner, storage.StatusOpen, time.Time{}
	switch {
	case !b.Deadline.IsZero() && !now.Before(b.Deadline):
		r.Owner, c.err = "", ErrTimedOut
		b.End(&r, storage.StatusTimedOut, now)
	case b.Recoveries >= record.MaxRecoveries:
		r.Owner, r.Status, r.Attention, c.err = "", storage.StatusPaused, true, &PausedError{Run: r.Key.Run}
	default:
		b.Claimed, b.Ended, b.Error, b.Awaits = now, time.Time{}, "", nil
	}
	c.fence, c.run = r.Fence, b
	if c.err != nil {
		c.status = r.Status
	}
	err := record.Encode(&r, &b)
	c.record = r
	c.record.Version++
	return r, c, err
}

// create creates a new run.
func (x *execution) create(tx storage.Tx, o *runOptions) (storage.Writes, claim, error) {
	b := record.Run{
		Claimed: tx.Now, Version: o.version, Retention: o.retention, FailedRetention: o.failedRetention, Parent: x.parent,
		Budget: o.budget != nil, Correlation: o.correlation,
	}
	b.Limit(o.timeout, tx.Now)
	r := tx.Record(x.e.ns.Key(storage.KindRun, x.id, ""))
	r.Owner, r.Fence, r.Status, r.Bucket = x.owner.id, 1, storage.StatusOpen, record.Month(tx.Now)
	r.Priority, r.Created = o.rank(0), tx.Now
	if err := record.Encode(&r, &b); err != nil {
		return storage.Writes{}, claim{}, err
	}
	w := storage.Writes{Put: []storage.Record{r}}
	if o.budget != nil {
		budget, err := newCountBudget(tx.Record(x.e.ns.Key(storage.KindBudget, x.id, "")), *o.budget, r.Bucket)
		if err != nil {
			return storage.Writes{}, claim{}, err
		}
		w.Put = append(w.Put, budget)
	}
	r.Version++
	return w, claim{fence: 1, record: r, run: b}, nil
}

// ended returns the result or the error of a run that is no longer executed.
func ended(r storage.Record, b *record.Run) (*record.Payload, error) {
	switch r.Status {
	case storage.StatusSucceeded:
		if b.Result == nil {
			return &record.Payload{}, nil
		}
		return b.Result, nil
	case storage.StatusExpired:
		return nil, ErrExpired
	case storage.StatusCanceled:
		return nil, ErrCanceled
	case storage.StatusTimedOut:
		return nil, ErrTimedOut
	case storage.StatusPaused:
		if b.Hold != nil {
			return nil, held(r.Key.Run, b.Hold)
		}
		return nil, &PausedError{Run: r.Key.Run}
	}
	return nil, nil
}
