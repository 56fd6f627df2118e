package hedge

import (
	"context"
	"errors"
	"time"
)

// ErrLost is the cause of a request's context, as returned by [context.Cause], after the
// other request of its race has succeeded.
var ErrLost = errors.New("hedge: the other request succeeded first")

// A firstContext is the context of the first request of a race. It ends with the
// context of the caller, when the second request wins, and when the first one returns.
// It is the Race itself under another type. The context of package context that it
// needs for Done is made when somebody calls Done, since many callees never do.
type firstContext Race

// Deadline returns the deadline of the caller.
func (c *firstContext) Deadline() (time.Time, bool) { return c.caller.Deadline() }

// Done returns the channel that is closed when the context ends.
func (c *firstContext) Done() <-chan struct{} {
	c.derive()
	return c.first.Done()
}

// derive makes the context for Done, once.
func (c *firstContext) derive() {
	if c.derived.Load() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.derived.Load() {
		return
	}
	c.first, c.cancelFirst = context.WithCancelCause(c.caller)
	if c.over.Load() {
		c.cancelFirst(nil)
	}
	c.derived.Store(true)
}

// Err returns why the context has ended, or nil.
func (c *firstContext) Err() error {
	err := c.caller.Err()
	if c.derived.Load() || c.over.Load() {
		// The caller may have ended only after this context. The derived one keeps
		// the error that it had first.
		c.derive()
		return c.first.Err()
	}
	return err
}

// Value returns the value of the caller's context for key. Package context finds the
// context for Done with a key of its own, after it has called Done. Without that, it
// would start a goroutine for each context that is derived from c.
func (c *firstContext) Value(key any) any {
	if c.derived.Load() {
		return c.first.Value(key)
	}
	return c.caller.Value(key)
}

// lose ends the context because the second request has succeeded.
func (c *firstContext) lose() {
	c.derive()
	c.cancelFirst(ErrLost)
}

// A secondContext is the context of the second request of a race.
type secondContext struct{ context.Context }

type secondKey struct{}

// Value returns true for secondKey.
func (c secondContext) Value(key any) any {
	if key == (secondKey{}) {
		return true
	}
	return c.Context.Value(key)
}

// Is reports whether ctx was passed to the second request of a race or to a call inside
// that request.
func Is(ctx context.Context) bool { return ctx.Value(secondKey{}) != nil }
