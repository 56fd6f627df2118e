package namespace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

const (
	maxBatch   = 256                    // maximum number of updates in a transaction
	maxRepeats = 3                      // maximum number of repetitions of a batch after a lost reply
	firstPause = 100 * time.Millisecond // wait before the first repetition; doubled for each of the next
	grace      = 30 * time.Second       // time for a transaction after the end of a caller's context
)

// A coalescer lets concurrent updates of a store share transactions. Callers wait in a queue.
// One of them, the leader, takes the updates in the queue and sends them in one transaction.
// Then the next caller in the queue becomes the leader. A single caller does not wait for
// others. The coalescer starts no goroutines: all work is done by the callers.
type coalescer struct {
	store storage.Store

	mu    sync.Mutex
	queue []*item
	led   bool // there is a leader, or a caller was asked to lead
}

// An item is an update in the queue, or in a leader's batch. Only the leader uses the fields
// after turn.
type item struct {
	keys  []storage.Key
	known *Known        // the record of the only key, or nil
	turn  chan struct{} // receives a value when the item is to lead; closed when the item has ended

	mu     sync.Mutex
	decide func(storage.Tx) (storage.Writes, error) // nil after the caller has left

	ended   bool
	err     error // the error of the update, after it has ended
	refused error // the error of the latest call of decide
	unknown bool  // a reply was lost, so the update may have been committed
}

func newCoalescer(s storage.Store) *coalescer { return &coalescer{store: s} }

// update is [storage.Store.Update] for records that are selected by their keys. It calls decide
// again after a lost reply. A decide that finds its own writes must return no error.
//
// If ctx ends before the update was sent, update returns an error that matches
// [storage.ErrStore] and the error of ctx. After that, the end of ctx does not stop the update.
// update then returns its result or, after 30s, an error that matches [storage.ErrUnknown]. If
// ctx is graced, there are no 30s: its end ends the update immediately. decide is not called
// after update has returned.
func (c *coalescer) update(
	ctx context.Context, keys []storage.Key, decide func(storage.Tx) (storage.Writes, error),
) error {
	return c.do(ctx, &item{keys: keys, decide: decide, turn: make(chan struct{}, 1)})
}

// do does the same as update, for an item.
func (c *coalescer) do(ctx context.Context, it *item) error {
	if ctx.Err() != nil {
		return it.abandoned(ctx)
	}
	c.mu.Lock()
	c.queue = append(c.queue, it)
	wait := c.led
	c.led = true
	c.mu.Unlock()
	if wait {
		return c.wait(ctx, it)
	}
	return c.leadFor(ctx, it)
}

// wait waits until the item has ended or becomes the leader.
func (c *coalescer) wait(ctx context.Context, it *item) error {
	select {
	case _, lead := <-it.turn:
		if lead {
			return c.leadFor(ctx, it)
		}
		return it.err
	case <-ctx.Done():
	}
	if c.withdraw(it) {
		return it.abandoned(ctx)
	}
	patient, cancel := WithGrace(ctx)
	defer cancel()
	select {
	case _, lead := <-it.turn:
		if lead { // the previous leader is gone
			return c.lead(patient, it)
		}
		return it.err
	case <-patient.Done():
	}
	if c.withdraw(it) { // the previous leader is gone
		return it.abandoned(ctx)
	}
	it.mu.Lock()
	it.decide = nil // decide may use variables of the caller
	it.mu.Unlock()
	return fmt.Errorf("%w: %w", storage.ErrUnknown, ctx.Err())
}

// leadFor leads until 30s after the end of ctx.
func (c *coalescer) leadFor(ctx context.Context, it *item) error {
	patient, cancel := WithGrace(ctx)
	defer cancel()
	return c.lead(patient, it)
}

// A graced context already includes the grace period, so its end ends updates immediately.
type graced struct{ context.Context }

// WithoutGrace returns a copy of ctx that [WithGrace] does not extend.
func WithoutGrace(ctx context.Context) context.Context { return graced{ctx} }

// WithGrace returns a context that ends 30s after ctx, or 30s from now if ctx has already
// ended. Use it for updates that must be recorded although the caller is gone. Calls that
// use the returned context do not extend it again.
func WithGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.(graced); ok || ctx.Done() == nil {
		return ctx, func() {}
	}
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return graced{inner}, func() { stop(); cancel() }
}

// withdraw removes the item from the queue, and reports whether it was there.
func (c *coalescer) withdraw(it *item) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.queue, it)
	if i < 0 {
		return false
	}
	c.queue = slices.Delete(c.queue, i, i+1)
	select {
	case <-it.turn: // it was asked to lead
		c.next()
	default:
	}
	return true
}

// lead sends a batch that begins with the item, which is the first in the queue. It stops when
// ctx ends. Then it passes the lead on.
func (c *coalescer) lead(ctx context.Context, it *item) error {
	c.mu.Lock()
	n := min(len(c.queue), maxBatch)
	batch := slices.Clone(c.queue[:n])
	c.queue = slices.Delete(c.queue, 0, n)
	c.mu.Unlock()

	defer c.handOver(it, batch) // even if the store panics
	c.send(ctx, batch)
	if !it.ended {
		return it.abandoned(ctx)
	}
	return it.err
}

// handOver returns the items that a leader has not finished to the queue, except its own item,
// and passes the lead on.
func (c *coalescer) handOver(leader *item, batch []*item) {
	rest := slices.DeleteFunc(batch, func(it *item) bool { return it.ended || it == leader })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = slices.Insert(c.queue, 0, rest...)
	c.next()
}

// next asks the first caller in the queue to lead. c.mu must be held.
func (c *coalescer) next() {
	if c.led = len(c.queue) > 0; c.led {
		c.queue[0].turn <- struct{}{}
	}
}

// send sends the items of a batch until they or ctx have ended.
func (c *coalescer) send(ctx context.Context, batch []*item) {
	err := c.try(ctx, batch)
	for n := range maxRepeats {
		if !errors.Is(err, storage.ErrUnknown) || !Pause(ctx, firstPause<<n) {
			break
		}
		err = c.try(ctx, batch)
	}
	batch = unended(batch)
	switch {
	case err != nil && ctx.Err() != nil:
		// The leader's caller has waited long enough. The next leader continues.
	case err == nil || len(batch) <= 1 || errors.Is(err, storage.ErrUnknown):
		for _, it := range batch {
			it.end(err)
		}
	default: // the store refused an item of the batch
		for i := range batch {
			c.send(ctx, batch[i:i+1])
		}
	}
}

// Pause waits for d. It returns false if ctx has ended.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// try sends a batch: first the items that need no locks, and then the others in one
// transaction.
func (c *coalescer) try(ctx context.Context, batch []*item) error {
	c.swap(ctx, batch)
	if batch = unended(batch); len(batch) == 0 {
		return nil
	}
	keys, decide := merge(batch)
	err := c.store.Update(ctx, storage.Select{Keys: keys}, decide)
	if errors.Is(err, storage.ErrUnknown) {
		for _, it := range batch {
			it.unknown = true
		}
	}
	return err
}

// merge returns the keys of a batch, and one decision for all of its items.
func merge(batch []*item) ([]storage.Key, func(storage.Tx) (storage.Writes, error)) {
	if len(batch) == 1 { // a single item sees the transaction itself
		it := batch[0]
		return it.keys, func(tx storage.Tx) (w storage.Writes, _ error) {
			if w, it.refused = tx.Decide(it.propose); it.refused != nil {
				return storage.Writes{}, nil
			}
			return w, nil
		}
	}
	var keys []storage.Key
	for _, it := range batch {
		keys = append(keys, it.keys...)
	}
	slices.SortFunc(keys, storage.Key.Compare)
	return slices.Compact(keys), func(tx storage.Tx) (storage.Writes, error) {
		v := newView(tx)
		for _, it := range batch {
			it.refused = v.apply(it)
		}
		return v.writes(), nil
	}
}

// end ends the item with the error that the store returned for its batch.
func (it *item) end(err error) {
	switch {
	case err == nil:
		err = it.refused
	case it.unknown && !errors.Is(err, storage.ErrUnknown):
		err = fmt.Errorf("%w: %w", storage.ErrUnknown, err) // an earlier transaction may have been committed
	}
	it.err, it.ended = err, true
	close(it.turn)
}

// propose calls decide, unless the caller has left.
func (it *item) propose(tx storage.Tx) (storage.Writes, error) {
	it.mu.Lock()
	defer it.mu.Unlock()
	if it.decide == nil {
		return storage.Writes{}, nil
	}
	w, err := it.decide(tx)
	if err == nil && len(w.Clear) > 0 {
		err = fmt.Errorf("%w: the decision clears a run, to which others may write in its transaction", storage.ErrStore)
	}
	return w, err
}

// abandoned returns the error of an item that ended because ctx has ended.
func (it *item) abandoned(ctx context.Context) error {
	if it.unknown {
		return fmt.Errorf("%w: %w", storage.ErrUnknown, ctx.Err())
	}
	return fmt.Errorf("%w: %w", storage.ErrStore, ctx.Err())
}

// A view is what the items of a batch see: the records of the transaction with the writes of
// the preceding items.
type view struct {
	tx      storage.Tx
	records []storage.Record // after the writes, in the order of the keys
	put     []bool           // records that were put and not deleted
	deleted []bool           // records that were deleted, and perhaps put again
	add     []storage.Entry
}

func newView(tx storage.Tx) *view {
	n := len(tx.Records)
	flags := make([]bool, 2*n)
	return &view{tx: tx, records: slices.Clone(tx.Records), put: flags[:n], deleted: flags[n:]}
}

// find returns the index of the record with the given key, which an item must have selected.
func (v *view) find(key storage.Key) int {
	i, _ := slices.BinarySearchFunc(
		v.records, key, func(r storage.Record, key storage.Key) int { return r.Key.Compare(key) },
	)
	return i
}

// apply calls the item's decide, and adds its writes to the view. If decide returns an error or
// panics, nothing is added.
func (v *view) apply(it *item) error {
	tx := storage.Tx{Now: v.tx.Now, Records: make([]storage.Record, len(it.keys))}
	for i, key := range it.keys {
		tx.Records[i] = v.records[v.find(key)]
	}
	w, err := tx.Decide(it.propose)
	if err != nil {
		return err
	}
	for _, key := range w.Delete {
		i := v.find(key)
		v.records[i], v.put[i], v.deleted[i] = storage.Record{Key: key}, false, true
		v.add = slices.DeleteFunc(v.add, func(e storage.Entry) bool { return e.Step == key })
	}
	for _, r := range w.Put {
		i := v.find(r.Key)
		r.Version = v.tx.Records[i].Version + 1 // one transaction raises the version once
		v.records[i], v.put[i] = r, true
	}
	v.add = append(v.add, w.Add...)
	return nil
}

// writes returns the writes of all items.
func (v *view) writes() storage.Writes {
	w := storage.Writes{Add: v.add}
	for i, r := range v.records {
		if v.put[i] {
			w.Put = append(w.Put, r)
		}
		if v.deleted[i] {
			w.Delete = append(w.Delete, r.Key)
		}
	}
	return w
}
