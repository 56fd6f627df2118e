package admin

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/namespace"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// Expire deletes the inputs, the results and the history of all runs that have ended and
// whose retention period has passed: see durable.Retention and durable.FailedRetention.
// Engines also do this each time they renew their lease. If before is not zero, Expire
// also deletes the runs that ended before that time, regardless of their retention, and
// records by in their audit. Runs with dead letters or steps in doubt are kept. Expire
// deletes many runs in one transaction, and then returns their ids. To stop, break out of
// the loop. An error ends the sequence.
func (c *Client) Expire(ctx context.Context, before time.Time, by ...events.Operator) iter.Seq2[string, error] {
	due := c.ns.Due(time.Now())
	early := storage.Query{Kind: storage.KindRun, Space: c.ns.Space, Status: namespace.Ends, Limit: due.Limit}
	never := func() bool { return false }
	return func(yield func(string, error) bool) {
		expire := func(runs []storage.Record) error {
			if err := c.shorten(ctx, runs, before, operator(by)); err != nil {
				return err
			}
			expired, _, err := c.ns.Expire(ctx, runs, never)
			for _, run := range expired {
				if !yield(run, nil) {
					return errStopped
				}
			}
			return err
		}
		err := c.ns.EachPage(ctx, due, expire)
		if err == nil && !before.IsZero() {
			err = c.ns.EachPage(ctx, early, expire)
		}
		if err != nil && err != errStopped {
			yield("", err)
		}
	}
}

// shorten makes the results of runs that ended before a time due for deletion.
func (c *Client) shorten(ctx context.Context, runs []storage.Record, before time.Time, by events.Operator) error {
	if before.IsZero() {
		return nil
	}
	var keys []storage.Key
	for _, r := range runs {
		if r.Ended.Before(before) {
			keys = append(keys, r.Key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return c.ns.Update(ctx, keys, func(tx storage.Tx) (all storage.Writes, err error) {
		for _, r := range tx.Records {
			if !slices.Contains(namespace.Ends, r.Status) || !r.Ended.Before(before) || !r.Due.After(tx.Now) {
				continue
			}
			b, err := record.Decode[record.Run](r)
			if err != nil {
				return all, err
			}
			r.Due = tx.Now
			w, err := writeRun(r, &b, newAudit(r, tx.Now, ActionExpired, by))
			if err != nil {
				return all, err
			}
			all.Put, all.Add = append(all.Put, w.Put...), append(all.Add, w.Add...)
		}
		return all, nil
	})
}
