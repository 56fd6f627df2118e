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
	q := Query{Kind: KindRun, Space: e.space, Status: expiring}
	if before.IsZero() {
		q.DueBy = time.Now()
	}
	return func(yield func(string, error) bool) {
		err := e.each(ctx, q, func(r Record) error {
			if err := e.shorten(ctx, r, before, operator(by)); err != nil {
				return err
			}
			if _, err := e.expireRun(ctx, r.Key); err != nil {
				return err
			}
			records, err := e.store.Get(ctx, []Key{r.Key})
			if err == nil && records[0].Status == StatusExpired && !yield(r.Key.Run, nil) {
				return errStopped
			}
			return err
		})
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
		r := tx.Records[0]
		b, err := open[runBody](r)
		if err != nil || !slices.Contains(expiring, r.Status) || !b.Ended.Before(before) || !r.Due.After(tx.Now) {
			return Writes{}, err
		}
		r.Due = tx.Now
		return writeRun(r, &b, newAudit(r, tx.Now, ActionExpired, by))
	})
}

// expiring are the states of runs that are due to be deleted.
var expiring = []Status{StatusSucceeded, StatusFailed, StatusCanceled, StatusTimedOut}

// keep returns how long the results of a run that has ended so are kept.
func (b *runBody) keep(status Status) time.Duration {
	if status == StatusSucceeded {
		return b.Keep
	}
	return b.KeepFailed
}

// end ends a run at a time, from which on its results are kept for a while.
func (b *runBody) end(r *Record, status Status, now time.Time) {
	r.Status, r.Due, b.Ended = status, now.Add(b.keep(status)), now
}

// expirePage is the number of runs that are looked for at once.
const expirePage = 100

// expire deletes what [Engine.Expire] deletes. It is called with each renewal, and
// ends when nothing is left, or quit is closed, or a sixth of the lease has passed: the
// next renewal must not be late.
func (e *Engine) expire(ctx context.Context, quit <-chan struct{}) {
	begun := time.Now() // nearly the time of the store: it only selects
	more, err := true, error(nil)
	for more && err == nil && time.Since(begun) < e.lease/6 {
		more, err = e.expireRuns(ctx, begun, quit)
	}
	if err == nil {
		err = e.expireOwners(ctx, begun)
	}
	if err != nil {
		e.event(ctx, Event{Kind: EventStoreError, Err: err})
	}
}

// expireRuns does a page of the work, and reports whether there may be more that
// this engine can do.
func (e *Engine) expireRuns(ctx context.Context, now time.Time, quit <-chan struct{}) (more bool, err error) {
	runs, next, err := e.store.List(ctx, Query{
		Kind: KindRun, Space: e.space, Status: expiring, DueBy: now, Limit: expirePage,
	})
	if err != nil {
		return false, err
	}
	for _, r := range runs {
		select {
		case <-quit:
			return false, nil
		default:
		}
		changed, err := e.expireRun(ctx, r.Key)
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
			if tx.Records[0].Due.After(tx.Now.Add(-ownerKeep)) {
				return Writes{}, nil // it lives
			}
			return Writes{Delete: []Key{o.Key}}, nil
		})
	})
}

// expireRun deletes the steps, groups and budgets of a run, a page of each in one
// transaction, and its input and its result with the last one. A run with dead
// letters or steps in doubt is looked at again later. It reports whether the run was
// still due.
func (e *Engine) expireRun(ctx context.Context, run Key) (due bool, err error) {
	left, _, err := e.store.List(ctx, Query{
		Kind: KindStep, Space: run.Space, Run: run.Run, Status: []Status{StatusDead, StatusInDoubt, StatusPaused},
		Attention: true, Limit: 1,
	})
	if err != nil {
		return false, err
	}
	if len(left) > 0 {
		return e.expireSteps(ctx, run, nil, func(r *Record, b *runBody, now time.Time) {
			r.Due = now.Add(max(b.keep(r.Status), deadKeep))
		})
	}
	for {
		var keys []Key
		last := true
		for _, kind := range [...]Kind{KindGroup, KindStep, KindBudget} {
			records, more, err := e.store.List(ctx, Query{Kind: kind, Space: run.Space, Run: run.Run})
			if err != nil {
				return false, err
			}
			for _, r := range records {
				keys = append(keys, r.Key)
			}
			last = last && more == ""
		}
		due, err := e.expireSteps(ctx, run, keys, func(r *Record, b *runBody, _ time.Time) {
			if last {
				r.Status, r.Due, b.Result, b.Input = StatusExpired, time.Time{}, nil, nil
			}
		})
		switch {
		case err != nil || !due:
			return false, err
		case last:
			e.event(ctx, Event{Kind: EventExpired, Run: run.Run})
			return true, nil
		}
	}
}

// deadKeep is the least time after which such a run is looked at again.
const deadKeep = time.Hour

// expireSteps deletes records of a run and changes the run, if that is still
// due: not if it was requeued, or another engine was faster.
func (e *Engine) expireSteps(
	ctx context.Context, run Key, keys []Key, change func(*Record, *runBody, time.Time),
) (due bool, err error) {
	err = e.store.Update(ctx, Select{Keys: append([]Key{run}, keys...)}, func(tx Tx) (Writes, error) {
		r := tx.Records[0]
		b, err := open[runBody](r)
		due = err == nil && slices.Contains(expiring, r.Status) && !r.Due.After(tx.Now)
		if !due {
			return Writes{}, err
		}
		change(&r, &b, tx.Now)
		err = write(&r, &b)
		return Writes{Put: []Record{r}, Delete: keys}, err
	})
	return due, err
}
