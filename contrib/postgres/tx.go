package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// Tx converts a pgx transaction for durable.StartTx. The transaction must be in the
// store's database, which StartTx checks. It may be run by a different database user, who
// needs the privileges to use the schema, to read retry_meta, and to read and insert into
// retry_run.
//
// The transaction's settings apply, including synchronous_commit. If its isolation level
// is serializable or repeatable read, PostgreSQL may report a conflict. In this case,
// StartTx returns an error in which errors.As finds a *pgconn.PgError. Repeat the
// transaction.
//
// If tx is nil, Tx returns nil, for which StartTx returns an error.
func (s *Store) Tx(tx pgx.Tx) storage.Transaction {
	if isNil(tx) {
		return nil
	}
	return &transaction{s, func(ctx context.Context, text string, args []any, read func(row) error) error {
		rows, err := tx.Query(ctx, text, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		return readAll(rows, read)
	}}
}

// A Querier is a database/sql transaction, such as *sql.Tx.
type Querier interface {
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
}

// SQLTx is [Store.Tx] for a database/sql transaction that uses the driver
// github.com/jackc/pgx/v5/stdlib.
func (s *Store) SQLTx(tx Querier) storage.Transaction {
	if isNil(tx) {
		return nil
	}
	return &transaction{s, func(ctx context.Context, text string, args []any, read func(row) error) error {
		rows, err := tx.QueryContext(ctx, text, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		return readAll(rows, read)
	}}
}

// isNil reports whether a transaction is nil, as after an error of Begin that nobody has
// looked at: some drivers then return a nil pointer.
func isNil(tx any) bool {
	v := reflect.ValueOf(tx)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// readAll reads the rows of a result, which the caller closes.
func readAll(rows interface {
	row
	Next() bool
	Err() error
}, read func(row) error) error {
	for rows.Next() {
		if err := read(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// A transaction is one of the program. Nothing is repeated in it: an error of the server
// has failed it.
type transaction struct {
	store *Store
	query func(ctx context.Context, text string, args []any, read func(row) error) error
}

// Store implements [storage.Transaction].
func (t *transaction) Store() storage.Store { return t.store }

// isHere returns a condition: the session is one in the database of the store, which is
// named by the arguments, and has not lost updates since the store has looked.
func isHere(meta string) string {
	return `(current_database() = $10::text AND (SELECT value FROM ` + meta + ` WHERE key = 'incarnation') = $11::text
	AND ($12::text = '' OR left(pg_walfile_name(pg_current_wal_lsn()), 8) = $12))`
}

// Insert implements [storage.Transaction].
func (t *transaction) Insert(ctx context.Context, n storage.Insertion) ([]bool, error) {
	args, err := t.store.insertArguments(&n)
	if err != nil {
		return nil, t.fail(ctx, err)
	}
	here := t.store.server.Load()
	args = append(args, here.database, here.mark, here.timeline())
	var result insertion
	if err := t.query(ctx, t.store.texts.insertTx, args, result.read); err != nil {
		return nil, t.fail(ctx, err)
	}
	switch {
	case !result.known:
		return nil, t.fail(ctx, &formatError{"written by a newer version: upgrade this program"})
	case !result.here:
		return nil, t.fail(ctx, errElsewhere)
	}
	return result.of(n.Runs)
}

// Get implements [storage.Transaction].
func (t *transaction) Get(ctx context.Context, keys []storage.Key) ([]storage.Record, error) {
	records := make([]storage.Record, len(keys))
	for i, key := range keys {
		r := &records[i]
		r.Key = key
		text := t.store.texts.table(key.Kind).get
		err := t.query(ctx, text, keyArguments(key), func(from row) error { return scan(from, r) })
		if err != nil {
			return nil, t.fail(ctx, err)
		}
	}
	return records, nil
}

// errElsewhere is the error of a transaction that is not one of the store.
var errElsewhere = errors.New("the transaction is one in another database, or on a server that has lost updates " +
	"since: begin it in the database of the store")

// fail is [Store.fail] for a transaction of the program.
func (t *transaction) fail(ctx context.Context, err error) error {
	if isMissing(err) {
		err = fmt.Errorf("%w: %w", errElsewhere, err)
		return fmt.Errorf("%w: %s: %w", storage.ErrStore, t.store.name, err)
	}
	return t.store.fail(ctx, err)
}

// timeline returns the timeline of the server, or "" if it does not reveal it.
func (s *server) timeline() string {
	_, rest, _ := strings.Cut(s.incarnation, "/")
	line, _, _ := strings.Cut(rest, "/")
	return line
}
