package durable

import (
	"context"
	"fmt"

	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// This file handles the end of a run that is a unit of a group.

// memberKeys returns the keys of the records that change at the end of a run that is a unit of
// a group: the run that calls the group, which may be parked, the group, and the unit.
func (x *execution) memberKeys() []storage.Key {
	m := x.run.Unit
	if m == nil {
		return nil
	}
	e := x.e
	return []storage.Key{e.ns.Key(storage.KindRun, m.Run, ""), e.ns.Key(storage.KindGroup, m.Run, m.Group), e.ns.Key(
		storage.KindStep, m.Run, m.Step,
	)}
}

// memberLetters returns the dead letters of a run that is a unit and has not succeeded.
func (x *execution) memberLetters(ctx context.Context, end ending) ([]storage.Key, error) {
	if x.run.Unit == nil || !end.status.EndsRun() {
		return nil, nil
	}
	return x.e.lettersOf(ctx, x.id, "")
}

// memberEnd returns the end of the unit that a run represents.
func memberEnd(b *record.Run, run string, end ending, fence uint64) *unitEnd {
	e := &unitEnd{token: fmt.Sprint(run, "#", fence), unit: b.Unit.Unit, run: run, status: job.UnitFailed}
	switch {
	case end.status != storage.StatusSucceeded:
		e.err = newUnitError(b.Unit, end.err)
	case end.result != nil:
		e.status, e.result = job.UnitSucceeded, *end.result
	default:
		e.status = job.UnitSucceeded
	}
	return e
}

// endMember counts the end of the unit that the run represents. If the run that calls the group
// then has something to do, endMember wakes it.
func (x *execution) endMember(tx storage.Tx, end ending, a *groupAnswer) (storage.Writes, error) {
	*a = groupAnswer{late: true}
	m := x.run.Unit
	if m == nil || !end.status.EndsRun() {
		return storage.Writes{}, nil
	}
	keys := x.memberKeys()
	parent, group, unit := tx.Record(keys[0]), tx.Record(keys[1]), tx.Record(keys[2])
	if group.Version == 0 || unit.Version == 0 {
		return storage.Writes{}, nil // the records were deleted
	}
	w, err := decideUnitEnd(tx, group, unit, memberEnd(&x.run, x.id, end, x.fence), a)
	if err != nil || a.late || a.repeated || !a.wakes() {
		return w, err
	}
	switch {
	case parent.Status == storage.StatusParked:
		record.DueNow(&parent, tx.Now)
	case parent.Owner != "":
		b, err := record.Decode[record.Run](parent)
		if err != nil {
			return storage.Writes{}, err
		}
		b.Woken = true
		if err := record.Encode(&parent, &b); err != nil {
			return storage.Writes{}, err
		}
	default:
		return w, nil
	}
	w.Put = append(w.Put, parent)
	return w, nil
}

// wakes reports whether the run that calls a group has something to do after the end of a unit:
// to pass on a decision, or to start other units.
func (a *groupAnswer) wakes() bool {
	b := &a.body
	return a.decision != nil || b.Progress.Pending > b.Started && b.Started <= b.Policy.Workers/2
}

// reportMember reports the end of the unit that the run represents.
func (x *execution) reportMember(ctx context.Context, end ending, a *groupAnswer) {
	m := x.run.Unit
	if m == nil || !end.status.EndsRun() {
		return
	}
	e := memberEnd(&x.run, x.id, end, x.fence)
	notify := func(ev job.Event) {
		ev.Group, ev.JobID = m.Name, m.JobID
		x.e.ns.Event(ctx, events.Event{Kind: events.EventJob, Run: m.Run, Name: m.Name, Fence: x.fence, Job: ev})
	}
	var err error
	if e.err != nil {
		err = e.err
	}
	if a.late {
		notify(job.Event{Kind: job.EventLateResult, Unit: m.Unit, Reason: job.ReasonLogged, Err: err})
		return
	}
	x.e.ns.Event(ctx, events.Event{Kind: a.kind(e), Run: m.Run, Step: m.Step, Name: m.Name, Fence: x.fence, Err: err})
	if a.updated {
		notify(job.Event{Kind: job.EventLateResult, Unit: m.Unit, Reason: job.ReasonUpdated, Err: err})
	}
	if len(a.batch) > 0 {
		failures, err := x.e.failures(ctx, m.Run, m.Group, a.batch)
		if err != nil {
			x.e.ns.Event(ctx, events.Event{Kind: events.EventStoreError, Run: m.Run, Err: err})
		}
		notify(job.Event{Kind: job.EventFailures, Failures: failures})
	}
	if ev, ok := a.completion(); ok {
		notify(ev)
	}
	x.e.ns.Notify(m.Run)
}

// completion returns the event of a decision that completes the group.
func (a *groupAnswer) completion() (job.Event, bool) { return completion(a.decision, &a.body) }

// completion returns the event of a decision. ok is false if the decision does not complete the
// group.
func completion(d *record.GroupDecision, b *record.Group) (job.Event, bool) {
	if d == nil || !d.Decision.Complete {
		return job.Event{}, false
	}
	kind := job.EventCompletion
	if d.Decision.Final() && b.Progress.Released > 0 {
		kind = job.EventRatio
	}
	return job.Event{Kind: kind, Reason: d.Decision.Reason, Decision: d.Decision}, true
}
