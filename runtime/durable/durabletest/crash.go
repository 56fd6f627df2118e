package durabletest

import (
	"context"
	"fmt"
	"sync"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// ErrCrashed is returned by the store of [CrashAt] once it has crashed. It
// matches [storage.ErrStore].
var ErrCrashed = fmt.Errorf("%w: its process has died", storage.ErrStore)

// A Faulty is a store that fails at one point of its life. There are two points
// for each update that writes something: before the commit, and after it. It
// passes all else on to the store that it was made of.
type Faulty struct {
	storage.Store
	at    int
	crash bool

	mu     sync.Mutex
	points int
	failed bool
	end    []func() // what a crash ends
}

// CrashAt returns a store that fails at point n, from 1, and from then on, as if
// the process had died there: at an odd point before the commit, at an even one
// after it. The owners that it holds are released, as those of a dead process
// are. A test uses it for n = 1, 2, … until [Faulty.Failed] returns false, each
// time with a store that it then continues to use without the Faulty.
func CrashAt(s storage.Store, n int) *Faulty { return newFaulty(s, n, true) }

// LoseReply returns a store that loses the reply of one update, as when a
// connection breaks: Update returns [storage.ErrUnknown] at point n, from 1. At
// an odd point nothing was committed, at an even one everything.
func LoseReply(s storage.Store, n int) *Faulty { return newFaulty(s, n, false) }

func newFaulty(s storage.Store, n int, crash bool) *Faulty {
	return &Faulty{Store: s, at: n, crash: crash}
}

// Failed reports whether the store has reached its point.
func (f *Faulty) Failed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

// Context returns a context that ends with parent, or with the cause
// [ErrCrashed] when the store crashes: everything in a process ends with it.
func (f *Faulty) Context(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	f.atEnd(func() { cancel(ErrCrashed) })
	return ctx, func() { cancel(nil) }
}

// atEnd calls end when the store crashes, or now if it has.
func (f *Faulty) atEnd(end func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed && f.crash {
		end()
		return
	}
	f.end = append(f.end, end)
}

// dead returns the error of a store that has crashed.
func (f *Faulty) dead() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed && f.crash {
		return ErrCrashed
	}
	return nil
}

// point counts a point, and returns an error if the store fails at it.
func (f *Faulty) point(n int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.failed && f.crash:
		return ErrCrashed
	case f.failed || n != f.at:
		return nil
	}
	f.failed = true
	if !f.crash {
		return storage.ErrUnknown
	}
	f.die()
	return ErrCrashed
}

// die ends everything in the process. f.mu is held.
func (f *Faulty) die() {
	for _, end := range f.end {
		end()
	}
	f.end = nil
}

// Crash makes the store fail from now on, as if the process had died: within a
// call or a wait, for example.
func (f *Faulty) Crash() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed, f.crash = true, true
	f.die()
}

// next returns the number of the point before a commit.
func (f *Faulty) next() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.points += 2
	return f.points - 1
}

// Update implements [storage.Store].
func (f *Faulty) Update(
	ctx context.Context, sel storage.Select, decide func(storage.Tx) (storage.Writes, error),
) error {
	if err := f.dead(); err != nil {
		return err
	}
	point := 0
	err := f.Store.Update(ctx, sel, func(tx storage.Tx) (storage.Writes, error) {
		w, err := decide(tx)
		if err != nil {
			return w, err
		}
		if len(w.Put)+len(w.Add)+len(w.Delete)+len(w.Clear) == 0 {
			return w, f.dead()
		}
		if point == 0 { // decide may be called again
			point = f.next()
		}
		return w, f.point(point)
	})
	if err != nil || point == 0 {
		return err
	}
	return f.point(point + 1)
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

// Hold implements [storage.Liveness]. It does nothing if the store that f was made
// of does not.
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
