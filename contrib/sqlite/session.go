package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A session is a connection to the database with its prepared statements. Closing a
// nil session does nothing.
type session struct {
	db         *sql.DB
	conn       *sql.Conn
	statements map[string]*sql.Stmt // by their text
	file       os.FileInfo          // of the database when it was opened
	page       []storage.Record     // a buffer for the records of a query
}

// background is the context of statements. Their only waits, those for locks,
// are in [Store.whenFree].
var background = context.Background()

// openSession opens a connection to the database at path. mode is "rw", or "rwc" to
// create the database. It reads and writes nothing.
func openSession(path, mode string) (*session, error) {
	db, err := sql.Open("sqlite", dataSource(path, mode))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(background)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &session{db: db, conn: conn, statements: map[string]*sql.Stmt{}}, nil
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
	return errors.Join(err, c.conn.Close(), c.db.Close())
}

// prepare returns the statement with this text. There are few texts: lists are
// single parameters.
func (c *session) prepare(text string) (*sql.Stmt, error) {
	if statement := c.statements[text]; statement != nil {
		return statement, nil
	}
	statement, err := c.conn.PrepareContext(background, text)
	if err != nil {
		return nil, err
	}
	c.statements[text] = statement
	return statement, nil
}

func (c *session) exec(text string, args ...any) error {
	statement, err := c.prepare(text)
	if err != nil {
		return err
	}
	_, err = statement.ExecContext(background, args...)
	return err
}

// query calls scan for each row.
func (c *session) query(scan func(*sql.Rows) error, text string, args ...any) error {
	statement, err := c.prepare(text)
	if err != nil {
		return err
	}
	rows, err := statement.QueryContext(background, args...)
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := scan(rows); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// value returns the only column of the only row, or sql.ErrNoRows.
func value[T any](c *session, text string, args ...any) (T, error) {
	var v T
	statement, err := c.prepare(text)
	if err != nil {
		return v, err
	}
	return v, statement.QueryRowContext(background, args...).Scan(&v)
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
