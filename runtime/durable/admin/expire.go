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

// Expire deletes the inputs, the results and the history of all runs that have ended
// and whose time has passed: see durable.Retention and durable.FailedRetention. Engines
// do so as well, with each renewal of their lease. If before is not zero, the runs that
// ended earlier than that are deleted, too, however long they were to be kept; the audit
// of these runs has by. Runs with dead letters or steps in doubt stay. The ids of the
// deleted runs are returned as it happens; to stop, end the loop. An error ends the
// sequence.
func (c *Client) Expire(ctx context.Context, before time.Time, by ...events.Operator) iter.Seq2[string, error] {
	due := storage.Query{Kind: storage.KindRun, Space: c.ns.Space, Status: namespace.Expiring, DueBy: time.Now()}
	early := storage.Query{Kind: storage.KindRun, Space: c.ns.Space, Status: namespace.Ends}
	never := func() bool { return false }
	return func(yield func(string, error) bool) {
		expire := func(r storage.Record) error {
			if err := c.shorten(ctx, r, before, operator(by)); err != nil {
				return err
			}
			if _, err := c.ns.ExpireRun(ctx, r, never); err != nil {
				return err
			}
			records, err := c.ns.Store.Get(ctx, []storage.Key{r.Key})
			if err == nil && records[0].Status == storage.StatusExpired && !yield(r.Key.Run, nil) {
				return errStopped
			}
			return err
		}
		err := c.ns.Each(ctx, due, expire)
		if err == nil && !before.IsZero() {
			err = c.ns.Each(ctx, early, expire)
		}
		if err != nil && err != errStopped {
			yield("", err)
		}
	}
}

// shorten makes the results of a run that ended before a time due for deletion.
func (c *Client) shorten(ctx context.Context, r storage.Record, before time.Time, by events.Operator) error {
	b, err := record.Decode[record.Run](r)
	if err != nil || before.IsZero() || !b.Ended.Before(before) {
		return err
	}
	return c.ns.Update(ctx, []storage.Key{r.Key}, func(tx storage.Tx) (storage.Writes, error) {
		r := tx.Record(r.Key)
		b, err := record.Decode[record.Run](r)
		if err != nil || !slices.Contains(namespace.Ends, r.Status) || !b.Ended.Before(before) || !r.Due.After(tx.Now) {
			return storage.Writes{}, err
		}
		r.Due = tx.Now
		return writeRun(r, &b, newAudit(r, tx.Now, ActionExpired, by))
	})
}
