package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

const (
	// few is the number of records up to which each has a statement of its own,
	// which is faster than one statement with arrays.
	few = 8

	tripTimeout   = 30 * time.Second // for a connection, and for all locks of an update
	commitTimeout = 30 * time.Second // for the answer to a commit
	undoTimeout   = 5 * time.Second  // for that to a rollback
)

// Update implements [storage.Store]. It takes two round trips. The first one locks and
// reads the records. The second one writes and commits. It waits up to 10s for a lock.
// After a conflict, a lost connection or a server restart, it repeats the update. If the
// commit had already been sent, it returns an error that matches [storage.ErrUnknown]
// instead.
func (s *Store) Update(
	ctx context.Context, sel storage.Select, decide func(storage.Tx) (storage.Writes, error),
) error {
	if len(sel.Keys)+len(sel.Queries) == 0 {
		return s.fail(ctx, errors.New("a selection without keys and queries"))
	}
	var decision error // of decide
	_, err := retry.Do(ctx, &policy, func(ctx context.Context) (_ struct{}, err error) {
		decision, err = s.attempt(ctx, sel, decide)
		return struct{}{}, err
	})
	if err != nil {
		return s.fail(ctx, err)
	}
	return decision
}

// attempt runs one transaction. decision is the error of decide.
func (s *Store) attempt(
	ctx context.Context, sel storage.Select, decide func(storage.Tx) (storage.Writes, error),
) (decision, err error) {
	patient, cancel := context.WithTimeout(ctx, tripTimeout)
	defer cancel()
	pool := s.pool
	if isLease(sel) {
		pool = s.leases
	}
	c, err := s.acquire(patient, pool)
	if err != nil {
		return nil, err
	}
	defer c.Release()
	tx, err := s.load(patient, c, sel)
	if err != nil {
		rollback(c)
		return nil, err
	}
	w, err := tx.Decide(decide)
	if err != nil {
		rollback(c)
		return err, nil
	}
	return nil, s.commit(ctx, c, &tx, w)
}

// isLease reports whether sel is that of a renewal, which has a connection of its
// own: a lease must not end because the pool is exhausted.
func isLease(sel storage.Select) bool {
	return len(sel.Queries) == 0 &&
		!slices.ContainsFunc(sel.Keys, func(k storage.Key) bool { return k.Kind != storage.KindOwner })
}

// load begins the transaction, locks the records and reads them, and then the time:
// a time that a statement returns with the lock is that before its wait.
func (s *Store) load(ctx context.Context, c *pgxpool.Conn, sel storage.Select) (tx storage.Tx, err error) {
	b := &pgx.Batch{}
	b.Queue(begin)
	s.set(b, slices.ContainsFunc(sel.Queries, needsPlan))
	tx.Records = s.lock(b, sel.Keys)
	pages := make([]recordPage, len(sel.Queries))
	for i, q := range sel.Queries {
		if err := s.claim(b, q, overlap(sel, i), &pages[i]); err != nil {
			return tx, err
		}
	}
	b.Queue(s.texts.state).QueryRow(func(row pgx.Row) error { return s.checkState(row, &tx.Now) })
	if err := s.trip(ctx, c, b); err != nil {
		return tx, err
	}
	spread(sel.Keys, tx.Records)
	tx.Records = distinctRecords(tx.Records, sel.Queries, pages)
	return tx, nil
}

// lock queues the statements that lock the records of keys, in the order of keys
// and each once. It returns the records, which the statements fill.
func (s *Store) lock(b *pgx.Batch, keys []storage.Key) []storage.Record {
	records := make([]storage.Record, len(keys))
	for i, key := range keys {
		records[i].Key = key
	}
	at := make([]int, 0, len(keys))
	for i, key := range keys {
		if isTextKey(key) {
			at = append(at, i)
		}
	}
	s.queue(b, records, distinct(keys, at), true)
	return records
}

// queue queues the statements that read the records at some positions into them,
// and lock them in this order if locked is set.
func (s *Store) queue(b *pgx.Batch, records []storage.Record, at []int, locked bool) {
	if len(at) <= few {
		for _, i := range at {
			r := &records[i]
			table := s.texts.table(r.Key.Kind)
			text := table.get
			if locked {
				text = table.lock
			}
			b.Queue(text, keyArguments(r.Key)...).Query(func(rows pgx.Rows) error {
				for rows.Next() {
					if err := scan(rows, r); err != nil {
						return err
					}
				}
				return rows.Err()
			})
		}
		return
	}
	for group := range byTable(s, at, func(i int) storage.Kind { return records[i].Key.Kind }) {
		rows := make([][]any, len(group.items))
		for n, i := range group.items {
			rows[n] = keyArguments(records[i].Key)
		}
		text := group.table.getMany
		if locked {
			text = group.table.lockMany
		}
		b.Queue(text, arrays(rows)...).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var n int64
				r := storage.Record{Key: storage.Key{Kind: records[group.items[0]].Key.Kind}}
				if err := scan(rows, &r, &n); err != nil {
					return err
				}
				r.Key = records[group.items[n]].Key
				records[group.items[n]] = r
			}
			return rows.Err()
		})
	}
}

// spread copies each record to the positions of the same key.
func spread(keys []storage.Key, records []storage.Record) {
	if len(keys) < 2 {
		return
	}
	first := make(map[storage.Key]int, len(keys))
	for i, key := range keys {
		if at, found := first[key]; found && records[at].Version > 0 {
			records[i] = records[at]
			records[i].Body = slices.Clone(records[at].Body)
		} else if !found {
			first[key] = i
		}
	}
}

// commit writes w and commits it, in one round trip.
func (s *Store) commit(ctx context.Context, c *pgxpool.Conn, tx *storage.Tx, w storage.Writes) error {
	b := &pgx.Batch{}
	if err := s.write(b, tx.Records, w); err != nil {
		rollback(c)
		return err
	}
	writes := b.Len() > 0
	for _, space := range tx.Notifies(w) {
		if len(space) < maxPayload {
			b.Queue(s.texts.notify, s.channel, space)
		}
	}
	b.Queue("COMMIT")
	// The end of ctx does not end a commit: nobody would know what has become of it.
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	err := s.trip(patient, c, b)
	if err == nil {
		err = unreplicated(c.Conn().PgConn())
	}
	switch {
	case err == nil:
		return nil
	case isRefused(err): // by the server, so that COMMIT was skipped
		rollback(c)
		return s.addMonths(patient, c, err, w)
	case !writes:
		return err
	}
	return &unknownError{err}
}

// rollback ends a transaction after an error. If it fails, the connection is closed
// when it is released, which ends the transaction as well.
func rollback(c *pgxpool.Conn) {
	if c.Conn().IsClosed() || c.Conn().PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), undoTimeout)
	defer cancel()
	_, _ = c.Exec(ctx, "ROLLBACK")
}
