package sqlite

import (
	"context"
	"errors"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// Get implements [storage.Store]. Reads share a second connection. They return the
// committed state and do not wait for updates.
func (s *Store) Get(ctx context.Context, keys []storage.Key) (records []storage.Record, err error) {
	err = s.view(ctx, func(c *session) error {
		records, err = c.get(keys)
		return err
	})
	return records, err
}

// List implements [storage.Store].
func (s *Store) List(ctx context.Context, q storage.Query) (records []storage.Record, next storage.Cursor, err error) {
	err = s.view(ctx, func(c *session) error {
		records, next, err = c.list(q)
		return err
	})
	return records, next, err
}

// History implements [storage.Store].
func (s *Store) History(
	ctx context.Context, step storage.Key, from storage.Cursor,
) (entries []storage.Entry, next storage.Cursor, err error) {
	err = s.view(ctx, func(c *session) error {
		entries, next, err = c.history(step, from)
		return err
	})
	return entries, next, err
}

// Entries implements [storage.Store].
func (s *Store) Entries(ctx context.Context, after storage.Entry, limit int) (entries []storage.Entry, err error) {
	err = s.view(ctx, func(c *session) error {
		entries, err = c.entries(after, limit)
		return err
	})
	return entries, err
}

// view calls f in a read transaction.
func (s *Store) view(ctx context.Context, f func(*session) error) error {
	if err := s.reading.take(ctx, s.closed); err != nil {
		return s.waiting(err)
	}
	defer s.reading.give()
	if !s.read.isOpen(s.path) {
		_ = s.closeReader()
		if err := s.openReader(ctx); err != nil {
			return err
		}
	}
	err := s.whenFree(ctx, func() error {
		return s.read.transact("BEGIN", func() error {
			if err := s.read.checkWriter(latest(migrations)); err != nil {
				return err
			}
			return f(s.read)
		})
	})
	if err != nil {
		_ = s.closeReader()
	}
	if failure := (*commitError)(nil); errors.As(err, &failure) { // a read commits nothing
		err = failure.cause
	}
	return s.fail(err)
}

// openReader opens the connection for reads. The caller holds s.reading.
func (s *Store) openReader(ctx context.Context) error {
	c, format, err := s.connect(ctx, "rw") // a reader has to write the index of the WAL
	if err != nil {
		return err
	}
	if format == 0 {
		err = &formatError{"the database was replaced by an empty one: restore it, or open it again"}
	} else {
		err = c.exec("PRAGMA query_only = ON")
	}
	if err != nil {
		return s.fail(errors.Join(err, c.close()))
	}
	s.read = c
	return nil
}

func (s *Store) closeReader() error {
	c := s.read
	s.read = nil
	return c.close()
}
