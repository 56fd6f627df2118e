package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// owners holds the owners of this process. For each of them it holds an exclusive
// lock on a file whose name ends with the id of the owner. The operating system
// releases the lock when the process dies. The file is removed when its owner is
// released, or by a process that finds it unlocked.
type owners struct {
	prefix string // of the paths of the files
	mu     sync.Mutex
	held   map[*os.File]string // the paths of open files
	closed bool
}

// maxOwner is the length in bytes of the longest id of an owner. The name of the
// database and the id must fit into a file name.
const maxOwner = 100

// holdTimeout limits how long Hold tries to lock a file that another process may
// just be checking with [Store.Dead].
const holdTimeout = time.Second

// Hold implements [storage.Liveness] with a lock on a file next to the database. The
// owner must be 1 to 100 bytes long. Hold returns an error if the owner is already held.
func (s *Store) Hold(owner string) (release func() error, err error) {
	if owner == "" || len(owner) > maxOwner {
		return nil, s.fail(fmt.Errorf("the owner %.20q… has %d bytes: use 1 to %d", owner, len(owner), maxOwner))
	}
	file, path := (*os.File)(nil), s.owners.path(owner)
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		if file, err = lockOwner(path); err != nil {
			return nil, s.fail(err)
		}
		if file != nil {
			break
		}
		if time.Since(begin) > holdTimeout {
			return nil, s.fail(fmt.Errorf("the owner %q is held already", owner))
		}
	}
	if err := s.owners.add(file, path); err != nil {
		return nil, s.fail(err)
	}
	return func() error { return s.fail(s.owners.release(file)) }, nil
}

// Dead implements [storage.Liveness].
func (s *Store) Dead(owner string) bool {
	if owner == "" || len(owner) > maxOwner {
		return false
	}
	return isUnlocked(s.owners.path(owner))
}

// path returns the path of the file of an owner.
func (o *owners) path(owner string) string { return o.prefix + url.QueryEscape(owner) }

// lockOwner locks the file at path, and creates it if needed. It returns nil if
// another process has locked the file or has just removed it.
func lockOwner(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	locked, err := tryLock(file, exclusive)
	if locked && isAt(file, path) {
		return file, nil
	}
	return nil, errors.Join(err, file.Close())
}

// isUnlocked reports whether no process holds the file at path, and then removes
// it. It may be called concurrently, also by other processes.
func isUnlocked(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	if unlocked, err := tryLock(file, shared); !unlocked || err != nil {
		_ = file.Close()
		return false
	}
	if !isAt(file, path) { // removed, and perhaps created again
		_ = file.Close()
		return isUnlocked(path)
	}
	// Only the holder of an exclusive lock may remove the file: no other process can
	// then have created a new file at path.
	unlock(file)
	if locked, _ := tryLock(file, exclusive); locked && isAt(file, path) {
		_ = remove(file, path)
	} else {
		_ = file.Close()
	}
	return true
}

// remove removes the locked file at path and closes it. It tries again after
// closing, because some systems do not remove open files.
func remove(file *os.File, path string) error {
	err := os.Remove(path)
	closed := file.Close()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = os.Remove(path)
	}
	return errors.Join(err, closed)
}

// isAt reports whether file is still the file at path.
func isAt(file *os.File, path string) bool {
	opened, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(opened, named)
}

func (o *owners) add(file *os.File, path string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return errors.Join(os.ErrClosed, remove(file, path))
	}
	if o.held == nil {
		o.held = map[*os.File]string{}
	}
	o.held[file] = path
	return nil
}

func (o *owners) release(file *os.File) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	path, held := o.held[file]
	if !held {
		return nil
	}
	delete(o.held, file)
	return remove(file, path)
}

// close releases all owners, and lets no further ones be added.
func (o *owners) close() (err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	for file, path := range o.held {
		err = errors.Join(err, remove(file, path))
	}
	clear(o.held)
	return err
}

// removeDead removes the files of dead processes.
func (o *owners) removeDead() {
	dir, prefix := filepath.Split(o.prefix)
	names, _ := os.ReadDir(dir) // without an error: the files only use space
	for _, name := range names {
		if strings.HasPrefix(name.Name(), prefix) {
			isUnlocked(dir + name.Name())
		}
	}
}
