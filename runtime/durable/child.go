package durable

import (
	"context"
	"errors"
	"slices"
	"time"
)

// This file has what runs do to other runs: a run that a worker executes is
// parked until another run has ended, and is due when that ends.

// A missingError is a decision that needs the records of further runs.
type missingError struct{ runs []string }

// Error describes the error: no caller sees it.
func (*missingError) Error() string { return "records of other runs are missing" }

// withOthers updates the record of the run, those of the runs that it waits for,
// those of the runs that wait for it, which only its record names, and the
// record of the group whose unit it is.
func (x *execution) withOthers(
	ctx context.Context, others []string, steps []Key, decide func(Tx) (Writes, error),
) error {
	for {
		keys := append([]Key{x.e.key(KindRun, x.id, "")}, steps...)
		for _, run := range others {
			keys = append(keys, x.e.key(KindRun, run, ""))
		}
		err := x.e.update(ctx, append(keys, x.memberKeys()...), decide)
		missing, ok := errors.AsType[*missingError](err)
		if !ok {
			return err
		}
		others = append(others, missing.runs...)
	}
}

// dueNow makes a run due at once.
func dueNow(r *Record, now time.Time) {
	if r.Due.IsZero() || r.Due.After(now) {
		r.Due = now
	}
}

// link adds what the end of an execution does to other runs. It may be parked
// until they have ended, or they until it has.
func (x *execution) link(tx Tx, r *Record, b *runBody, end ending) (w Writes, err error) {
	switch {
	case end.status == StatusParked:
		return x.linkAwaited(tx, r, b, end.awaits)
	case end.status == StatusOpen && x.handler != "":
		// Another worker goes on. After an error that may last, not at once.
		if r.Due = tx.Now; !errors.Is(end.err, context.Canceled) && !errors.Is(end.err, ErrClosed) && !isHeld(end.err) {
			r.Due = tx.Now.Add(x.e.lease)
		}
	case end.status.EndsRun():
		var missing missingError
		for _, run := range b.Awaiters {
			other, found := tx.Lookup(x.e.key(KindRun, run, ""))
			if !found {
				missing.runs = append(missing.runs, run)
			} else if other.Status == StatusParked {
				dueNow(&other, tx.Now)
				w.Put = append(w.Put, other)
			}
		}
		if len(missing.runs) > 0 {
			return w, &missing
		}
		b.Awaiters = nil
	}
	return w, nil
}

// linkAwaited parks the run until others have ended.
func (x *execution) linkAwaited(tx Tx, r *Record, b *runBody, awaits []string) (w Writes, err error) {
	b.Awaits = awaits
	get := func(run string) (r Record, b runBody, err error) {
		r, found := tx.Lookup(x.e.key(KindRun, run, ""))
		if !found {
			return r, b, &missingError{[]string{run}}
		}
		b, err = open[runBody](r)
		return r, b, err
	}
	for _, run := range awaits {
		other, ob, err := get(run)
		if err != nil {
			return w, err
		}
		if other.Version == 0 || other.Status.EndsRun() {
			dueNow(r, tx.Now) // it has ended meanwhile
			continue
		}
		cycle, err := awaitPath(run, x.id, get)
		if err != nil {
			return w, err
		}
		if cycle != nil { // the next execution of Await returns an error
			dueNow(r, tx.Now)
			continue
		}
		if r.Due.IsZero() {
			r.Due = tx.Now.Add(x.e.lease) // to look again, in case its end is not that of an execution
		}
		if !slices.Contains(ob.Awaiters, x.id) {
			ob.Awaiters = append(ob.Awaiters, x.id)
			if err := write(&other, &ob); err != nil {
				return w, err
			}
			w.Put = append(w.Put, other)
		}
	}
	return w, nil
}
