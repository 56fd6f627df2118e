package sqlite

import (
	"context"
	"database/sql"
	"errors"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A Tx is a transaction in which a program writes to its own tables in a store's database
// and starts runs with durable.StartTx. Only one goroutine may use it, and only until the
// function passed to [Store.Transact] returns.
type Tx struct {
	store   *Store
	session *session
	ended   bool // or SQLite has rolled it back
}

var _ storage.Transaction = (*Tx)(nil)

// Transact calls f with a transaction. If f returns nil, Transact commits. If f returns
// an error or panics, Transact rolls back. It returns an error from f unchanged. An error
// that matches [storage.ErrUnknown] means that the commit may have happened.
//
// The program's tables are in the store's file. The names of the store's own tables begin
// with retry_. Do not open the file with a different handle or driver in the same
// process. When that handle is closed, SQLite's locks on the file are released and the
// database may be damaged.
//
// While f is running, all updates of the store wait, in all processes, including lease
// renewals. So f must finish quickly. It must use the store only through the transaction,
// and must not use an engine, because that would make f wait for itself. Transact waits
// for other updates to finish, but no longer than until ctx ends.
func (s *Store) Transact(ctx context.Context, f func(*Tx) error) error {
	if err := s.lock.acquire(ctx, s.closed); err != nil {
		return s.waiting(err)
	}
	defer s.lock.release()
	s.write.mu.Lock()
	defer s.write.mu.Unlock()
	if err := s.readyWriter(ctx); err != nil {
		return err
	}
	tx := &Tx{store: s, session: s.write.session}
	called := false
	var failure, err error // of f, and of the transaction
	begin := s.whenFree(ctx, func() error {
		err = tx.session.transact("BEGIN IMMEDIATE", func() error {
			called = true // and is not called again
			defer func() { tx.ended = true }()
			if failure = f(tx); failure == nil && tx.ended {
				failure = s.fail(errRolledBack)
			}
			return failure
		})
		if called {
			return nil
		}
		return err
	})
	switch {
	case begin == nil && err == nil:
		return nil
	case failure != nil:
		err = failure
	case begin != nil:
		err = s.fail(begin)
	default:
		err = s.unknown(err)
	}
	_ = s.closeWriter() // its state is not known
	return err
}

// ExecContext executes a statement, like [sql.Tx.ExecContext]. When ctx ends, a statement
// that has already started is not stopped, because SQLite would roll back the
// transaction.
func (t *Tx) ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error) {
	result, err := t.session.conn.ExecContext(t.context(ctx), text, args...)
	return result, t.note(err)
}

// QueryContext executes a query, like [sql.Tx.QueryContext]. Close its rows before the
// next statement.
func (t *Tx) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	rows, err := t.session.conn.QueryContext(t.context(ctx), text, args...)
	return rows, t.note(err)
}

// QueryRowContext executes a query for one row, like [sql.Tx.QueryRowContext].
func (t *Tx) QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row {
	return t.session.conn.QueryRowContext(t.context(ctx), text, args...)
}

// Store implements [storage.Transaction].
func (t *Tx) Store() storage.Store { return t.store }

// Insert implements [storage.Transaction].
func (t *Tx) Insert(ctx context.Context, n storage.Insertion) ([]bool, error) {
	return storage.InsertByUpdate(ctx, updater{t}, n)
}

// Get implements [storage.Transaction].
func (t *Tx) Get(ctx context.Context, keys []storage.Key) ([]storage.Record, error) {
	if err := t.context(ctx).Err(); err != nil {
		return nil, t.store.fail(err)
	}
	records, err := t.session.get(keys)
	return records, t.store.fail(t.note(err))
}

// An updater updates records in a transaction of the program.
type updater struct{ *Tx }

// Update implements [storage.Updater].
func (u updater) Update(
	ctx context.Context, sel storage.Select, decide func(storage.Tx) (storage.Writes, error),
) error {
	if err := u.context(ctx).Err(); err != nil {
		return u.store.fail(err)
	}
	tx, err := u.session.load(sel)
	if err != nil {
		return u.store.fail(u.note(err))
	}
	w, err := tx.Decide(decide)
	if err != nil {
		return err
	}
	return u.store.fail(u.note(u.session.apply(tx.Records, w)))
}

// ended is a context for statements that must not be executed.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// errRolledBack is the error of a transaction that f wants to commit nevertheless.
var errRolledBack = errors.New("SQLite has rolled the transaction back: return the error of its statement")

// context returns the context of a statement: one that has ended if ctx has, or the
// transaction; otherwise one that does not end.
func (t *Tx) context(ctx context.Context) context.Context {
	switch {
	case t.ended:
		return ended
	case ctx.Err() != nil:
		return ctx
	}
	return background
}

// note notes that an error of a statement has rolled the transaction back: further
// statements would be transactions of their own.
func (t *Tx) note(err error) error {
	switch code(err) {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_INTERRUPT:
		t.ended = true
	}
	return err
}
