package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"os"

	"modernc.org/sqlite"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A session is a connection to the database with its prepared statements. Closing a
// nil session does nothing.
type session struct {
	db   *sql.DB // of conn alone
	conn *sql.Conn
	// driver is the connection of conn without package database/sql, whose locks and
	// conversions take as long as a small statement. Both are used by one goroutine.
	driver     driver.ConnPrepareContext
	statements map[string]statement // by their text
	args       []driver.NamedValue  // a buffer for the arguments of a statement
	row        row                  // a buffer for a row of a result
	file       os.FileInfo          // of the database when it was opened
	page       []storage.Record     // a buffer for the records of a query
}

// A statement is a prepared statement of the driver.
type statement interface {
	io.Closer
	driver.StmtExecContext
	driver.StmtQueryContext
}

// A connector connects to the database with a connection that is open.
type connector struct {
	driver.Connector
	conn driver.Conn
}

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.conn, nil }

// background is the context of statements. Their only waits, those for locks,
// are in [Store.whenFree].
var background = context.Background()

// openSession opens a connection to the database at path. mode is "rw", or "rwc" to
// create the database. It reads and writes nothing.
func openSession(path, mode string) (*session, error) {
	base, err := sqlite.NewConnector(dataSource(path, mode))
	if err != nil {
		return nil, err
	}
	opened, err := base.Connect(background)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector{base, opened})
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(background)
	if err != nil {
		return nil, errors.Join(err, opened.Close(), db.Close())
	}
	prepare := opened.(driver.ConnPrepareContext)
	return &session{db: db, conn: conn, driver: prepare, statements: map[string]statement{}}, nil
}

// isOpen reports whether the session is connected to the file that is at path now.
// Writes to a file that was deleted or replaced would be lost.
func (c *session) isOpen(path string) bool {
	if c == nil {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && os.SameFile(info, c.file)
}

func (c *session) close() error {
	if c == nil {
		return nil
	}
	var err error
	for _, statement := range c.statements { // SQLite keeps the database open for them
		err = errors.Join(err, statement.Close())
	}
	c.statements, c.driver = nil, nil
	return errors.Join(err, c.conn.Close(), c.db.Close())
}

// prepare returns the statement with this text, and its arguments until the next call.
// There are few texts: lists are single parameters.
func (c *session) prepare(text string, args []any) (statement, []driver.NamedValue, error) {
	c.args = c.args[:0]
	for i, arg := range args {
		value, err := driver.DefaultParameterConverter.ConvertValue(arg)
		if err != nil {
			return nil, nil, err
		}
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: value})
	}
	if statement := c.statements[text]; statement != nil {
		return statement, c.args, nil
	}
	if c.driver == nil {
		return nil, nil, sql.ErrConnDone
	}
	prepared, err := c.driver.PrepareContext(background, text)
	if err != nil {
		return nil, nil, err
	}
	c.statements[text] = prepared.(statement)
	return c.statements[text], c.args, nil
}

func (c *session) exec(text string, args ...any) error {
	statement, values, err := c.prepare(text, args)
	if err != nil {
		return err
	}
	_, err = statement.ExecContext(background, values)
	return err
}

// query calls scan for each row, which it may use until it returns.
func (c *session) query(scan func(*row) error, text string, args ...any) error {
	statement, values, err := c.prepare(text, args)
	if err != nil {
		return err
	}
	rows, err := statement.QueryContext(background, values)
	if err != nil {
		return err
	}
	c.row.err = nil
	columns := c.row.values[:len(rows.Columns())]
	for {
		if err = rows.Next(columns); err == nil {
			err = scan(&c.row)
		}
		if err != nil {
			break
		}
	}
	clear(columns)
	if err == io.EOF {
		err = nil
	}
	return errors.Join(err, rows.Close())
}

// value returns the first column of the only row, or sql.ErrNoRows.
func value[T int | string](c *session, text string, args ...any) (v T, err error) {
	found := false
	err = c.query(func(r *row) error {
		found = true
		switch p := any(&v).(type) {
		case *int:
			*p = int(r.integer(0))
		case *string:
			*p = r.text(0)
		}
		return r.err
	}, text, args...)
	if err == nil && !found {
		err = sql.ErrNoRows
	}
	return v, err
}

// transact calls f in a transaction that begins with the statement begin. It
// returns an error of f unchanged, and an error of the commit as a commitError. If
// f fails or panics, the transaction is rolled back.
func (c *session) transact(begin string, f func() error) error {
	if err := c.exec(begin); err != nil {
		return err
	}
	ended := false
	defer func() {
		if !ended {
			_ = c.exec("ROLLBACK") // SQLite has rolled back after some errors
		}
	}()
	if err := f(); err != nil {
		return err
	}
	if err := c.exec("COMMIT"); err != nil {
		return &commitError{err}
	}
	ended = true
	return nil
}

// A commitError is the error of a commit, which may nevertheless have succeeded.
type commitError struct{ cause error }

func (e *commitError) Error() string { return fmt.Sprintf("commit: %v", e.cause) }
func (e *commitError) Unwrap() error { return e.cause }
