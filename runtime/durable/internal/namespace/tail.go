package namespace

import (
	"context"

	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// This file handles the tails of runs. The end of a run may require more changes than one
// transaction can make: when a run succeeds, its unfinished steps are abandoned, and when it
// expires, all of its records are deleted. The transaction that ends the run also changes the
// first page of these records. The other pages are the tail. The body of the run records that
// there is a tail, and the run becomes due immediately, so that any engine can continue if this
// process dies.

// unfinishedStatus lists the states of steps that a run abandons when it succeeds.
var unfinishedStatus = []storage.Status{
	storage.StatusOpen, storage.StatusWaiting, storage.StatusExecuting, storage.StatusInDoubt, storage.StatusPaused,
}

// UnfinishedSteps returns the query for the unfinished steps of a run.
func (n *Namespace) UnfinishedSteps(run string) storage.Query {
	return storage.Query{Kind: storage.KindStep, Space: n.Space, Run: run, Attention: true, Status: unfinishedStatus}
}

// Page returns the keys of the first page of records that a query selects, and whether there
// are more.
func (n *Namespace) Page(ctx context.Context, q storage.Query) (keys []storage.Key, more bool, err error) {
	records, next, err := n.Store.List(ctx, q)
	for _, r := range records {
		keys = append(keys, r.Key)
	}
	return keys, next != "", err
}

// Abandon marks those of the given records that are unfinished steps of a run as abandoned. It
// returns their ids.
func Abandon(run string, records []storage.Record, w *storage.Writes) (ids []string, err error) {
	for _, r := range records {
		if r.Version == 0 || r.Key.Kind != storage.KindStep || r.Key.Run != run || record.Finished(r.Status) ||
			r.Status == storage.StatusAbandoned {
			continue
		}
		b, err := record.Decode[record.Step](r)
		if err != nil {
			return nil, err
		}
		b.Before, r.Status = r.Status, storage.StatusAbandoned
		if err := record.EncodeStep(&r, &b); err != nil {
			return nil, err
		}
		w.Put, ids = append(w.Put, r), append(ids, r.Key.ID)
	}
	return ids, nil
}

// AbandonPage abandons one page of the unfinished steps of a run that has succeeded. With the
// last page, the tail of the run ends. AbandonPage reports whether the run still had a tail,
// and whether more pages follow.
func (n *Namespace) AbandonPage(ctx context.Context, run storage.Key) (tail, more bool, err error) {
	keys, more, err := n.Page(ctx, n.UnfinishedSteps(run.Run))
	if err != nil {
		return false, false, err
	}
	var ids []string
	sel := storage.Select{Keys: append([]storage.Key{run}, keys...)}
	err = n.Store.Update(ctx, sel, func(tx storage.Tx) (w storage.Writes, err error) {
		r := tx.Record(run)
		b, err := record.Decode[record.Run](r)
		if tail, ids = err == nil && r.Status == storage.StatusSucceeded && b.Tail, nil; !tail {
			return w, err // another engine was faster, or an operator has requeued a step
		}
		if ids, err = Abandon(run.Run, tx.Records, &w); err != nil || more {
			return w, err
		}
		b.Tail, r.Due = false, b.Ended.Add(b.RetentionAfter(storage.StatusSucceeded))
		err = record.Encode(&r, &b)
		w.Put = append(w.Put, r)
		return w, err
	})
	if err != nil {
		return false, false, err
	}
	n.ReportAbandoned(ctx, run.Run, ids)
	return tail, more, nil
}

// ReportAbandoned reports that steps of a run were abandoned.
func (n *Namespace) ReportAbandoned(ctx context.Context, run string, ids []string) {
	for _, id := range ids {
		n.Event(ctx, events.Event{Kind: events.EventAbandoned, Run: run, Step: id})
	}
}
