package durable

import (
	"context"
	"iter"
	"slices"
	"time"
)

// Expire deletes the inputs, the results and the history of all runs that have ended
// and whose time has passed: see [Keep] and [KeepFailed]. Engines do so as well, with
// each renewal of their lease. If before is not zero, the runs that ended earlier than
// that are deleted, too, however long they were to be kept; the audit of these runs
// has by. Runs with dead letters or steps in doubt stay. The ids of the deleted runs
// are returned as it happens; to stop, end the loop. An error ends the sequence.
func (e *Engine) Expire(ctx context.Context, before time.Time, by ...Operator) iter.Seq2[string, error] {
	due := Query{Kind: KindRun, Space: e.space, Status: expiring, DueBy: time.Now()}
	early := Query{Kind: KindRun, Space: e.space, Status: ends}
	never := func() bool { return false }
	return func(yield func(string, error) bool) {
		expire := func(r Record) error {
			if err := e.shorten(ctx, r, before, operator(by)); err != nil {
				return err
			}
			if _, err := e.expireRun(ctx, r, never); err != nil {
				return err
			}
			records, err := e.store.Get(ctx, []Key{r.Key})
			if err == nil && records[0].Status == StatusExpired && !yield(r.Key.Run, nil) {
				return errStopped
			}
			return err
		}
		err := e.each(ctx, due, expire)
		if err == nil && !before.IsZero() {
			err = e.each(ctx, early, expire)
		}
		if err != nil && err != errStopped {
			yield("", err)
		}
	}
}

// shorten makes the results of a run that ended before a time due for deletion.
func (e *Engine) shorten(ctx context.Context, r Record, before time.Time, by Operator) error {
	b, err := open[runBody](r)
	if err != nil || before.IsZero() || !b.Ended.Before(before) {
		return err
	}
	return e.update(ctx, []Key{r.Key}, func(tx Tx) (Writes, error) {
		r := tx.Record(r.Key)
		b, err := open[runBody](r)
		if err != nil || !slices.Contains(ends, r.Status) || !b.Ended.Before(before) || !r.Due.After(tx.Now) {
			return Writes{}, err
		}
		r.Due = tx.Now
		return writeRun(r, &b, newAudit(r, tx.Now, ActionExpired, by))
	})
}

// ends are the states of runs that have ended, and whose results are kept for a while.
var ends = []Status{StatusSucceeded, StatusFailed, StatusCanceled, StatusTimedOut}

// expiring are the states of runs that may be due to be deleted, or to go on with that:
// see tail.go.
var expiring = append(slices.Clone(ends), StatusExpired)

// expirePage is the number of runs that are looked for at once.
const expirePage = 100

// expire deletes what [Engine.Expire] deletes. It is called with each renewal, and
// ends when nothing is left, or quit is closed, or a sixth of the lease has passed: the
// next renewal must not be late.
func (e *Engine) expire(ctx context.Context, quit <-chan struct{}) {
	begun := time.Now() // nearly the time of the store: it only selects
	stop := func() bool {
		select {
		case <-quit:
			return true
		default:
			return time.Since(begun) >= e.lease/6
		}
	}
	more, err := true, error(nil)
	for more && err == nil && !stop() {
		more, err = e.expireRuns(ctx, begun, stop)
	}
	if err == nil {
		err = e.expireOwners(ctx, begun)
	}
	if err != nil {
		e.event(ctx, Event{Kind: EventStoreError, Err: err})
	}
}

// expireRuns does the work for a page of runs, and reports whether there may be more
// that this engine can do.
func (e *Engine) expireRuns(ctx context.Context, now time.Time, stop func() bool) (more bool, err error) {
	runs, next, err := e.store.List(ctx, Query{
		Kind: KindRun, Space: e.space, Status: expiring, DueBy: now, Limit: expirePage,
	})
	if err != nil {
		return false, err
	}
	for _, r := range runs {
		if stop() {
			return false, nil
		}
		changed, err := e.expireRun(ctx, r, stop)
		if err != nil {
			return false, err
		}
		more = more || changed && next != ""
	}
	return more, nil
}

// ownerKeep is how long the records of dead engines are kept.
const ownerKeep = time.Hour

// expireOwners deletes the records of engines that died long ago, and whose runs
// others have taken over.
func (e *Engine) expireOwners(ctx context.Context, now time.Time) error {
	return e.each(ctx, Query{Kind: KindOwner, Space: e.space, DueBy: now.Add(-ownerKeep)}, func(o Record) error {
		runs, _, err := e.store.List(ctx, Query{Kind: KindRun, Space: e.space, Owner: o.Key.ID, Limit: 1})
		if err != nil || len(runs) > 0 {
			return err
		}
		return e.update(ctx, []Key{o.Key}, func(tx Tx) (Writes, error) {
			if tx.Record(o.Key).Due.After(tx.Now.Add(-ownerKeep)) {
				return Writes{}, nil // it lives
			}
			return Writes{Delete: []Key{o.Key}}, nil
		})
	})
}

// expireRun ends the tail of a run, if it has one, and otherwise deletes its steps,
// groups and budgets, with its input and its result. The run expires with the first
// page of them: it is never executed over what is left. A run with dead letters or
// steps in doubt is looked at again later. It reports whether the run was still due,
// and ends between two transactions when stop returns true.
func (e *Engine) expireRun(ctx context.Context, r Record, stop func() bool) (due bool, err error) {
	b, err := open[runBody](r)
	if err != nil {
		return false, err
	}
	page := e.deletePage
	switch {
	case r.Status == StatusSucceeded && b.Tail:
		page = e.abandonPage
	case r.Status != StatusExpired:
		if postponed, due, err := e.postpone(ctx, r.Key); postponed || err != nil {
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
func (e *Engine) postpone(ctx context.Context, run Key) (postponed, due bool, err error) {
	q := Query{
		Kind: KindStep, Space: run.Space, Run: run.Run, Status: []Status{StatusDead, StatusInDoubt, StatusPaused},
		Attention: true, Limit: 1,
	}
	if left, _, err := e.store.List(ctx, q); len(left) == 0 || err != nil {
		return false, false, err
	}
	due, err = e.expireRecords(ctx, run, nil, func(r *Record, b *runBody, now time.Time) {
		r.Due = now.Add(max(b.keep(r.Status), deadKeep))
	})
	return true, due, err
}

// deadKeep is the least time after which such a run is looked at again.
const deadKeep = time.Hour

// deletePage deletes a page of the records of a run. It reports whether the run was
// still due, and whether there are more.
func (e *Engine) deletePage(ctx context.Context, run Key) (due, more bool, err error) {
	var keys []Key
	for _, kind := range [...]Kind{KindGroup, KindStep, KindBudget} {
		page, rest, err := e.page(ctx, Query{Kind: kind, Space: run.Space, Run: run.Run})
		if err != nil {
			return false, false, err
		}
		keys, more = append(keys, page...), more || rest
	}
	due, err = e.expireRecords(ctx, run, keys, func(r *Record, b *runBody, now time.Time) {
		r.Status, r.Due, b.Result, b.Input, b.Tail = StatusExpired, time.Time{}, nil, nil, more
		if more {
			r.Due = now
		}
	})
	if due && !more && err == nil {
		e.event(ctx, Event{Kind: EventExpired, Run: run.Run})
	}
	return due, more, err
}

// expireRecords deletes records of a run and changes the run, if that is still
// due: not if it was requeued, if another engine was faster, or if it has just
// succeeded with a tail.
func (e *Engine) expireRecords(
	ctx context.Context, run Key, keys []Key, change func(*Record, *runBody, time.Time),
) (due bool, err error) {
	err = e.store.Update(ctx, Select{Keys: append([]Key{run}, keys...)}, func(tx Tx) (Writes, error) {
		r := tx.Record(run)
		b, err := open[runBody](r)
		due = err == nil && slices.Contains(expiring, r.Status) && !r.Due.IsZero() && !r.Due.After(tx.Now)
		if due = due && (r.Status == StatusExpired || !b.Tail); !due {
			return Writes{}, err
		}
		change(&r, &b, tx.Now)
		err = write(&r, &b)
		return Writes{Put: []Record{r}, Delete: keys}, err
	})
	return due, err
}
