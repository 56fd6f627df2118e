package sqlite

import (
	"errors"
	"fmt"
	"io/fs"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// advice maps primary result codes of SQLite to what is wrong and what to do.
var advice = map[int]string{
	sqlite3.SQLITE_FULL:     "no space is left: free some, the next update continues",
	sqlite3.SQLITE_IOERR:    "input or output failed: check the disk, its quotas and its free space",
	sqlite3.SQLITE_READONLY: "read-only: allow this user to write the file and its folder",
	sqlite3.SQLITE_PERM:     "access is denied: allow this user to write the file and its folder",
	sqlite3.SQLITE_CANTOPEN: "cannot be opened: check that the file exists and that its folder is writable",
	sqlite3.SQLITE_CORRUPT:  "damaged: keep a copy of the file and its -wal, and restore a backup",
	sqlite3.SQLITE_NOTADB:   "not a SQLite database, or damaged: choose another path or restore a backup",
	sqlite3.SQLITE_BUSY:     "locked by another program: end its transaction",
	sqlite3.SQLITE_NOMEM:    "out of memory",
}

// code returns the primary result code of an error of SQLite, or 0.
func code(err error) int {
	var failure *sqlite.Error
	if errors.As(err, &failure) {
		return failure.Code() & 0xff
	}
	return 0
}

// isBusy reports whether another program holds a lock, so that the call can be
// repeated.
func isBusy(err error) bool {
	switch code(err) {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		return true
	}
	return false
}

// isDamage reports whether the file is damaged or not a database.
func isDamage(err error) bool {
	c := code(err)
	return c == sqlite3.SQLITE_CORRUPT || c == sqlite3.SQLITE_NOTADB
}

// fail returns an error that matches an error of package durable, with the path and
// what to do. It is for failures before anything is committed.
func (s *Store) fail(err error) error {
	switch {
	case err == nil, isClassified(err):
		return err
	case isDamage(err):
		err = refuse(s.path, advice[code(err)], err)
		s.damage.CompareAndSwap(nil, &err)
		return err
	}
	if failure := (*formatError)(nil); errors.As(err, &failure) {
		return refuse(s.path, failure.text, nil)
	}
	return s.describe(storage.ErrStore, err)
}

// describe returns an error that matches kind, with the path and what to do.
func (s *Store) describe(kind, err error) error {
	text, known := advice[code(err)]
	switch {
	case known:
	case errors.Is(err, fs.ErrPermission):
		text = advice[sqlite3.SQLITE_PERM]
	default:
		return fmt.Errorf("%w: %s: %w", kind, s.path, err)
	}
	return fmt.Errorf("%w: %s: %s: %w", kind, s.path, text, err)
}

// refuse returns an error for a database that this version cannot use.
func refuse(path, text string, cause error) error {
	err := fmt.Errorf("%w: %s: %s", storage.ErrFormat, path, text)
	if cause != nil {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// unknown returns the error of a failed commit that may have reached the disk. On a
// full disk nothing is committed: SQLite writes the end of a commit last.
func (s *Store) unknown(err error) error {
	if code(err) == sqlite3.SQLITE_FULL {
		return s.fail(err)
	}
	return s.describe(storage.ErrUnknown, err)
}

// waiting returns the error of a call that stopped waiting for the lock.
func (s *Store) waiting(cause error) error {
	return fmt.Errorf("%w: %s: waiting for the lock of the database: %w", storage.ErrStore, s.path, cause)
}

func isClassified(err error) bool {
	return errors.Is(err, storage.ErrStore) || errors.Is(err, storage.ErrFormat) || errors.Is(err, storage.ErrUnknown)
}
