package durable

import "context"

// This file marks the unfinished steps of a run that succeeds without calling them.

// unfinished returns the query for steps that the execution may have left unfinished.
// ok is false if it has called all that are recorded.
func (x *execution) unfinished() (q Query, ok bool) {
	q = Query{Kind: KindStep, Space: x.e.space, Run: x.id, Attention: true}
	switch known := x.steps.complete && len(x.steps.pending) == 0; {
	case known && x.created && !x.untidy:
		return q, false
	case known:
		q.FromID, q.BeforeID = inGroups, afterGroups
	}
	return q, true
}

// left returns the unfinished steps, as many as end in the transaction of the run, and
// whether there may be more.
func (x *execution) left(ctx context.Context) (keys []Key, more bool, err error) {
	q, ok := x.unfinished()
	if !ok {
		return nil, false, nil
	}
	records, next, err := x.e.store.List(ctx, q)
	for _, r := range records {
		if isLeft(r) {
			keys = append(keys, r.Key)
		}
	}
	return keys, next != "", err
}

// isLeft reports whether the record of a step says that it is unfinished.
func isLeft(r Record) bool {
	return r.Version != 0 && !finished(r.Status) && r.Status != StatusAbandoned
}

// abandon marks the unfinished steps among the records of the transaction in which the
// run succeeds. It returns their ids.
func (x *execution) abandon(tx Tx, w *Writes) (ids []string) {
	for _, r := range tx.Records {
		if r.Key.Kind == KindStep && r.Key.Run == x.id && isLeft(r) {
			r.Status = StatusAbandoned
			w.Put, ids = append(w.Put, r), append(ids, r.Key.ID)
		}
	}
	return ids
}

// abandonRest marks those that had no room in that transaction.
func (x *execution) abandonRest(ctx context.Context) error {
	q, _ := x.unfinished()
	return x.e.each(ctx, q, func(r Record) error {
		if !isLeft(r) {
			return nil
		}
		var ids []string
		err := x.e.update(ctx, []Key{x.e.key(KindRun, x.id, ""), r.Key}, func(tx Tx) (w Writes, err error) {
			ids = nil
			if run := tx.Records[0]; run.Fence == x.fence && run.Status == StatusSucceeded {
				ids = x.abandon(tx, &w)
			} // or an operator has requeued a step meanwhile: the run is open again
			return w, nil
		})
		if err == nil {
			x.reportAbandoned(ctx, ids)
		}
		return err
	})
}

func (x *execution) reportAbandoned(ctx context.Context, ids []string) {
	for _, id := range ids {
		x.e.event(ctx, Event{Kind: EventAbandoned, Run: x.id, Step: id})
	}
}
