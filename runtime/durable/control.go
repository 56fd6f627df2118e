package durable

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// This file has what operators do to whole runs.

// Cancel ends a run for ever. An engine that executes it, here or elsewhere,
// starts no further attempt; the contexts of those that are executing end, here
// at once, elsewhere with the next renewal of the lease. A run that has ended is
// left as it is, and the error matches [ErrConflict]; the repetition of a
// cancellation is not an error. The runs that it has started are canceled as
// well.
func (e *Engine) Cancel(ctx context.Context, run string, by ...Operator) error {
	return e.cancel(ctx, run, run, operator(by))
}

// cancel cancels a run. root is the run that the operator has named.
func (e *Engine) cancel(ctx context.Context, run, root string, by Operator) error {
	idle, key := false, e.key(KindRun, run, "")
	err := e.update(ctx, []Key{key}, func(tx Tx) (Writes, error) {
		r := tx.Record(key)
		b, err := open[runBody](r)
		switch {
		case err != nil:
			return Writes{}, err
		case r.Version == 0:
			return Writes{}, fmt.Errorf("run %q: %w", run, ErrNotFound)
		case r.Status == StatusCanceled:
			return Writes{}, nil
		case r.Status.EndsRun() && r.Status != StatusFailed:
			return Writes{}, fmt.Errorf("run %q has %v: %w", run, r.Status, ErrConflict)
		}
		idle = r.Owner == ""
		r.Attention, b.Hold = false, nil
		if root != run {
			b.CanceledWith = root
		}
		b.end(&r, StatusCanceled, tx.Now)
		return writeRun(r, &b, newAudit(r, tx.Now, ActionCanceled, by))
	})
	if err != nil {
		return err
	}
	if idle { // or its execution reports it
		e.event(ctx, Event{Kind: EventRunCanceled, Run: run, By: by, Err: ErrCanceled})
	}
	if x := e.execution(run); x != nil {
		x.halt(ErrCanceled)
	}
	return e.eachChild(ctx, run, func(child string) error { return e.cancel(ctx, child, root, by) })
}

// Pause stops a run, and the runs that it has started, until [Engine.Resume]. An
// engine that executes it starts no further attempt: here at once, elsewhere as
// soon as it asks the store, at the latest with the next renewal of the lease.
// Attempts that are executing end and are recorded. Run then returns a
// [*PausedError], and workers leave the run alone. The error matches
// [ErrConflict] if the run has ended other than with an error; the repetition of
// a pause is not an error.
func (e *Engine) Pause(ctx context.Context, run string, by ...Operator) error {
	return e.hold(ctx, run, &hold{By: operator(by), Root: run})
}

func (e *Engine) hold(ctx context.Context, run string, h *hold) error {
	idle, fence, key := false, uint64(0), e.key(KindRun, run, "")
	err := e.update(ctx, []Key{key}, func(tx Tx) (Writes, error) {
		r := tx.Record(key)
		fence = r.Fence
		b, err := open[runBody](r)
		switch {
		case err != nil:
			return Writes{}, err
		case r.Version == 0:
			return Writes{}, fmt.Errorf("run %q: %w", run, ErrNotFound)
		case b.Hold != nil:
			return Writes{}, nil
		case r.Status.EndsRun() && r.Status != StatusFailed:
			return Writes{}, fmt.Errorf("run %q has %v: %w", run, r.Status, ErrConflict)
		}
		idle = r.Owner == ""
		b.Hold = &hold{By: h.By, Root: h.Root, Due: r.Due}
		r.Status, r.Attention, r.Due = StatusPaused, true, time.Time{}
		return writeRun(r, &b, newAudit(r, tx.Now, ActionPaused, h.By))
	})
	if err != nil {
		return err
	}
	if idle { // or its execution reports it
		e.event(ctx, Event{Kind: EventPaused, Run: run, By: h.By})
	}
	if x := e.execution(run); x != nil {
		x.hold(fence, h)
	}
	return e.eachChild(ctx, run, func(child string) error { return e.hold(ctx, child, h) })
}

// Resume continues a run that is paused by [Engine.Pause], with the runs that it
// has started and that were paused with it. It also continues a run that was
// paused because it has crashed too often without progress, and one that has
// failed where workers execute it. Then call Run, or let workers do it. A run
// that has steps in doubt as well stays paused until these are resolved. The
// error matches [ErrNotFound], or [ErrConflict] for a run in another state.
func (e *Engine) Resume(ctx context.Context, run string, by ...Operator) error {
	return e.resume(ctx, run, run, operator(by))
}

// resume continues a run. root is the run that the operator has named.
func (e *Engine) resume(ctx context.Context, run, root string, by Operator) error {
	// The children first: if the store fails, the run is still paused, and Resume
	// can be called again.
	err := e.eachChild(ctx, run, func(child string) error { return e.resume(ctx, child, root, by) })
	if err != nil {
		return err
	}
	key, id := e.key(KindRun, run, ""), token(8)
	for {
		known, err := e.store.Get(ctx, []Key{key})
		if err != nil {
			return err
		}
		var blocked []string
		if known[0].Status == StatusPaused {
			if blocked, err = e.blockedSteps(ctx, run); err != nil {
				return err
			}
		}
		err = e.update(ctx, []Key{key}, func(tx Tx) (Writes, error) {
			r := tx.Record(key)
			b, err := open[runBody](r)
			switch {
			case err != nil:
				return Writes{}, err
			case b.Operated == id: // the reply was lost
				return Writes{}, nil
			case r.Version != known[0].Version:
				return Writes{}, errRunChanged
			}
			if err := resumable(r, &b, root, blocked); err != nil {
				return Writes{}, err
			}
			b.Operated = id
			reopen(&r, &b, blocked, tx.Now)
			return writeRun(r, &b, newAudit(r, tx.Now, ActionResumed, by))
		})
		switch {
		case err == nil:
			e.event(ctx, Event{Kind: EventUnpaused, Run: run, By: by})
			e.notify(run)
			return nil
		case err != errRunChanged:
			return err
		}
	}
}

// resumable returns why a run cannot be resumed, or nil. blocked are its steps
// that wait for a person.
func resumable(r Record, b *runBody, root string, blocked []string) error {
	run := r.Key.Run
	switch {
	case r.Version == 0:
		return fmt.Errorf("run %q: %w", run, ErrNotFound)
	case b.Hold != nil && (run == root || b.Hold.Root == root):
		return nil
	case run != root:
		return fmt.Errorf("run %q was not paused with run %q: %w", run, root, ErrConflict)
	case r.Status == StatusPaused && len(blocked) > 0:
		return fmt.Errorf("run %q waits for its steps: resolve %s: %w", run, some(blocked), ErrConflict)
	case r.Status == StatusPaused || r.Status == StatusFailed:
		return nil
	}
	return fmt.Errorf("run %q is %v, neither paused nor failed: %w", run, r.Status, ErrConflict)
}

// reopen ends the pause of a run, unless steps wait for a person. An engine that
// still executes it goes on, or gives it up.
func reopen(r *Record, b *runBody, blocked []string, now time.Time) {
	due := now
	if b.Hold != nil && b.Claimed.IsZero() && b.Hold.Due.After(now) {
		due = b.Hold.Due // it has not started yet
	}
	b.Hold, b.Recoveries, b.Ended = nil, 0, time.Time{}
	if len(blocked) > 0 && r.Owner == "" {
		return
	}
	r.Status, r.Attention, r.Due = StatusOpen, false, time.Time{}
	if r.Handler != "" && r.Owner == "" {
		r.Due = due // for a worker
	}
}

// writeRun returns the writes of what an operator does to a run.
func writeRun(r Record, b *runBody, entry Entry) (Writes, error) {
	err := write(&r, b)
	return Writes{Put: []Record{r}, Add: []Entry{entry}}, err
}

// eachChild calls f for the runs that a run has started, alone or as units of its
// groups, except those that have ended or are gone. It reads no other steps.
func (e *Engine) eachChild(ctx context.Context, run string, f func(child string) error) error {
	call := func(prefix string) error {
		q := Query{Kind: KindStep, Space: e.space, Run: run, FromID: prefix, BeforeID: following(prefix)}
		return e.each(ctx, q, func(r Record) error {
			b, err := open[stepBody](r)
			if err != nil || b.Child == "" {
				return err
			}
			if err := f(b.Child); err != nil && !errors.Is(err, ErrConflict) && !errors.Is(err, ErrNotFound) {
				return err
			}
			return nil
		})
	}
	if err := call(childPrefix); err != nil {
		return err
	}
	return e.each(ctx, Query{Kind: KindGroup, Space: e.space, Run: run}, func(r Record) error {
		return call(idsOf(r.Key.ID).units)
	})
}
