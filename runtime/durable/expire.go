package durable

import (
	"context"
	"time"
)

// expire deletes the results and the history of runs that have succeeded, and
// whose time has passed: see [Keep]. It is called with each renewal, and does a
// part of the work: other engines do theirs.
func (e *Engine) expire(ctx context.Context) {
	now := time.Now() // nearly that of the store: it only selects
	runs, _, err := e.store.List(ctx, Query{
		Kind: KindRun, Space: e.space, Status: []Status{StatusSucceeded}, DueBy: now, Limit: 10,
	})
	for _, r := range runs {
		if err == nil {
			err = e.expireRun(ctx, r.Key)
		}
	}
	if err == nil {
		err = e.expireOwners(ctx, now)
	}
	if err != nil {
		e.event(Event{Kind: EventStoreError, Err: err})
	}
}

// ownerKeep is how long the records of dead engines are kept.
const ownerKeep = time.Hour

// expireOwners deletes the records of engines that died long ago, and whose runs
// others have taken over.
func (e *Engine) expireOwners(ctx context.Context, now time.Time) error {
	owners, _, err := e.store.List(ctx, Query{Kind: KindOwner, Space: e.space, DueBy: now.Add(-ownerKeep), Limit: 10})
	if err != nil {
		return err
	}
	for _, o := range owners {
		runs, _, err := e.store.List(ctx, Query{Kind: KindRun, Space: e.space, Owner: o.Key.ID, Limit: 1})
		if err != nil || len(runs) > 0 {
			return err
		}
		err = e.update(ctx, []Key{o.Key}, func(tx Tx) (Writes, error) {
			if tx.Records[0].Due.After(tx.Now.Add(-ownerKeep)) {
				return Writes{}, nil // it lives
			}
			return Writes{Delete: []Key{o.Key}}, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// expireRun deletes the steps of a run, a page in each transaction, and its
// result with the last one.
func (e *Engine) expireRun(ctx context.Context, run Key) error {
	for {
		steps, _, err := e.store.List(ctx, Query{Kind: KindStep, Space: run.Space, Run: run.Run, Limit: MaxPage})
		if err != nil {
			return err
		}
		keys := []Key{run, e.key(KindBudget, run.Run, "")}
		for _, s := range steps {
			keys = append(keys, s.Key)
		}
		err = e.store.Update(ctx, Select{Keys: keys}, func(tx Tx) (Writes, error) {
			r := tx.Records[0]
			b, err := open[runBody](r)
			if err != nil || r.Status != StatusSucceeded || r.Due.After(tx.Now) {
				return Writes{}, err // it was requeued
			}
			w := Writes{Delete: keys[1:]}
			if len(steps) < MaxPage {
				r.Status, r.Due, b.Result = StatusExpired, time.Time{}, nil
				w.Put = []Record{r}
				err = write(&w.Put[0], &b)
			}
			return w, err
		})
		if err != nil || len(steps) < MaxPage {
			if err == nil {
				e.event(Event{Kind: EventExpired, Run: run.Run})
			}
			return err
		}
	}
}
