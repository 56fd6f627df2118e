package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// walLimit is the size of the WAL in bytes above which a batch begins with a
// checkpoint. Below this size, the automatic checkpoints of SQLite are sufficient.
const walLimit = 64 << 20

// A writer is the connection for batches. Its user must hold Store.lock.
type writer struct {
	mu      sync.Mutex // for Close, which does not wait for other processes
	session *session   // nil: the next batch opens it
	// checkpointAt is the size of the WAL in bytes above which the next batch
	// begins with a checkpoint; 0 means walLimit.
	checkpointAt int64
}

// Update implements [storage.Store]. Until ctx ends, it waits for earlier updates by all
// processes, and for other programs that lock the database. After a SQLite failure, the
// next update opens a new connection.
func (s *Store) Update(
	ctx context.Context, sel storage.Select, decide func(storage.Tx) (storage.Writes, error),
) error {
	if len(sel.Keys)+len(sel.Queries) == 0 {
		return s.fail(errors.New("a selection without keys and queries"))
	}
	if err := s.lock.acquire(ctx, s.closed); err != nil {
		return s.waiting(err)
	}
	defer s.lock.release()
	s.write.mu.Lock()
	defer s.write.mu.Unlock()
	if err := s.readyWriter(ctx); err != nil {
		return err
	}
	return s.batch(ctx, sel, decide)
}

// batch runs one transaction.
func (s *Store) batch(
	ctx context.Context, sel storage.Select, decide func(storage.Tx) (storage.Writes, error),
) error {
	var decision error // of decide
	c := s.write.session
	err := s.whenFree(ctx, func() error {
		return c.transact("BEGIN IMMEDIATE", func() error {
			tx, err := c.load(sel)
			if err != nil {
				return err
			}
			var w storage.Writes
			if w, decision = tx.Decide(decide); decision != nil {
				return decision
			}
			return c.apply(tx.Records, w)
		})
	})
	if err == nil || decision != nil {
		return decision
	}
	_ = s.closeWriter()
	if failure := (*commitError)(nil); errors.As(err, &failure) {
		return s.unknown(failure.cause)
	}
	return s.fail(err)
}

// load reads the records of an update, and then the time.
func (c *session) load(sel storage.Select) (tx storage.Tx, err error) {
	if err := c.checkWriter(latest(migrations)); err != nil {
		return tx, err
	}
	if tx.Records, err = c.get(sel.Keys); err != nil {
		return tx, err
	}
	if len(sel.Queries) > 0 {
		if tx.Records, err = c.find(tx.Records, sel.Queries); err != nil {
			return tx, err
		}
	}
	tx.Now = time.Now().UTC().Round(0)
	return tx, nil
}

// find adds what the queries of an update select to records. No record is locked:
// there is one update at a time.
func (c *session) find(records []storage.Record, queries []storage.Query) ([]storage.Record, error) {
	selected := make(map[storage.Key]bool, len(records))
	for _, r := range records {
		selected[r.Key] = true
	}
	for _, q := range queries {
		q.Order = storage.OrderKey
		q.Brief = false // what an update selects, it may write
		limit := pageSize(q.Limit)
		var found []storage.Record
		var err error
		if q.DueBy.IsZero() {
			found, err = c.matching(q, byKey, limit+len(records))
		} else {
			found, err = c.due(q, limit+len(records))
		}
		if err != nil {
			return nil, err
		}
		found = slices.DeleteFunc(found, func(r storage.Record) bool { return selected[r.Key] })
		for _, r := range found[:min(limit, len(found))] {
			selected[r.Key] = true
			records = append(records, r)
		}
	}
	return records, nil
}

// apply writes w. records are the stored ones.
func (c *session) apply(records []storage.Record, w storage.Writes) error {
	stored := make(map[storage.Key]storage.Record, len(records))
	for _, r := range records {
		stored[r.Key] = r
	}
	if err := c.clear(w.Clear); err != nil {
		return err
	}
	for _, key := range w.Delete {
		if err := c.delete(key); err != nil {
			return err
		}
		delete(stored, key)
	}
	for _, r := range w.Put {
		if same(stored[r.Key], r) { // a repeat costs no sync
			continue
		}
		if err := c.put(r); err != nil {
			return err
		}
	}
	for _, e := range w.Add {
		if err := c.add(e); err != nil {
			return err
		}
	}
	return nil
}

// readyWriter opens the connection for batches if needed, and limits the size of
// the WAL.
func (s *Store) readyWriter(ctx context.Context) error {
	if damage := s.damage.Load(); damage != nil {
		return *damage
	}
	select {
	case <-s.closed:
		return s.waiting(os.ErrClosed)
	default:
	}
	if !s.write.session.isOpen(s.path) {
		_ = s.closeWriter()
		if err := s.openWriter(ctx, false); err != nil {
			return err
		}
	}
	if err := s.checkpoint(); err != nil {
		_ = s.closeWriter()
		return s.fail(err)
	}
	return nil
}

// openWriter opens the connection for batches, and migrates an older database. The
// caller holds s.lock. An empty database is an error unless create is set, since it
// has replaced the database that was open.
func (s *Store) openWriter(ctx context.Context, create bool) error {
	mode := "rw"
	if create {
		mode = "rwc"
	}
	c, format, err := s.connect(ctx, mode)
	if err != nil {
		return err
	}
	if format == 0 && !create {
		_ = c.close()
		return refuse(s.path, "the database was replaced by an empty one: restore it, or open it again", nil)
	}
	err = s.whenFree(ctx, func() error {
		if err := c.writable(); err != nil || format >= latest(migrations) {
			return err
		}
		return c.migrate(migrations)
	})
	if err != nil {
		return s.fail(errors.Join(err, c.close()))
	}
	s.write.session = c
	return nil
}

// writable configures the connection for updates: WAL mode, and a sync for each
// commit.
func (c *session) writable() error {
	if err := c.exec("PRAGMA synchronous = FULL"); err != nil {
		return err
	}
	mode, err := value[string](c, "PRAGMA journal_mode = WAL")
	if err == nil && mode != "wal" {
		err = fmt.Errorf("the file system has no shared memory for SQLite's WAL: journal mode %s", mode)
	}
	return err
}

// closeWriter closes the connection for batches. After a failure its state is not
// known.
func (s *Store) closeWriter() error {
	c := s.write.session
	s.write.session = nil
	return c.close()
}

// checkpoint copies the WAL into the database and truncates it if it is above its
// limit. It grows so large if readers prevent the automatic checkpoints of SQLite.
// While they still read, the checkpoint is incomplete, and is repeated when the WAL
// has grown by 4 MiB.
func (s *Store) checkpoint() error {
	size := sizeOf(s.path + "-wal")
	if size <= max(walLimit, s.write.checkpointAt) {
		return nil
	}
	busy, err := value[int](s.write.session, "PRAGMA wal_checkpoint(TRUNCATE)")
	s.write.checkpointAt = 0
	if busy != 0 {
		s.write.checkpointAt = size + walLimit/16
	}
	return err
}
