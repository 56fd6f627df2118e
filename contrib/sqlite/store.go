// Package sqlite keeps the state of durable steps in a SQLite database that the processes
// of one machine can share. It does not need cgo.
//
//	store, err := sqlite.Open("/var/lib/payments/retries.db")
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	engine, err := durable.New(store)
//
// When an update has returned nil, it is on disk, because the database is in WAL mode
// with synchronous=FULL. Any number of processes on one machine may open the same file. A
// lock on the file with the suffix -lock admits one update at a time. Reads do not wait
// for updates. When a process dies, its locks are released at once.
//
// If the file is damaged, belongs to another program or was written by a newer version of
// this module, Open returns an error that matches storage.ErrFormat. It does not change the
// file.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A Store is a [storage.Store] in a SQLite database. It also implements
// [storage.Liveness]. Its methods may be called concurrently. Their errors match
// [storage.ErrStore], [storage.ErrUnknown] or [storage.ErrFormat].
type Store struct {
	path        string // without symbolic links
	existing    bool   // neither create nor migrate it
	incarnation string
	closing     sync.Once
	closed      chan struct{}
	damage      atomic.Pointer[error] // the error that prevents all further updates, or nil

	lock  *fileLock // of a batch
	write writer    // of the batch that holds lock

	reading turn
	read    *session // guarded by reading; nil: the next read opens it

	owners owners
}

var (
	_ storage.Store    = (*Store)(nil)
	_ storage.Liveness = (*Store)(nil)
)

// An Option changes a default of [Open].
type Option func(*Store)

// Existing makes [Open] return an error if there is no database at path, or if the
// database has an older format. In both cases, Open neither creates nor migrates a
// database. The error for a missing database matches [io/fs.ErrNotExist]. Use it in
// programs that read another program's database.
func Existing() Option { return func(s *Store) { s.existing = true } }

// openTimeout limits how long Open waits for a process that creates or migrates
// the database.
const openTimeout = time.Minute

// Open opens the database at path, or creates it if there is none. The folder must exist
// on a disk of this machine. On network file systems, Open returns an error, because
// SQLite's locks do not work there. Symbolic links are resolved. Open waits up to one
// minute while another process creates or migrates the database. The caller must call
// [Store.Close].
func Open(path string, options ...Option) (*Store, error) {
	path, err := resolve(path)
	if err != nil {
		return nil, err
	}
	s := &Store{path: path, closed: make(chan struct{}), reading: newTurn()}
	for _, option := range options {
		option(s)
	}
	if _, err := os.Stat(path); s.existing && err != nil {
		return nil, fmt.Errorf("%w: %s: there is no database: check the path, or start the program that creates it: %w",
			storage.ErrStore, path, err)
	}
	s.owners.prefix = path + "-owner-"
	if err := s.prepare(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.owners.removeDead()
	return s, nil
}

// prepare checks the database, and creates or migrates it if needed. It waits for
// batches of other processes only if it writes.
func (s *Store) prepare() error {
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	exists, err := checkFiles(s.path)
	if err != nil {
		return s.fail(err)
	}
	current := false
	if !exists && s.existing {
		return s.fail(&formatError{older(0)})
	}
	if exists {
		c, format, err := s.connect(ctx, "rw")
		if err != nil {
			return err
		}
		_ = c.close()
		current = format >= latest(migrations)
		if !current && s.existing {
			return s.fail(&formatError{older(format)})
		}
	}
	if s.lock, err = openFileLock(s.path + "-lock"); err != nil { // not next to what is no store
		return s.fail(err)
	}
	if !current {
		if err := s.lock.acquire(ctx, s.closed); err != nil {
			return s.waiting(err)
		}
		err := s.openWriter(ctx, true)
		s.lock.release()
		if err != nil {
			return err
		}
	}
	return s.view(ctx, func(c *session) error {
		s.incarnation, err = value[string](c, metaSQL, "incarnation")
		return err
	})
}

// Guarantee returns the guarantee of SQLite with synchronous=FULL: acknowledged updates
// survive the process and a power failure, but not the loss of the disk. A restored
// backup has the same incarnation as the original database until an operator changes it.
func (s *Store) Guarantee() storage.Guarantee {
	return storage.Guarantee{
		SurvivesProcess: true,
		SurvivesPower:   true,
		Shared:          storage.SharedByHost,
		Incarnation:     s.incarnation,
	}
}

// Close waits for the update and the read in progress, releases all owners and closes the
// database. Calls that are still waiting return an error, and so do later calls. Closing
// a closed Store does nothing.
func (s *Store) Close() error {
	var err error
	s.closing.Do(func() {
		close(s.closed)
		s.write.mu.Lock()
		defer s.write.mu.Unlock()
		s.reading <- struct{}{}
		defer s.reading.give()
		err = errors.Join(s.closeWriter(), s.read.close(), s.owners.close(), s.lock.close())
		s.read = nil
	})
	return s.fail(err)
}

// connect opens a connection to the database. It returns the format of the
// database, 0 for an empty one, or an error if this version cannot use it. mode is
// that of [openSession].
func (s *Store) connect(ctx context.Context, mode string) (c *session, format int, err error) {
	if c, err = openSession(s.path, mode); err != nil {
		return nil, 0, s.fail(err)
	}
	err = s.whenFree(ctx, func() error {
		format, err = c.format(latest(migrations))
		return err
	})
	if err == nil {
		c.file, err = os.Stat(s.path)
	}
	if err != nil {
		return nil, 0, s.fail(errors.Join(err, c.close()))
	}
	return c, format, nil
}

// whenFree calls f again while another program holds the locks of SQLite itself.
// Such a program does not use the lock of batches.
func (s *Store) whenFree(ctx context.Context, f func() error) error {
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		err := f()
		if !isBusy(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return s.waiting(context.Cause(ctx))
		case <-s.closed:
			return s.waiting(os.ErrClosed)
		case <-time.After(wait):
		}
	}
}
