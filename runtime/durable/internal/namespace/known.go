package namespace

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A Known is a run as its owner last saw it in the store.
type Known struct {
	// Record was read, or is what a transaction has stored: not what an update wrote that
	// has shared its transaction, in which another one may have changed the run, too.
	Record storage.Record
	Now    func() time.Time // the time of the store, as far as the owner knows it
}

// UpdateKnown is [Namespace.Update] for a run whose record the caller knows. A store that
// is a [storage.Swapper] replaces it without locks and in one round trip, unless it was
// changed meanwhile, and unless decide changes what a Swapper does not write or what
// somebody is to be notified of. decide may thus be called with the known record, and again
// with the one of the store.
func (n *Namespace) UpdateKnown(
	ctx context.Context, known Known, decide func(storage.Tx) (storage.Writes, error),
) error {
	return n.updates.do(ctx, &item{
		keys: []storage.Key{known.Record.Key}, known: &known, decide: decide, turn: make(chan struct{}, 1),
	})
}

// swap replaces the known records of a batch, and ends their items. An item whose record
// was changed, or may have been, is left for a transaction: if it has replaced the record
// itself, its decision finds that.
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
		it.known = nil // one try
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

// replacement returns what it makes of the record that it knows, if that is all it does.
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
