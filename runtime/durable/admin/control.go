package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/fault"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// Cancel permanently ends a run and the runs that it has started. An engine that is
// executing the run starts no further attempts, and the contexts of the attempts in
// progress end. This happens at once in this process, and at the next lease renewal in
// other processes. If the run has already ended, Cancel does not change it, and the error
// matches [ErrConflict]. It is not an error to cancel a run twice.
func (c *Client) Cancel(ctx context.Context, run string, by ...events.Operator) error {
	return c.cancel(ctx, run, run, operator(by))
}

// cancel cancels a run. root is the run that the operator has named.
func (c *Client) cancel(ctx context.Context, run, root string, by events.Operator) error {
	idle, key := false, c.ns.Key(storage.KindRun, run, "")
	err := c.ns.Update(ctx, []storage.Key{key}, func(tx storage.Tx) (storage.Writes, error) {
		r := tx.Record(key)
		b, err := record.Decode[record.Run](r)
		switch {
		case err != nil:
			return storage.Writes{}, err
		case r.Version == 0:
			return storage.Writes{}, fmt.Errorf("run %q: %w", run, fault.ErrNotFound)
		case r.Status == storage.StatusCanceled:
			return storage.Writes{}, nil
		case r.Status.EndsRun() && r.Status != storage.StatusFailed:
			return storage.Writes{}, fmt.Errorf("run %q has %v: %w", run, r.Status, fault.ErrConflict)
		}
		idle = r.Owner == ""
		r.Attention, b.Hold = false, nil
		if root != run {
			b.CanceledWith = root
		}
		b.End(&r, storage.StatusCanceled, tx.Now)
		return writeRun(r, &b, newAudit(r, tx.Now, ActionCanceled, by))
	})
	if err != nil {
		return err
	}
	if idle { // or its execution reports it
		c.ns.Event(ctx, events.Event{Kind: events.EventRunCanceled, Run: run, By: by, Err: fault.ErrCanceled})
	}
	if c.ns.Halt != nil {
		c.ns.Halt(run, 0, nil)
	}
	return c.eachChild(ctx, run, func(child string) error { return c.cancel(ctx, child, root, by) })
}

// Pause stops a run and the runs that it has started until [Client.Resume] is called. An
// engine that is executing the run starts no further attempts. This happens at once in
// this process. In other processes, it happens as soon as they ask the store, and at the
// latest at the next lease renewal. Attempts in progress may finish and are recorded.
// While the run is paused, Run returns a *durable.PausedError, and workers do not claim
// the run. A failed run can be paused. If the run has ended in any other way, the error
// matches [ErrConflict]. It is not an error to pause a run twice.
func (c *Client) Pause(ctx context.Context, run string, by ...events.Operator) error {
	return c.hold(ctx, run, &record.Hold{By: operator(by), Root: run})
}

func (c *Client) hold(ctx context.Context, run string, h *record.Hold) error {
	idle, fence, key := false, uint64(0), c.ns.Key(storage.KindRun, run, "")
	err := c.ns.Update(ctx, []storage.Key{key}, func(tx storage.Tx) (storage.Writes, error) {
		r := tx.Record(key)
		fence = r.Fence
		b, err := record.Decode[record.Run](r)
		switch {
		case err != nil:
			return storage.Writes{}, err
		case r.Version == 0:
			return storage.Writes{}, fmt.Errorf("run %q: %w", run, fault.ErrNotFound)
		case b.Hold != nil:
			return storage.Writes{}, nil
		case r.Status.EndsRun() && r.Status != storage.StatusFailed:
			return storage.Writes{}, fmt.Errorf("run %q has %v: %w", run, r.Status, fault.ErrConflict)
		}
		idle = r.Owner == ""
		b.Hold = &record.Hold{By: h.By, Root: h.Root, Due: r.Due}
		r.Status, r.Attention, r.Due = storage.StatusPaused, true, time.Time{}
		return writeRun(r, &b, newAudit(r, tx.Now, ActionPaused, h.By))
	})
	if err != nil {
		return err
	}
	if idle { // or its execution reports it
		c.ns.Event(ctx, events.Event{Kind: events.EventPaused, Run: run, By: h.By})
	}
	if c.ns.Halt != nil {
		c.ns.Halt(run, fence, h)
	}
	return c.eachChild(ctx, run, func(child string) error { return c.hold(ctx, child, h) })
}

// Resume continues a run that was paused with [Client.Pause], and its descendants that were
// paused along with it. It does not change steps. Resume also continues a failed run of a
// handler, and a run that was paused because it crashed too often without making
// progress. Afterwards, let workers execute the run, or call Run. If the run also has
// steps in doubt, it stays paused until they are resolved. If the run does not exist, the
// error matches [ErrNotFound]. If it is in any other state, the error matches
// [ErrConflict].
func (c *Client) Resume(ctx context.Context, run string, by ...events.Operator) error {
	return c.resume(ctx, run, run, operator(by))
}

// resume continues a run. root is the run that the operator has named.
func (c *Client) resume(ctx context.Context, run, root string, by events.Operator) error {
	// The children first: if the store fails, the run is still paused, and Resume
	// can be called again.
	err := c.eachChild(ctx, run, func(child string) error { return c.resume(ctx, child, root, by) })
	if err != nil {
		return err
	}
	key, id := c.ns.Key(storage.KindRun, run, ""), record.Token(8)
	for {
		known, err := c.ns.Store.Get(ctx, []storage.Key{key})
		if err != nil {
			return err
		}
		var blocked []string
		if known[0].Status == storage.StatusPaused {
			if blocked, err = c.ns.BlockedSteps(ctx, run); err != nil {
				return err
			}
		}
		err = c.ns.Update(ctx, []storage.Key{key}, func(tx storage.Tx) (storage.Writes, error) {
			r := tx.Record(key)
			b, err := record.Decode[record.Run](r)
			switch {
			case err != nil:
				return storage.Writes{}, err
			case b.Operated == id: // the reply was lost
				return storage.Writes{}, nil
			case r.Version != known[0].Version:
				return storage.Writes{}, errRunChanged
			}
			if err := resumable(r, &b, root, blocked); err != nil {
				return storage.Writes{}, err
			}
			b.Operated = id
			reopen(&r, &b, blocked, tx.Now)
			return writeRun(r, &b, newAudit(r, tx.Now, ActionResumed, by))
		})
		switch {
		case err == nil:
			c.ns.Event(ctx, events.Event{Kind: events.EventUnpaused, Run: run, By: by})
			c.ns.Notify(run)
			return nil
		case err != errRunChanged:
			return err
		}
	}
}

// resumable returns why a run cannot be resumed, or nil. blocked are its steps
// that wait for a person.
func resumable(r storage.Record, b *record.Run, root string, blocked []string) error {
	run := r.Key.Run
	switch {
	case r.Version == 0:
		return fmt.Errorf("run %q: %w", run, fault.ErrNotFound)
	case b.Hold != nil && (run == root || b.Hold.Root == root):
		return nil
	case run != root:
		return fmt.Errorf("run %q was not paused with run %q: %w", run, root, fault.ErrConflict)
	case r.Status == storage.StatusPaused && len(blocked) > 0:
		return fmt.Errorf("run %q waits for its steps: resolve %s: %w", run, fault.Some(blocked), fault.ErrConflict)
	case r.Status == storage.StatusPaused || r.Status == storage.StatusFailed:
		return nil
	}
	return fmt.Errorf("run %q is %v, neither paused nor failed: %w", run, r.Status, fault.ErrConflict)
}

// reopen ends the pause of a run, unless steps wait for a person. An engine that
// still executes it goes on, or gives it up.
func reopen(r *storage.Record, b *record.Run, blocked []string, now time.Time) {
	due := now
	if b.Hold != nil && b.Claimed.IsZero() && b.Hold.Due.After(now) {
		due = b.Hold.Due // it has not started yet
	}
	b.Hold, b.Recoveries, b.Ended = nil, 0, time.Time{}
	if len(blocked) > 0 && r.Owner == "" {
		return
	}
	r.Status, r.Attention, r.Due = storage.StatusOpen, false, time.Time{}
	if r.Handler != "" && r.Owner == "" {
		r.Due = due // for a worker
	}
}

// writeRun returns the writes of what an operator does to a run.
func writeRun(r storage.Record, b *record.Run, entry storage.Entry) (storage.Writes, error) {
	err := record.Encode(&r, b)
	return storage.Writes{Put: []storage.Record{r}, Add: []storage.Entry{entry}}, err
}

// eachChild calls f for the runs that a run has started, alone or as units of its
// groups, except those that have ended or are gone. It reads no other steps.
func (c *Client) eachChild(ctx context.Context, run string, f func(child string) error) error {
	call := func(prefix string) error {
		q := storage.Query{
			Kind: storage.KindStep, Space: c.ns.Space, Run: run, FromID: prefix, BeforeID: record.Following(prefix),
		}
		return c.ns.Each(ctx, q, func(r storage.Record) error {
			b, err := record.Decode[record.Step](r)
			if err != nil || b.Child == "" {
				return err
			}
			if err := f(b.Child); err != nil && !errors.Is(err, fault.ErrConflict) && !errors.Is(err, fault.ErrNotFound) {
				return err
			}
			return nil
		})
	}
	if err := call(record.ChildPrefix); err != nil {
		return err
	}
	q := storage.Query{Kind: storage.KindGroup, Space: c.ns.Space, Run: run}
	return c.ns.Each(ctx, q, func(r storage.Record) error {
		return call(record.GroupIDsOf(r.Key.ID).Units)
	})
}
