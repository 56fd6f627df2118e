package namespace

import (
	"context"
	"slices"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// Ends are the states of runs that have ended, and whose results are kept for a while.
var Ends = []storage.Status{
	storage.StatusSucceeded, storage.StatusFailed, storage.StatusCanceled, storage.StatusTimedOut,
}

// Expiring are the states of runs that may be due to be deleted, or to go on with that:
// see tail.go.
var Expiring = append(slices.Clone(Ends), storage.StatusExpired)

// expirePage is the number of runs that are looked for at once.
const expirePage = 100

// ExpireRuns calls [Namespace.ExpireRun] for a page of the runs that are due, and
// reports whether there may be more. It ends between two transactions when stop
// returns true.
func (n *Namespace) ExpireRuns(ctx context.Context, now time.Time, stop func() bool) (more bool, err error) {
	runs, next, err := n.Store.List(ctx, storage.Query{
		Kind: storage.KindRun, Space: n.Space, Status: Expiring, DueBy: now, Limit: expirePage,
	})
	if err != nil {
		return false, err
	}
	for _, r := range runs {
		if stop() {
			return false, nil
		}
		changed, err := n.ExpireRun(ctx, r, stop)
		if err != nil {
			return false, err
		}
		more = more || changed && next != ""
	}
	return more, nil
}

// ownerKeep is how long the records of dead engines are kept.
const ownerKeep = time.Hour

// ExpireOwners deletes the records of engines that died long ago, and whose runs
// others have taken over.
func (n *Namespace) ExpireOwners(ctx context.Context, now time.Time) error {
	q := storage.Query{Kind: storage.KindOwner, Space: n.Space, DueBy: now.Add(-ownerKeep)}
	return n.Each(ctx, q, func(o storage.Record) error {
		runs, _, err := n.Store.List(ctx, storage.Query{Kind: storage.KindRun, Space: n.Space, Owner: o.Key.ID, Limit: 1})
		if err != nil || len(runs) > 0 {
			return err
		}
		return n.Update(ctx, []storage.Key{o.Key}, func(tx storage.Tx) (storage.Writes, error) {
			if tx.Record(o.Key).Due.After(tx.Now.Add(-ownerKeep)) {
				return storage.Writes{}, nil // it lives
			}
			return storage.Writes{Delete: []storage.Key{o.Key}}, nil
		})
	})
}

// ExpireRun ends the tail of a run, if it has one, and otherwise deletes its steps,
// groups and budgets, with its input and its result. The run expires with the first
// page of them: it is never executed over what is left. A run with dead letters or
// steps in doubt is looked at again later. It reports whether the run was still due,
// and ends between two transactions when stop returns true.
func (n *Namespace) ExpireRun(ctx context.Context, r storage.Record, stop func() bool) (due bool, err error) {
	b, err := record.Decode[record.Run](r)
	if err != nil {
		return false, err
	}
	page := n.deletePage
	switch {
	case r.Status == storage.StatusSucceeded && b.Tail:
		page = n.AbandonPage
	case r.Status != storage.StatusExpired:
		if postponed, due, err := n.postpone(ctx, r.Key); postponed || err != nil {
			return due, err
		}
	}
	for more := true; more && err == nil && !stop(); due = true {
		var now bool
		if now, more, err = page(ctx, r.Key); !now {
			return due, err
		}
	}
	return due, err
}

// postpone makes a run due later if it has dead letters or steps in doubt. It reports
// whether it has some, and whether the run was still due.
func (n *Namespace) postpone(ctx context.Context, run storage.Key) (postponed, due bool, err error) {
	q := storage.Query{
		Kind: storage.KindStep, Space: run.Space, Run: run.Run, Status: []storage.Status{
			storage.StatusDead, storage.StatusInDoubt, storage.StatusPaused,
		},
		Attention: true, Limit: 1,
	}
	if left, _, err := n.Store.List(ctx, q); len(left) == 0 || err != nil {
		return false, false, err
	}
	due, err = n.expireRecords(ctx, run, nil, func(r *storage.Record, b *record.Run, now time.Time) {
		r.Due = now.Add(max(b.RetentionAfter(r.Status), deadKeep))
	})
	return true, due, err
}

// deadKeep is the least time after which such a run is looked at again.
const deadKeep = time.Hour

// deletePage deletes a page of the records of a run. It reports whether the run was
// still due, and whether there are more.
func (n *Namespace) deletePage(ctx context.Context, run storage.Key) (due, more bool, err error) {
	var keys []storage.Key
	for _, kind := range [...]storage.Kind{storage.KindGroup, storage.KindStep, storage.KindBudget} {
		page, rest, err := n.Page(ctx, storage.Query{Kind: kind, Space: run.Space, Run: run.Run})
		if err != nil {
			return false, false, err
		}
		keys, more = append(keys, page...), more || rest
	}
	due, err = n.expireRecords(ctx, run, keys, func(r *storage.Record, b *record.Run, now time.Time) {
		r.Status, r.Due, b.Result, b.Input, b.Job, b.Tail = storage.StatusExpired, time.Time{}, nil, nil, nil, more
		if more {
			r.Due = now
		}
	})
	if due && !more && err == nil {
		n.Event(ctx, events.Event{Kind: events.EventExpired, Run: run.Run})
	}
	return due, more, err
}

// expireRecords deletes records of a run and changes the run, if that is still
// due: not if it was requeued, if another engine was faster, or if it has just
// succeeded with a tail.
func (n *Namespace) expireRecords(
	ctx context.Context, run storage.Key, keys []storage.Key, change func(*storage.Record, *record.Run, time.Time),
) (due bool, err error) {
	sel := storage.Select{Keys: append([]storage.Key{run}, keys...)}
	err = n.Store.Update(ctx, sel, func(tx storage.Tx) (storage.Writes, error) {
		r := tx.Record(run)
		b, err := record.Decode[record.Run](r)
		due = err == nil && slices.Contains(Expiring, r.Status) && !r.Due.IsZero() && !r.Due.After(tx.Now)
		if due = due && (r.Status == storage.StatusExpired || !b.Tail); !due {
			return storage.Writes{}, err
		}
		change(&r, &b, tx.Now)
		err = record.Encode(&r, &b)
		return storage.Writes{Put: []storage.Record{r}, Delete: keys}, err
	})
	return due, err
}
