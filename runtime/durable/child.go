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

// withOthers updates the record of the run, those of others, and those of the
// runs that wait for it, which only the record tells.
func (x *execution) withOthers(ctx context.Context, others []string, decide func(Tx) (Writes, error)) error {
	for {
		keys := []Key{x.e.key(KindRun, x.id, "")}
		for _, run := range others {
			keys = append(keys, x.e.key(KindRun, run, ""))
		}
		err := x.e.update(ctx, keys, decide)
		missing, ok := errors.AsType[*missingError](err)
		if !ok {
			return err
		}
		others = append(others, missing.runs...)
	}
}

// link adds what the end of an execution does to other runs. It may be parked
// until they have ended, or they until it has.
func (x *execution) link(tx Tx, r *Record, b *runBody, end ending) (w Writes, err error) {
	find := func(run string) int {
		return slices.IndexFunc(tx.Records, func(r Record) bool { return r.Key.Run == run })
	}
	now := func(r *Record) {
		if r.Due.IsZero() || r.Due.After(tx.Now) {
			r.Due = tx.Now
		}
	}
	switch {
	case end.status == StatusParked:
		for _, run := range end.awaits {
			other := tx.Records[find(run)]
			ob, err := open[runBody](other)
			if err != nil {
				return w, err
			}
			if other.Version == 0 || endedRun(other.Status) {
				now(r) // it has ended meanwhile
				continue
			}
			if r.Due.IsZero() {
				r.Due = tx.Now.Add(x.e.lease) // to look again, in case its end is not that of an execution
			}
			if !slices.Contains(ob.Awaiters, x.id) {
				ob.Awaiters = append(ob.Awaiters, x.id)
				err = write(&other, &ob)
				w.Put = append(w.Put, other)
			}
			if err != nil {
				return w, err
			}
		}
	case end.status == StatusOpen && x.handler != "":
		// Another worker goes on. After an error that may last, not at once.
		if r.Due = tx.Now; !errors.Is(end.err, context.Canceled) && !errors.Is(end.err, ErrClosed) && !isHeld(end.err) {
			r.Due = tx.Now.Add(x.e.lease)
		}
	case endedRun(end.status):
		var missing missingError
		for _, run := range b.Awaiters {
			i := find(run)
			if i < 0 {
				missing.runs = append(missing.runs, run)
			} else if other := tx.Records[i]; other.Status == StatusParked {
				now(&other)
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

// earlier reports whether a is before b, where zero is later than all times.
func earlier(a, b time.Time) bool { return !a.IsZero() && (b.IsZero() || a.Before(b)) }
