package admin

import (
	"context"

	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// ImportBreaker records the state of a breaker from another system. Steps and connected
// processes that use a breaker of this name continue from this state. If the store
// already has the breaker, ImportBreaker does not change it and added is false, so
// importing again has no effect.
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
