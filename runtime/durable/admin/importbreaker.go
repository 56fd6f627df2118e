package admin

import (
	"context"

	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// ImportBreaker records the state of a breaker that another system has recorded.
// Steps and connected processes with a breaker of this name continue from it. A
// breaker that the store has already stays as it is, so that importing again changes
// nothing: added is false.
func (c *Client) ImportBreaker(
	ctx context.Context, name string, s breaker.Snapshot, by ...events.Operator,
) (added bool, err error) {
	key := c.ns.Key(storage.KindBreaker, "", name)
	err = c.ns.Update(ctx, []storage.Key{key}, func(tx storage.Tx) (w storage.Writes, err error) {
		r := tx.Record(key)
		if added = r.Version == 0; !added {
			return w, nil
		}
		own := breaker.Snapshot{State: s.State, Failures: s.Failures, OpenUntil: s.OpenUntil.UTC(), Reopened: s.Reopened}
		if err := record.PutBreaker(&w, r, &own, tx.Now); err != nil {
			return w, err
		}
		w.Add = append(w.Add, newAudit(r, tx.Now, ActionImported, operator(by)))
		return w, nil
	})
	return added, err
}
