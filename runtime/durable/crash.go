package durable

import (
	"context"
	"time"
)

// This file counts crashes: a run that may have caused too many of them is paused.
// A crash is known by its traces in the store. The owner of a run whose process was
// killed did not release it. If the function of a run has panicked, its record and
// the record of its owner were changed before it ended. Nothing is recovered.

// A crash is how an execution has ended that did not release its run.
type crash struct {
	cause string    // the run whose function has panicked, or "" if nobody knows
	stops bool      // the process was shutting down
	waits time.Time // until when the run only waits, or zero if it was executing
}

// crashOf returns the crash of an owner, or of one that is not recorded any more.
func crashOf(owner Record, waits time.Time) (crash, error) {
	b, err := open[ownerBody](owner)
	return crash{cause: b.Panicked, stops: b.Stopping, waits: waits}, err
}

// count counts the crash of a run that is claimed, if it may be the cause.
func (c *crash) count(now time.Time, r *Record, b *runBody) {
	b.Recovered++
	switch {
	case c.stops, c.cause != "" && c.cause != r.Key.Run:
		b.spare(r.Fence)
	case now.Before(c.waits), b.Awaiting == r.Fence:
	default:
		b.Recoveries++
	}
}

// waitsUntil returns until when a run only waits: the latest time that a step waits
// for, if none is executing, and otherwise zero.
func (e *Engine) waitsUntil(ctx context.Context, run string) (until time.Time, err error) {
	for _, status := range []Status{StatusExecuting, StatusWaiting} {
		q := Query{Kind: KindStep, Space: e.space, Run: run, Status: []Status{status}, Attention: true}
		records, _, err := e.store.List(ctx, q)
		if err != nil {
			return time.Time{}, err
		}
		for _, r := range records {
			b, err := open[stepBody](r)
			switch {
			case err != nil: // of a newer version, which executes it
			case status == StatusExecuting:
				return time.Time{}, nil
			case b.NextAt.After(until):
				until = b.NextAt
			}
		}
	}
	return until, nil
}

// awaiting notes, once in an execution, that the run waits for other runs.
func (x *execution) awaiting(ctx context.Context) error {
	if x.awaited.Load() {
		return nil
	}
	run := x.e.key(KindRun, x.id, "")
	err := x.e.update(ctx, []Key{run}, func(tx Tx) (Writes, error) {
		r := tx.Record(run)
		b, err := open[runBody](r)
		if err != nil || r.Owner != x.owner.id || r.Fence != x.fence {
			return Writes{}, err
		}
		b.Awaiting = r.Fence
		err = write(&r, &b)
		return Writes{Put: []Record{r}}, err
	})
	x.awaited.Store(err == nil)
	if err != nil {
		return x.failed(ctx, err)
	}
	return nil
}

// crashed releases the run, since its function has panicked or called
// runtime.Goexit, and counts the crash.
func (x *execution) crashed(ctx context.Context) error {
	return x.blame(ctx, func(r *Record, b *runBody, now time.Time) {
		b.Recoveries++
		b.Recovered++
		release(r, now)
	})
}

// panics notes the panic of a step or a unit, which the function of the run may
// recover. If it does not, or another goroutine has called the step, the process
// ends with a run that was not released, and with nobody else to blame.
func (x *execution) panics(ctx context.Context) {
	if err := x.blame(ctx, nil); err != nil {
		x.e.event(ctx, Event{Kind: EventStoreError, Run: x.id, Err: err})
	}
}

// blame marks the owner for as long as nobody knows whether the process survives the
// panic of the run, and changes the run. A store that does not answer does not keep
// the process from its end.
func (x *execution) blame(ctx context.Context, change func(*Record, *runBody, time.Time)) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), x.e.lease/3)
	defer cancel()
	owner, run := x.owner.key(), x.e.key(KindRun, x.id, "")
	return x.e.update(ctx, []Key{owner, run}, func(tx Tx) (w Writes, err error) {
		o, r := tx.Record(owner), tx.Record(run)
		if o.Version == 0 || r.Owner != x.owner.id || r.Fence != x.fence {
			return w, nil
		}
		ob, err := open[ownerBody](o)
		if err != nil {
			return w, err
		}
		ob.Panicked = x.id
		err = write(&o, &ob)
		w.Put = append(w.Put, o)
		if change == nil || err != nil {
			return w, err
		}
		b, err := open[runBody](r)
		if err != nil {
			return w, err
		}
		change(&r, &b, tx.Now)
		err = write(&r, &b)
		w.Put = append(w.Put, r)
		return w, err
	})
}
