package durable

import (
	"context"
	"fmt"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// This file counts crashes. A run that may have caused too many crashes is paused. A crash is
// recognized by its traces in the store. If the process was killed, the owner of the run has
// not released it. If the function of a run has panicked, its record and the record of its
// owner were changed before the process ended. To change them, a deferred function recovers the
// panic and raises it again, so that the stack trace still shows where the function has
// panicked.

// A crash describes how an execution that did not release its run has ended.
type crash struct {
	cause string    // the run whose function has panicked, or "" if it is unknown
	panic string    // the text of the panic
	stops bool      // the process was shutting down
	waits time.Time // until when the run was only waiting, or zero if it was executing
}

// crashOf returns the crash of an owner, whose record may no longer exist.
func crashOf(owner storage.Record, waits time.Time) (crash, error) {
	b, err := record.Decode[record.Owner](owner)
	return crash{cause: b.Panicked, panic: b.Panic, stops: b.Stopping, waits: waits}, err
}

// count counts the crash of a run that is claimed, if the run may be the cause.
func (c *crash) count(now time.Time, r *storage.Record, b *record.Run) {
	b.Recovered++
	switch {
	case c.stops, c.cause != "" && c.cause != r.Key.Run:
		b.Spare(r.Fence)
	case now.Before(c.waits), b.Awaiting == r.Fence:
	default:
		b.Recoveries++
		b.Panic = c.panic
	}
}

// panicText returns the text to record for the value of a panic. The value is nil if the
// function has called runtime.Goexit.
func panicText(value any) string {
	if value == nil {
		return "runtime.Goexit was called"
	}
	return record.Clip(fmt.Sprint(value))
}

// waitsUntil returns the time until which a run is only waiting: the latest time for which a
// step waits, or zero if a step is executing.
func (e *Engine) waitsUntil(ctx context.Context, run string) (until time.Time, err error) {
	for _, status := range []storage.Status{storage.StatusExecuting, storage.StatusWaiting} {
		q := storage.Query{
			Kind: storage.KindStep, Space: e.ns.Space, Run: run, Status: []storage.Status{status}, Attention: true,
		}
		records, _, err := e.ns.Store.List(ctx, q)
		if err != nil {
			return time.Time{}, err
		}
		for _, r := range records {
			b, err := record.Decode[record.Step](r)
			switch {
			case err != nil: // a newer version is executing it
			case status == storage.StatusExecuting:
				return time.Time{}, nil
			case b.NextAt.After(until):
				until = b.NextAt
			}
		}
	}
	return until, nil
}

// awaiting records, once per execution, that the run waits for other runs.
func (x *execution) awaiting(ctx context.Context) error {
	if x.awaited.Load() {
		return nil
	}
	run := x.e.ns.Key(storage.KindRun, x.id, "")
	err := x.update(ctx, []storage.Key{run}, func(tx storage.Tx) (storage.Writes, error) {
		r := tx.Record(run)
		b, err := record.Decode[record.Run](r)
		if err != nil || r.Owner != x.owner.id || r.Fence != x.fence {
			return storage.Writes{}, err
		}
		b.Awaiting = r.Fence
		err = record.Encode(&r, &b)
		return storage.Writes{Put: []storage.Record{r}}, err
	})
	x.awaited.Store(err == nil)
	if err != nil {
		return x.failed(ctx, err)
	}
	return nil
}

// crashed releases the run and counts the crash, after its function has panicked with a value
// or called runtime.Goexit.
func (x *execution) crashed(ctx context.Context, value any) error {
	text := panicText(value)
	return x.blame(ctx, text, func(r *storage.Record, b *record.Run, now time.Time) {
		b.Recoveries++
		b.Recovered++
		b.Panic = text
		b.LeaveJob(r)
		release(r, now)
	})
}

// panics records the panic of a step or a unit. The function of the run may recover this panic.
// If it does not, or if another goroutine has called the step, the process ends without
// releasing the run, and the recorded panic is the only known cause.
func (x *execution) panics(ctx context.Context, value any) {
	if err := x.blame(ctx, panicText(value), nil); err != nil {
		x.e.ns.Event(ctx, events.Event{Kind: events.EventStoreError, Run: x.id, Err: err})
	}
}

// blame marks the owner as long as it is unknown whether the process survives the panic of the
// run, and changes the run. If the store does not answer, blame returns after a while, so that
// the process can end.
func (x *execution) blame(
	ctx context.Context, text string, change func(*storage.Record, *record.Run, time.Time),
) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), x.e.ns.Lease/3)
	defer cancel()
	owner, run := x.owner.key(), x.e.ns.Key(storage.KindRun, x.id, "")
	return x.update(ctx, []storage.Key{owner, run}, func(tx storage.Tx) (w storage.Writes, err error) {
		o, r := tx.Record(owner), tx.Record(run)
		if o.Version == 0 || r.Owner != x.owner.id || r.Fence != x.fence {
			return w, nil
		}
		ob, err := record.Decode[record.Owner](o)
		if err != nil {
			return w, err
		}
		ob.Panicked, ob.Panic = x.id, text
		err = record.Encode(&o, &ob)
		w.Put = append(w.Put, o)
		if change == nil || err != nil {
			return w, err
		}
		b, err := record.Decode[record.Run](r)
		if err != nil {
			return w, err
		}
		change(&r, &b, tx.Now)
		err = record.Encode(&r, &b)
		w.Put = append(w.Put, r)
		return w, err
	})
}
