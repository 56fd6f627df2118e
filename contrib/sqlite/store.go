// Package sqlite keeps the state of durable steps in a SQLite database, for the
// processes of one machine. It needs no cgo.
//
//	store, err := sqlite.Open("/var/lib/payments/retries.db")
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	engine, err := durable.New(store)
//
// An update that returns nil is on the disk: the database is in WAL mode with
// synchronous=FULL. Any number of processes of one machine may open the same
// file. They take turns with a lock on the file with the suffix -lock, one
// transaction each. Readers wait for nobody. A process that dies releases its
// locks at once.
//
// A file that is damaged, that belongs to another program, or that a newer
// version of this module has written is refused and stays unchanged.
package sqlite

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
)

// A Store is a [durable.Store] and [durable.Holder] in a SQLite database. Its
// methods may be called concurrently. Their errors match [durable.ErrStore],
// [durable.ErrUnknown] or [durable.ErrFormat].
type Store struct {
	path        string // without symbolic links
	incarnation string
	closing     sync.Once
	closed      chan struct{}
	damage      atomic.Pointer[error] // why nothing is written any more

	lock  *fileLock // of a batch
	write writer    // of the batch that holds lock

	reading turn
	read    *session // of the read whose turn it is; nil: the next one opens it

	owners owners
}

var (
	_ durable.Store  = (*Store)(nil)
	_ durable.Holder = (*Store)(nil)
)

// openTimeout limits how long Open waits for a process that creates or migrates
// the database.
const openTimeout = time.Minute

// Open opens the database at path, and creates it if there is none. The folder
// must exist, on a disk of this machine: network file systems, on which the
// locks of SQLite do not work, are refused. Symbolic links are resolved. Open
// waits up to one minute for another process that creates or migrates the
// database.
func Open(path string) (*Store, error) {
	path, err := resolve(path)
	if err != nil {
		return nil, err
	}
	s := &Store{path: path, closed: make(chan struct{}), reading: newTurn()}
	s.owners.prefix = path + "-owner-"
	if s.lock, err = openFileLock(path + "-lock"); err != nil {
		return nil, s.fail(err)
	}
	if err := s.prepare(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.owners.removeDead()
	return s, nil
}

// prepare checks the database, and creates or migrates it. It waits for batches
// of other processes only if it has to write.
func (s *Store) prepare() error {
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	exists, err := checkFiles(s.path)
	if err != nil {
		return s.fail(err)
	}
	current := false
	if exists {
		c, format, err := s.connect(ctx, "rw")
		if err != nil {
			return err
		}
		_ = c.close()
		current = format >= len(steps)
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

// Guarantee returns what SQLite promises with synchronous=FULL: acknowledged
// updates survive the process and a power failure, but not the loss of the disk.
// A restored backup has the incarnation of the database it was made from, until
// an operator changes it.
func (s *Store) Guarantee() durable.Guarantee {
	return durable.Guarantee{
		SurvivesProcess: true,
		SurvivesPower:   true,
		Shared:          durable.SharedByHost,
		Incarnation:     s.incarnation,
	}
}

// Close waits for the update and the read that are in progress, releases all
// owners and closes the database. Calls that wait for their turn return an
// error.
func (s *Store) Close() error {
	var err error
	s.closing.Do(func() {
		close(s.closed)
		s.write.mu.Lock()
		defer s.write.mu.Unlock()
		s.reading <- struct{}{}
		defer s.reading.give()
		err = errors.Join(s.closeWriter(), s.read.close(), s.owners.close(), s.lock.file.Close())
		s.read = nil
	})
	return s.fail(err)
}

// connect opens a connection to the database and returns its format, 0 for an
// empty one. What this version cannot use is refused. Mode is that of
// [openSession].
func (s *Store) connect(ctx context.Context, mode string) (c *session, format int, err error) {
	if c, err = openSession(s.path, mode); err != nil {
		return nil, 0, s.fail(err)
	}
	err = s.whenFree(ctx, func() error {
		format, err = c.format(len(steps))
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

// whenFree repeats f while another program holds SQLite's own locks: one that
// knows nothing of the lock of a batch.
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
