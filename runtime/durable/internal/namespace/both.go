package namespace

import (
	"context"
	"slices"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A Decision is an update of the records with the given keys.
type Decision struct {
	Keys   []storage.Key
	Decide func(storage.Tx) (storage.Writes, error)
}

// UpdateBoth is [Namespace.Update] for two decisions in one transaction. The second
// decision sees the writes of the first. If the first returns an error, nothing is
// written and the second is not called. If the second returns an error, the writes of the
// first remain. UpdateBoth reports whether the first decision was committed.
func (n *Namespace) UpdateBoth(ctx context.Context, first, second Decision) (committed bool, err error) {
	one, two := &item{keys: first.Keys, decide: first.Decide}, &item{keys: second.Keys, decide: second.Decide}
	keys := slices.Concat(first.Keys, second.Keys)
	slices.SortFunc(keys, storage.Key.Compare)
	var refused error
	err = n.Update(ctx, slices.Compact(keys), func(tx storage.Tx) (storage.Writes, error) {
		v := newView(tx)
		if err := v.apply(one); err != nil {
			return storage.Writes{}, err
		}
		refused = v.apply(two)
		return v.writes(), nil
	})
	if err != nil {
		return false, err
	}
	return true, refused
}
