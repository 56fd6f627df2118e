//go:build unix

package sqlite

import (
	"errors"
	"os"
	"syscall"
)

// Kinds of locks.
const (
	exclusive = syscall.LOCK_EX
	shared    = syscall.LOCK_SH
)

// tryLock reports whether it got a lock on f. The lock belongs to f, not to the
// process, and ends with the process.
func tryLock(f *os.File, kind int) (bool, error) {
	err := flock(f, kind|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// waitLock waits for an exclusive lock on f. Closing f does not end the wait.
func waitLock(f *os.File) error { return flock(f, exclusive) }

func unlock(f *os.File) { _ = flock(f, syscall.LOCK_UN) }

// flock keeps the descriptor open during the call, even if f is closed.
func flock(f *os.File, how int) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failure error
	err = raw.Control(func(fd uintptr) {
		for {
			if failure = syscall.Flock(int(fd), how); failure != syscall.EINTR {
				return
			}
		}
	})
	return errors.Join(err, failure)
}
