package durable

import (
	"context"
	"errors"
	"slices"

	"github.com/retrygen/retrygen/runtime/durable/internal/namespace"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// This file connects runs with other runs. A run that a worker executes can be parked until
// another run has ended. It becomes due when that run ends.

// A missingError reports that a decision requires the records of more runs.
type missingError struct{ runs []string }

// Error describes the error. No caller of the package sees it.
func (*missingError) Error() string { return "records of other runs are missing" }

// withOthers updates the record of the run together with the records of other runs: those that
// it waits for, and those that wait for it, which are known only from its record. The update
// includes the record of the group, if the run is a unit of one.
func (x *execution) withOthers(
	ctx context.Context, others []string, steps []storage.Key, decide func(storage.Tx) (storage.Writes, error),
) error {
	for {
		keys := append([]storage.Key{x.e.ns.Key(storage.KindRun, x.id, "")}, steps...)
		for _, run := range others {
			keys = append(keys, x.e.ns.Key(storage.KindRun, run, ""))
		}
		var err error
		if keys = append(keys, x.memberKeys()...); len(keys) == 1 && x.known.Version > 0 && x.deferred.Load() == nil {
			err = x.e.ns.UpdateKnown(ctx, namespace.Known{Record: x.known, Now: x.owner.now}, decide)
		} else {
			err = x.update(ctx, keys, decide)
		}
		missing, ok := errors.AsType[*missingError](err)
		if !ok {
			return err
		}
		others = append(others, missing.runs...)
	}
}

// link adds the effects that the end of an execution has on other runs. The run may be parked
// until other runs have ended, or other runs may be parked until this run has ended.
func (x *execution) link(tx storage.Tx, r *storage.Record, b *record.Run, end ending) (w storage.Writes, err error) {
	switch {
	case end.status == storage.StatusParked:
		return x.linkAwaited(tx, r, b, end.awaits)
	case end.status == storage.StatusOpen && x.handler != "":
		// Another worker continues the run. After an error that may persist, it does so only
		// after some time.
		if r.Due = tx.Now; !errors.Is(end.err, context.Canceled) && !errors.Is(end.err, ErrClosed) && !isHeld(end.err) {
			r.Due = tx.Now.Add(x.e.ns.Lease)
		}
	case end.status.EndsRun():
		var missing missingError
		for _, run := range b.Awaiters {
			other, found := tx.Lookup(x.e.ns.Key(storage.KindRun, run, ""))
			if !found {
				missing.runs = append(missing.runs, run)
			} else if other.Status == storage.StatusParked {
				record.DueNow(&other, tx.Now)
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

// linkAwaited parks the run until other runs have ended.
func (x *execution) linkAwaited(
	tx storage.Tx, r *storage.Record, b *record.Run, awaits []string,
) (w storage.Writes, err error) {
	b.Awaits = awaits
	get := func(run string) (r storage.Record, b record.Run, err error) {
		r, found := tx.Lookup(x.e.ns.Key(storage.KindRun, run, ""))
		if !found {
			return r, b, &missingError{[]string{run}}
		}
		b, err = record.Decode[record.Run](r)
		return r, b, err
	}
	for _, run := range awaits {
		other, ob, err := get(run)
		if err != nil {
			return w, err
		}
		if other.Version == 0 || other.Status.EndsRun() {
			record.DueNow(r, tx.Now) // the other run has ended in the meantime
			continue
		}
		cycle, err := awaitPath(run, x.id, get)
		if err != nil {
			return w, err
		}
		if cycle != nil { // the next execution of Await returns the error
			record.DueNow(r, tx.Now)
			continue
		}
		if r.Due.IsZero() {
			r.Due = tx.Now.Add(x.e.ns.Lease) // check again later, in case the run ends without an execution
		}
		if !slices.Contains(ob.Awaiters, x.id) {
			ob.Awaiters = append(ob.Awaiters, x.id)
			if err := record.Encode(&other, &ob); err != nil {
				return w, err
			}
			w.Put = append(w.Put, other)
		}
	}
	return w, nil
}
