package sqlite

import (
	"context"
	"os"
)

// A turn is a mutex whose wait ends with a context.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// take waits until ctx ends or closed is closed. The error is the cause.
func (t turn) take(ctx context.Context, closed <-chan struct{}) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-closed:
		return os.ErrClosed
	default:
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-closed:
		return os.ErrClosed
	}
}

func (t turn) give() { <-t }

// A fileLock orders the batches of this process and of others: a turn within
// the process, and then a lock of the operating system on a file of its own.
// The file is never the database, because closing any descriptor of the
// database releases the locks of SQLite on it.
type fileLock struct {
	turn turn
	file *os.File
}

func openFileLock(path string) (*fileLock, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	return &fileLock{newTurn(), file}, nil
}

// acquire waits for the lock until ctx ends or closed is closed. The error is
// the cause.
func (l *fileLock) acquire(ctx context.Context, closed <-chan struct{}) error {
	if err := l.turn.take(ctx, closed); err != nil {
		return err
	}
	got, err := tryLock(l.file, exclusive)
	if got {
		return nil
	}
	if err != nil {
		l.turn.give()
		return err
	}
	locked := make(chan error, 1)
	go func() { locked <- waitLock(l.file) }()
	select {
	case err := <-locked:
		if err != nil {
			l.turn.give()
		}
		return err
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-closed:
		err = os.ErrClosed
	}
	// The operating system cannot be told to stop waiting. The turn is taken until
	// it has, so that a process that is stopped with the lock costs the others one
	// thread each.
	go func() {
		if <-locked == nil {
			unlock(l.file)
		}
		l.turn.give()
	}()
	return err
}

func (l *fileLock) release() {
	unlock(l.file)
	l.turn.give()
}
