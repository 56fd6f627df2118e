package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// Get implements [storage.Store], in one round trip.
func (s *Store) Get(ctx context.Context, keys []storage.Key) ([]storage.Record, error) {
	var records []storage.Record
	err := s.view(ctx, false, func(b *pgx.Batch) error {
		records = make([]storage.Record, len(keys))
		at := make([]int, 0, len(keys))
		for i, key := range keys {
			if records[i].Key = key; isTextKey(key) {
				at = append(at, i)
			}
		}
		s.queue(b, records, distinct(keys, at), false)
		return nil
	})
	if err != nil {
		return nil, err
	}
	spread(keys, records)
	return records, nil
}

// List implements [storage.Store], in one round trip.
func (s *Store) List(ctx context.Context, q storage.Query) ([]storage.Record, storage.Cursor, error) {
	var page recordPage
	err := s.view(ctx, true, func(b *pgx.Batch) error {
		if merged(q) {
			b.Queue(noSort)
		}
		return s.find(b, q, listOrder(q), pageSize(q.Limit)+1, "", &page) // one more, to see whether there are more
	})
	if err != nil {
		return nil, "", err
	}
	records, next := page.cut(q)
	return records, next, nil
}

// History implements [storage.Store], in one round trip.
func (s *Store) History(
	ctx context.Context, step storage.Key, from storage.Cursor,
) ([]storage.Entry, storage.Cursor, error) {
	var page entryPage
	err := s.view(ctx, false, func(b *pgx.Batch) error { return s.history(b, step, from, &page) })
	if err != nil {
		return nil, "", err
	}
	entries, next := page.cut()
	return entries, next, nil
}

// Entries implements [storage.Store], in one round trip.
func (s *Store) Entries(ctx context.Context, after storage.Entry, limit int) ([]storage.Entry, error) {
	var page entryPage
	err := s.view(ctx, true, func(b *pgx.Batch) error { return s.following(b, after, limit, &page) })
	if err != nil {
		return nil, err
	}
	return page.entries, nil
}

// view sends the statements that queue queues, in one round trip and one
// transaction. query says whether their plans depend on their arguments.
func (s *Store) view(ctx context.Context, query bool, queue func(*pgx.Batch) error) error {
	_, err := retry.Do(ctx, &policy, func(ctx context.Context) (struct{}, error) {
		ctx, cancel := context.WithTimeout(ctx, tripTimeout)
		defer cancel()
		b := &pgx.Batch{}
		s.set(b, query)
		b.Queue(s.texts.oldest).QueryRow(func(row pgx.Row) error { return s.checkOldest(row) })
		if err := queue(b); err != nil {
			return struct{}{}, err
		}
		c, err := s.acquire(ctx, s.pool)
		if err != nil {
			return struct{}{}, err
		}
		defer c.Release()
		return struct{}{}, s.trip(ctx, c, b)
	})
	return s.fail(ctx, err)
}

type recordPage struct {
	records []storage.Record
}

// cut returns the records of a page, and the cursor of the next or "".
func (p *recordPage) cut(q storage.Query) ([]storage.Record, storage.Cursor) {
	limit := pageSize(q.Limit)
	if len(p.records) <= limit {
		return p.records, ""
	}
	return p.records[:limit], q.After(p.records[limit-1])
}

// find queues the statement of a query, which locks the records if locking says so.
func (s *Store) find(
	b *pgx.Batch, q storage.Query, order string, limit int, locking string, page *recordPage,
) error {
	q.Brief = q.Brief && q.Order == storage.OrderKey // a cursor of another order has more
	text, args, err := s.querySQL(q, order, locking)
	if err != nil || text == "" {
		return err
	}
	read := scan
	if q.Brief {
		read = scanBrief
	}
	b.Queue(text, append(args, limit)...).Query(func(rows pgx.Rows) error {
		page.records = nil
		for rows.Next() {
			r := storage.Record{Key: storage.Key{Kind: q.Kind, Space: q.Space}}
			if err := read(rows, &r, &r.Key.Run, &r.Key.ID); err != nil {
				return err
			}
			page.records = append(page.records, r)
		}
		return rows.Err()
	})
	return nil
}
