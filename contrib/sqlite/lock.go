package sqlite

import (
	"context"
	"os"
)

// A turn is a mutex with a wait that a context can end.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// take locks the turn. It stops waiting when ctx ends or closed is closed, and then
// returns the cause.
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

// A fileLock excludes other batches: first those of this process, by a turn, then
// those of other processes, by a lock of the operating system on a separate file.
// The file is not the database, because closing any descriptor of the database
// releases the locks of SQLite on it.
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

// acquire acquires the lock. It stops waiting when ctx ends or closed is closed, and
// then returns the cause.
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
	// The wait of the operating system cannot be canceled. The turn is kept until it
	// ends, so that at most one thread waits if another process holds the lock.
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

// close closes the file. A nil lock has none.
func (l *fileLock) close() error {
	if l == nil {
		return nil
	}
	return l.file.Close()
}
