package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A Store is a [storage.Store] for tests, and for runs that need not survive their
// process. Several engines may share it. It uses the clock of the process. In a test with
// testing/synctest, this is the clock of the bubble.
type Store struct {
	mu      sync.Mutex
	closed  bool
	records map[storage.Key]storage.Record
	keys    keyList                         // of records
	due     dueList                         // of records
	labels  labelList                       // of records
	created createdList                     // of records
	entries map[storage.Key][]storage.Entry // of a step, by Attempt and Part
	locks   map[storage.Key][]waiter        // of the locked keys: who waits, longest first

	listeners map[string][]chan struct{} // by namespace: see Notifications
}

// A waiter is closed when its owner holds the lock.
type waiter chan struct{}

var errClosed = fmt.Errorf("%w: it is closed", storage.ErrStore)

// New returns an empty store.
func New() *Store {
	return &Store{
		records: map[storage.Key]storage.Record{}, entries: map[storage.Key][]storage.Entry{},
		locks:     map[storage.Key][]waiter{},
		listeners: map[string][]chan struct{}{},
	}
}

// Update implements [storage.Store].
func (m *Store) Update(ctx context.Context, sel storage.Select, decide func(storage.Tx) (storage.Writes, error)) error {
	spaces, err := m.update(ctx, sel, decide)
	m.notify(spaces) // once the locks are released: a claim passes over records that are locked
	return err
}

// update is Update without notifications. It returns the namespaces whose listeners get
// one.
func (m *Store) update(
	ctx context.Context, sel storage.Select, decide func(storage.Tx) (storage.Writes, error),
) (spaces []string, err error) {
	locked, found, err := m.lock(ctx, sel)
	if err != nil {
		return nil, err
	}
	defer m.unlock(locked)
	defer m.unlock(found)
	records, err := m.Get(ctx, slices.Concat(sel.Keys, found))
	if err != nil {
		return nil, err
	}
	tx := storage.Tx{Now: stored(time.Now()), Records: records}
	w, err := tx.Decide(decide)
	if err != nil {
		return nil, err
	}
	if err := m.commit(w); err != nil {
		return nil, err
	}
	return tx.Notifies(w), nil
}

// lock locks what sel selects. It returns the distinct keys of sel.Keys, and the
// keys of what the queries have found.
func (m *Store) lock(ctx context.Context, sel storage.Select) (keys, found []storage.Key, err error) {
	if len(sel.Keys)+len(sel.Queries) == 0 {
		return nil, nil, fmt.Errorf("%w: a selection without keys and queries", storage.ErrStore)
	}
	keys = slices.Compact(slices.SortedFunc(slices.Values(sel.Keys), storage.Key.Compare))
	for i, key := range keys {
		if err := m.lockKey(ctx, key); err != nil {
			m.unlock(keys[:i])
			return nil, nil, err
		}
	}
	if found, err = m.lockFound(ctx, sel.Queries); err != nil {
		m.unlock(keys)
		return nil, nil, err
	}
	return keys, found, nil
}

// lockKey waits for the lock of key.
func (m *Store) lockKey(ctx context.Context, key storage.Key) error {
	m.mu.Lock()
	if err := m.usable(ctx); err != nil {
		m.mu.Unlock()
		return err
	}
	waiters, taken := m.locks[key]
	if !taken {
		m.locks[key] = nil
		m.mu.Unlock()
		return nil
	}
	w := make(waiter)
	m.locks[key] = append(waiters, w)
	m.mu.Unlock()
	select {
	case <-w:
		return nil
	case <-ctx.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := slices.Index(m.locks[key], w); i >= 0 {
		m.locks[key] = slices.Delete(m.locks[key], i, i+1)
	} else {
		m.release(key) // the lock came meanwhile
	}
	return m.usable(ctx)
}

// lockFound locks the records that queries select, except those that are locked.
func (m *Store) lockFound(ctx context.Context, queries []storage.Query) (found []storage.Key, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	for _, q := range queries {
		q.Order = storage.OrderKey
		keys := m.claimable(q)
		for _, key := range keys {
			m.locks[key] = nil
		}
		found = append(found, keys...)
	}
	return found, nil
}

// claimable returns the keys of the records that q selects in an update. m.mu is
// held.
func (m *Store) claimable(q storage.Query) (keys []storage.Key) {
	limit := page(q.Limit)
	add := func(key storage.Key) bool {
		if _, taken := m.locks[key]; !taken && q.Selects(m.records[key]) {
			keys = append(keys, key)
		}
		return len(keys) < limit
	}
	if !q.DueBy.IsZero() && len(q.Handlers) == 1 && q.Run == "" && q.From == "" {
		m.due.due(q.Kind, q.Space, q.Handlers[0], q.DueBy, add)
		return keys
	}
	for key := range m.candidates(q) {
		if !covers(&q, key) || !add(key) && q.DueBy.IsZero() {
			break
		}
	}
	if !q.DueBy.IsZero() {
		slices.SortStableFunc(keys, func(a, b storage.Key) int {
			first, second := m.records[a], m.records[b]
			return cmp.Or(cmp.Compare(second.Priority, first.Priority), first.Due.Compare(second.Due))
		})
	}
	return keys[:min(limit, len(keys))]
}

// unlock releases the locks of keys.
func (m *Store) unlock(keys []storage.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range keys {
		m.release(key)
	}
}

// release passes the lock of key on to who has waited longest. m.mu is held.
func (m *Store) release(key storage.Key) {
	waiters := m.locks[key]
	if len(waiters) == 0 {
		delete(m.locks, key)
		return
	}
	close(waiters[0])
	m.locks[key] = waiters[1:]
}

// usable returns why nothing can be done. m.mu is held.
func (m *Store) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", storage.ErrStore, err)
	}
	if m.closed {
		return errClosed
	}
	return nil
}

// commit applies w.
func (m *Store) commit(w storage.Writes) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return errClosed
	}
	for _, run := range w.Clear {
		for _, kind := range storage.ClearedKinds {
			for _, key := range slices.Collect(m.keys.ofRun(storage.Key{Kind: kind, Space: run.Space, Run: run.Run})) {
				m.remove(key)
			}
		}
	}
	for _, key := range w.Delete {
		m.remove(key)
	}
	for _, r := range w.Put {
		r = cloned(r)
		m.due.replace(m.records[r.Key], r)
		m.labels.replace(m.records[r.Key], r)
		m.created.replace(m.records[r.Key], r)
		m.records[r.Key] = r
		m.keys.insert(r.Key)
	}
	for _, e := range w.Add {
		all := m.entries[e.Step]
		at, found := slices.BinarySearchFunc(all, e, storage.Entry.Compare)
		if !found {
			m.entries[e.Step] = slices.Insert(all, at, clonedEntry(e))
		}
	}
	return nil
}

// remove deletes a record and its entries. m.mu is held.
func (m *Store) remove(key storage.Key) {
	m.due.replace(m.records[key], storage.Record{})
	m.labels.replace(m.records[key], storage.Record{})
	m.created.replace(m.records[key], storage.Record{})
	delete(m.records, key)
	delete(m.entries, key)
	m.keys.remove(key)
}

// Get implements [storage.Store].
func (m *Store) Get(ctx context.Context, keys []storage.Key) ([]storage.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	records := make([]storage.Record, len(keys))
	for i, key := range keys {
		records[i] = cloned(m.records[key])
		records[i].Key = key
	}
	return records, nil
}

// List implements [storage.Store].
func (m *Store) List(ctx context.Context, q storage.Query) ([]storage.Record, storage.Cursor, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, "", err
	}
	if _, err := q.Position(); err != nil {
		return nil, "", err
	}
	keys, more := m.find(q)
	records := make([]storage.Record, len(keys))
	for i, key := range keys {
		records[i] = cloned(m.records[key])
	}
	if !more {
		return records, "", nil
	}
	return records, q.After(records[len(records)-1]), nil
}

// History implements [storage.Store].
func (m *Store) History(
	ctx context.Context, step storage.Key, from storage.Cursor,
) ([]storage.Entry, storage.Cursor, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, "", err
	}
	rest := m.entries[step]
	if from != "" {
		var last storage.Entry
		if _, err := fmt.Sscanf(string(from), "%d.%d", &last.Attempt, &last.Part); err != nil {
			return nil, "", fmt.Errorf("%w: %.100q is not a cursor of a history", storage.ErrStore, string(from))
		}
		at, found := slices.BinarySearchFunc(rest, last, storage.Entry.Compare)
		if found {
			at++
		}
		rest = rest[at:]
	}
	size := min(len(rest), storage.MaxPage)
	entries := make([]storage.Entry, size)
	for i, e := range rest[:size] {
		entries[i] = clonedEntry(e)
	}
	if size == len(rest) {
		return entries, "", nil
	}
	last := entries[size-1]
	return entries, storage.Cursor(fmt.Sprintf("%d.%d", last.Attempt, last.Part)), nil
}

// Entries implements [storage.Store].
func (m *Store) Entries(ctx context.Context, after storage.Entry, limit int) (entries []storage.Entry, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	limit = page(limit)
	for key := range m.keys.after(after.Step) {
		if key.Kind != after.Step.Kind || key.Space != after.Step.Space {
			break
		}
		for _, e := range m.entries[key] {
			if key == after.Step && e.Compare(after) <= 0 {
				continue
			}
			if len(entries) == limit {
				return entries, nil
			}
			e.Result = nil
			entries = append(entries, clonedEntry(e))
		}
	}
	return entries, nil
}

// Guarantee implements [storage.Store]. The records do not survive the process.
func (m *Store) Guarantee() storage.Guarantee {
	return storage.Guarantee{Shared: storage.SharedByProcess}
}

// Close implements [storage.Store]. Later calls fail.
func (m *Store) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	for _, listeners := range m.listeners {
		for _, c := range listeners {
			close(c)
		}
	}
	clear(m.listeners)
	return nil
}

// cloned returns a copy as a database would return it: with times in UTC.
func cloned(r storage.Record) storage.Record {
	r.Due, r.Bucket = stored(r.Due), stored(r.Bucket)
	r.Created, r.Claimed, r.Ended, r.Deadline = stored(r.Created), stored(r.Claimed), stored(r.Ended), stored(r.Deadline)
	r.Body, r.Input, r.Result = bytes.Clone(r.Body), bytes.Clone(r.Input), bytes.Clone(r.Result)
	return r
}

func clonedEntry(e storage.Entry) storage.Entry {
	e.At, e.Bucket = stored(e.At), stored(e.Bucket)
	e.Body, e.Result = bytes.Clone(e.Body), bytes.Clone(e.Result)
	return e
}

// stored returns t without its zone and its monotonic reading.
func stored(t time.Time) time.Time { return t.UTC().Round(0) }
