package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Kinds of locks.
const (
	exclusive = windows.LOCKFILE_EXCLUSIVE_LOCK
	shared    = 0
)

// tryLock reports whether it got a lock on f. The lock belongs to f, not to the
// process, and ends with the process.
func tryLock(f *os.File, kind uint32) (bool, error) {
	err := lockFile(f, kind|windows.LOCKFILE_FAIL_IMMEDIATELY)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}

// waitLock waits for an exclusive lock on f.
func waitLock(f *os.File) error { return lockFile(f, exclusive) }

func lockFile(f *os.File, flags uint32) error {
	return control(f, func(h windows.Handle) error {
		return windows.LockFileEx(h, flags, 0, 1, 0, new(windows.Overlapped))
	})
}

func unlock(f *os.File) {
	_ = control(f, func(h windows.Handle) error {
		return windows.UnlockFileEx(h, 0, 1, 0, new(windows.Overlapped))
	})
}

// control keeps the handle open during the call, even if f is closed.
func control(f *os.File, call func(windows.Handle) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failure error
	err = raw.Control(func(h uintptr) { failure = call(windows.Handle(h)) })
	return errors.Join(err, failure)
}
