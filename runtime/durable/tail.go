package durable

import (
	"context"
)

// This file has the tails of runs. What follows from the end of a run may be more
// than one transaction changes: unfinished steps are abandoned when it succeeds, and
// all records are deleted when it expires. The transaction that ends the run decides
// that, and does the first page of it. The other pages are the tail. The body of the
// run says that there is one, and the run is due at once, so that any engine goes on
// with it if this process dies.

// unfinishedStatus are the states of steps that a run which succeeds abandons.
var unfinishedStatus = []Status{StatusOpen, StatusWaiting, StatusExecuting, StatusInDoubt, StatusPaused}

// unfinishedSteps returns the query for the unfinished steps of a run.
func (e *Engine) unfinishedSteps(run string) Query {
	return Query{Kind: KindStep, Space: e.space, Run: run, Attention: true, Status: unfinishedStatus}
}

// left returns the steps that the execution may have left unfinished, as many as end
// in the transaction of the run, and whether there may be more. It asks the store for
// none if it has called all that are recorded.
func (x *execution) left(ctx context.Context) (keys []Key, more bool, err error) {
	q := x.e.unfinishedSteps(x.id)
	switch known := x.steps.complete && len(x.steps.pending) == 0; {
	case known && x.created && !x.untidy:
		return nil, false, nil
	case known:
		q.FromID, q.BeforeID = inGroups, afterGroups
	}
	return x.e.page(ctx, q)
}

// page returns the keys of the first records that a query selects, and whether there
// are more.
func (e *Engine) page(ctx context.Context, q Query) (keys []Key, more bool, err error) {
	records, next, err := e.store.List(ctx, q)
	for _, r := range records {
		keys = append(keys, r.Key)
	}
	return keys, next != "", err
}

// abandon marks the steps of a run among some records that are unfinished. It returns
// their ids.
func abandon(run string, records []Record, w *Writes) (ids []string, err error) {
	for _, r := range records {
		if r.Version == 0 || r.Key.Kind != KindStep || r.Key.Run != run || finished(r.Status) ||
			r.Status == StatusAbandoned {
			continue
		}
		b, err := open[stepBody](r)
		if err != nil {
			return nil, err
		}
		b.Before, r.Status = r.Status, StatusAbandoned
		if err := writeStep(&r, &b); err != nil {
			return nil, err
		}
		w.Put, ids = append(w.Put, r), append(ids, r.Key.ID)
	}
	return ids, nil
}

// endTail ends the tail of a run that this execution has ended.
func (x *execution) endTail(ctx context.Context) {
	due, more, err := true, true, error(nil)
	for due && more && err == nil {
		due, more, err = x.e.abandonPage(ctx, x.e.key(KindRun, x.id, ""))
	}
	if err != nil { // the run has succeeded, and other engines go on
		x.e.event(ctx, Event{Kind: EventStoreError, Run: x.id, Err: err})
	}
}

// abandonPage abandons a page of the unfinished steps of a run that has succeeded, and
// ends its tail with the last one. It reports whether the run still had a tail, and
// whether there are more.
func (e *Engine) abandonPage(ctx context.Context, run Key) (tail, more bool, err error) {
	keys, more, err := e.page(ctx, e.unfinishedSteps(run.Run))
	if err != nil {
		return false, false, err
	}
	var ids []string
	err = e.store.Update(ctx, Select{Keys: append([]Key{run}, keys...)}, func(tx Tx) (w Writes, err error) {
		r := tx.Record(run)
		b, err := open[runBody](r)
		if tail, ids = err == nil && r.Status == StatusSucceeded && b.Tail, nil; !tail {
			return w, err // another engine was faster, or an operator has requeued a step
		}
		if ids, err = abandon(run.Run, tx.Records, &w); err != nil || more {
			return w, err
		}
		b.Tail, r.Due = false, b.Ended.Add(b.Keep)
		err = write(&r, &b)
		w.Put = append(w.Put, r)
		return w, err
	})
	if err != nil {
		return false, false, err
	}
	e.reportAbandoned(ctx, run.Run, ids)
	return tail, more, nil
}

func (e *Engine) reportAbandoned(ctx context.Context, run string, ids []string) {
	for _, id := range ids {
		e.event(ctx, Event{Kind: EventAbandoned, Run: run, Step: id})
	}
}

// wrongTail returns what is wrong with the tail of a run, or "".
func wrongTail(r Record, b *runBody) string {
	switch {
	case b.Tail && r.Status != StatusSucceeded && r.Status != StatusExpired:
		return "it has steps to abandon or to delete, although it is " + r.Status.String()
	case b.Tail && r.Due.IsZero():
		return "it has steps to abandon or to delete, but is never due: no engine does it"
	}
	return ""
}

// hasTail reports whether the tail of a run explains an unfinished step.
func hasTail(run Record) bool {
	b, err := open[runBody](run)
	return err == nil && b.Tail
}
