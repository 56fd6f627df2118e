package namespace

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A Known is a run in the state in which its owner last saw it.
type Known struct {
	// Record was read from the store, or is what a transaction has stored. The writes of an
	// update that shared its transaction are not enough, because another update in the
	// transaction may have changed the run, too.
	Record storage.Record
	Now    func() time.Time // the time of the store, as estimated by the owner
}

// UpdateKnown is [Namespace.Update] for a run whose record the caller knows. If the store is a
// [storage.Swapper], it replaces the record without locks and in one round trip. This works
// only if the record has not changed in the meantime, if decide changes only fields that a
// Swapper writes, and if nobody has to be notified of the change. In all other cases, decide is
// called a second time, with the record in the store.
func (n *Namespace) UpdateKnown(
	ctx context.Context, known Known, decide func(storage.Tx) (storage.Writes, error),
) error {
	return n.updates.do(ctx, &item{
		keys: []storage.Key{known.Record.Key}, known: &known, decide: decide, turn: make(chan struct{}, 1),
	})
}

// swap replaces the known records of a batch, and ends the items whose records it has replaced.
// An item whose record was changed, or may have been changed, remains for a transaction. If the
// swap did replace the record although its reply was lost, the decision finds its own writes in
// this transaction.
func (c *coalescer) swap(ctx context.Context, batch []*item) {
	store, ok := c.store.(storage.Swapper)
	if !ok {
		return
	}
	var items []*item
	var runs []storage.Record
	var now time.Time
	taken := map[storage.Key]bool{}
	for _, it := range batch {
		if it.known == nil || it.ended {
			continue
		}
		if now.IsZero() {
			now = it.known.Now()
		}
		if r, ok := it.replacement(now); ok && !taken[r.Key] {
			items, runs = append(items, it), append(runs, r)
			taken[r.Key] = true
		}
		it.known = nil // only one attempt
	}
	if len(items) == 0 {
		return
	}
	swapped, err := store.Swap(ctx, now, runs)
	unknown := errors.Is(err, storage.ErrUnknown)
	for i, it := range items {
		if it.unknown = it.unknown || unknown; err == nil && swapped[i] {
			it.end(nil)
		}
	}
}

// replacement returns the new record that the item decides on, given the known record. ok is
// false if the item does anything else.
func (it *item) replacement(now time.Time) (r storage.Record, ok bool) {
	known := it.known.Record
	tx := storage.Tx{Now: now, Records: []storage.Record{known}}
	w, err := tx.Decide(it.propose)
	if err != nil || len(w.Put) != 1 || len(w.Add)+len(w.Delete)+len(w.Clear) > 0 || len(tx.Notifies(w)) > 0 {
		return r, false
	}
	return w.Put[0], storage.Swaps(&known, &w.Put[0])
}

// unended returns the items of a batch that have not ended.
func unended(batch []*item) []*item {
	if !slices.ContainsFunc(batch, func(it *item) bool { return it.ended }) {
		return batch
	}
	return slices.DeleteFunc(slices.Clone(batch), func(it *item) bool { return it.ended })
}
