package durabletest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/retrytest"
)

// ErrCrashed is returned by a [CrashAt] store once it has crashed. It matches
// [storage.ErrStore].
var ErrCrashed = fmt.Errorf("%w: its process has died", storage.ErrStore)

// A Faulty is a store that fails at some of its commits. A commit is an update that
// writes something. A Faulty passes all other calls on to the underlying store.
type Faulty struct {
	storage.Store
	// faults returns the errors of a commit, by its number, from 1: instead of it, and
	// after it. With ErrCrashed, the store has crashed.
	faults func(ctx context.Context, commit int) (before, after error)

	mu      sync.Mutex
	commits int
	failed  bool
	crashed bool
	end     []func() // what a crash ends
}

// CrashAt returns a store that fails at point n and afterwards, as if the process had
// died there. Points are numbered from 1. There are two points for each commit. The point
// before the commit is odd, and the point after it is even. The owners that the store
// holds are released, as when a process dies. In a test, call CrashAt with n = 1, 2, …
// until [Faulty.Failed] returns false. After each crash, continue with the underlying
// store.
func CrashAt(s storage.Store, n int) *Faulty { return failAt(s, n, ErrCrashed) }

// LoseReply returns a store that loses the reply to one update, as if a connection had
// broken. At point n, Update returns [storage.ErrUnknown]. Points are numbered from 1. At
// an odd point, nothing was committed. At an even point, everything was committed.
func LoseReply(s storage.Store, n int) *Faulty { return failAt(s, n, storage.ErrUnknown) }

// failAt returns a store that fails with err at one point.
func failAt(s storage.Store, n int, err error) *Faulty {
	return &Faulty{Store: s, faults: func(_ context.Context, commit int) (before, after error) {
		switch n {
		case 2*commit - 1:
			return err, nil
		case 2 * commit:
			return nil, err
		}
		return nil, nil
	}}
}

// FailBy returns a store whose commits have the outcomes listed in a script: see package
// retrytest. In addition to the outcomes defined there, a commit may have one of these:
//
//	crash           the process dies before the commit
//	partial=crash   the process dies after the commit
//	lost            the reply is lost, and nothing was committed
//	partial=lost    the reply is lost, and everything was committed
//
// Other errors, such as 503, match [storage.ErrStore]. FailBy panics if the script
// cannot be parsed.
func FailBy(s storage.Store, script string) *Faulty {
	faults, err := retrytest.Parse(script, map[string]error{"crash": ErrCrashed, "lost": storage.ErrUnknown})
	if err != nil {
		panic("durabletest: " + err.Error())
	}
	wrapped := func(err error) error {
		if err == nil || errors.Is(err, storage.ErrStore) || errors.Is(err, storage.ErrUnknown) {
			return err
		}
		return fmt.Errorf("%w: %w", storage.ErrStore, err)
	}
	return &Faulty{Store: s, faults: func(ctx context.Context, _ int) (before, after error) {
		before, after = faults.Begin(ctx, "Update")
		return wrapped(before), wrapped(after)
	}}
}

// Failed reports whether the store has failed.
func (f *Faulty) Failed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

// Context returns a context that ends when parent ends or the store crashes. After a
// crash, the cause is [ErrCrashed]. Use it for all work that ends with the process.
func (f *Faulty) Context(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	f.atEnd(func() { cancel(ErrCrashed) })
	return ctx, func() { cancel(nil) }
}

// atEnd calls end when the store crashes, or now if it has.
func (f *Faulty) atEnd(end func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.crashed {
		end()
		return
	}
	f.end = append(f.end, end)
}

// dead returns the error of a store that has crashed.
func (f *Faulty) dead() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.crashed {
		return ErrCrashed
	}
	return nil
}

// fail makes the store fail with err, if that is not nil, and returns the error of the
// update.
func (f *Faulty) fail(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.crashed:
		return ErrCrashed
	case err == nil:
		return nil
	}
	f.failed = true
	if errors.Is(err, ErrCrashed) {
		f.crashed = true
		f.die()
	}
	return err
}

// die ends everything in the process. f.mu is held.
func (f *Faulty) die() {
	for _, end := range f.end {
		end()
	}
	f.end = nil
}

// Crash makes the store fail from now on, as if the process had died, for example within
// a call or a wait.
func (f *Faulty) Crash() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed, f.crashed = true, true
	f.die()
}

// next returns the errors of the next commit.
func (f *Faulty) next(ctx context.Context) (before, after error) {
	f.mu.Lock()
	f.commits++
	commit := f.commits
	f.mu.Unlock()
	return f.faults(ctx, commit)
}

// Update implements [storage.Store].
func (f *Faulty) Update(
	ctx context.Context, sel storage.Select, decide func(storage.Tx) (storage.Writes, error),
) error {
	if err := f.dead(); err != nil {
		return err
	}
	commits := false
	var before, after error
	err := f.Store.Update(ctx, sel, func(tx storage.Tx) (storage.Writes, error) {
		w, err := decide(tx)
		if err != nil {
			return w, err
		}
		if len(w.Put)+len(w.Add)+len(w.Delete)+len(w.Clear) == 0 {
			return w, f.dead()
		}
		if !commits { // decide may be called again
			before, after = f.next(ctx)
			commits = true
		}
		return w, f.fail(before)
	})
	if err != nil || !commits {
		return err
	}
	return f.fail(after)
}

// Get implements [storage.Store].
func (f *Faulty) Get(ctx context.Context, keys []storage.Key) ([]storage.Record, error) {
	if err := f.dead(); err != nil {
		return nil, err
	}
	return f.Store.Get(ctx, keys)
}

// List implements [storage.Store].
func (f *Faulty) List(ctx context.Context, q storage.Query) ([]storage.Record, storage.Cursor, error) {
	if err := f.dead(); err != nil {
		return nil, "", err
	}
	return f.Store.List(ctx, q)
}

// History implements [storage.Store].
func (f *Faulty) History(
	ctx context.Context, step storage.Key, from storage.Cursor,
) ([]storage.Entry, storage.Cursor, error) {
	if err := f.dead(); err != nil {
		return nil, "", err
	}
	return f.Store.History(ctx, step, from)
}

// Entries implements [storage.Store].
func (f *Faulty) Entries(ctx context.Context, after storage.Entry, limit int) ([]storage.Entry, error) {
	if err := f.dead(); err != nil {
		return nil, err
	}
	return f.Store.Entries(ctx, after, limit)
}

// Hold implements [storage.Liveness]. It does nothing if the underlying store does not
// implement it.
func (f *Faulty) Hold(owner string) (func() error, error) {
	live, ok := f.Store.(storage.Liveness)
	if !ok {
		return func() error { return nil }, nil
	}
	if err := f.dead(); err != nil {
		return nil, err
	}
	release, err := live.Hold(owner)
	if err != nil {
		return nil, err
	}
	release = sync.OnceValue(release)
	f.atEnd(func() { _ = release() }) // no process fails to release its locks by dying
	return release, nil
}

// Dead implements [storage.Liveness].
func (f *Faulty) Dead(owner string) bool {
	live, ok := f.Store.(storage.Liveness)
	return ok && live.Dead(owner)
}
