package durable

import (
	"context"

	retry "github.com/retrygen/retrygen/runtime"
)

// ImportBreaker records the state of a breaker that another system has recorded.
// Steps and connected processes with a breaker of this name continue from it. A
// breaker that the store has already stays as it is, so that importing again changes
// nothing: added is false.
func (e *Engine) ImportBreaker(
	ctx context.Context, name string, s retry.BreakerSnapshot, by ...Operator,
) (added bool, err error) {
	key := e.key(KindBreaker, "", name)
	err = e.update(ctx, []Key{key}, func(tx Tx) (w Writes, err error) {
		r := tx.Record(key)
		if added = r.Version == 0; !added {
			return w, nil
		}
		own := retry.BreakerSnapshot{State: s.State, Failures: s.Failures, OpenUntil: s.OpenUntil.UTC(), Reopened: s.Reopened}
		if err := putBreaker(&w, r, &own, tx.Now); err != nil {
			return w, err
		}
		w.Add = append(w.Add, newAudit(r, tx.Now, ActionImported, operator(by)))
		return w, nil
	})
	return added, err
}
