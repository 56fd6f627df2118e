package durable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/namespace"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A RunError is the error of a run that [Await] waited for.
type RunError struct {
	Run    string
	Status storage.Status // StatusFailed, StatusCanceled, StatusTimedOut or StatusExpired
	Text   string         // text of the error that the run's function returned
}

// Error describes the run and why it has no result.
func (e *RunError) Error() string {
	text := fmt.Sprintf("run %q %v", e.Run, e.Status)
	if e.Text != "" {
		text += ": " + e.Text
	}
	return text
}

// Is reports whether target is the error that [Engine.Run] would return for the run.
func (e *RunError) Is(target error) bool {
	switch target {
	case ErrCanceled:
		return e.Status == storage.StatusCanceled
	case ErrTimedOut:
		return e.Status == storage.StatusTimedOut
	case ErrExpired:
		return e.Status == storage.StatusExpired
	}
	return false
}

// Await waits until a run has ended, and returns its result or a [*RunError]. A paused
// run does not count as ended. If Await is called in a run that a worker is executing, it
// parks the calling run, which needs no process until the other run has ended. In this
// case, the calling run must return the error from Await. Elsewhere, Await asks the store
// once a second. It returns at once if the same engine ends the run, or if the store is a
// [storage.Notifier] and reports the end.
//
// The error matches [ErrNotFound] if the run does not exist. It matches [ErrConflict] if
// the calling run would wait for itself, directly or through other runs.
func Await[Out any](ctx context.Context, e *Engine, id string) (Out, error) {
	var value Out
	result, err := e.await(ctx, id)
	if err != nil {
		return value, err
	}
	return value, resultError(id, "", result.Decode(e.ns.Codec, &value))
}

func (e *Engine) await(ctx context.Context, id string) (*record.Payload, error) {
	caller := "" // the run that is waiting, if any
	c := fromContext(ctx)
	if c != nil && c.x.e == e {
		caller = c.x.id
	}
	result, ended, err := e.result(ctx, id, caller)
	if ended || err != nil {
		return result, err
	}
	if caller != "" && c.attempt == nil && c.x.handler != "" {
		return nil, c.x.parkCaller(c.unit, time.Time{}, id)
	}
	if caller != "" && c.attempt == nil {
		if err := c.x.awaiting(ctx); err != nil {
			return nil, err
		}
	}
	l := e.ns.Listen(id)
	defer l.Close()
	announced := false
	for wait := awaitPause; ; wait = min(2*wait, awaitPoll) {
		var failed error
		if wait > awaitAlone {
			wait, failed = awaitPoll, l.Subscribe(ctx)
			if !announced {
				err := e.announce(ctx, id)
				announced, failed = err == nil, errors.Join(failed, err)
			}
		}
		// The run may have ended since it was read and before the listener was registered.
		if result, ended, err := e.result(ctx, id, caller); ended || err != nil {
			return result, err
		}
		if failed != nil {
			e.ns.Event(ctx, events.Event{Kind: events.EventStoreError, Run: id, Err: failed})
		}
		if !namespace.Pause(ctx, awaitPause) || !l.Wait(ctx, wait) {
			return nil, context.Cause(ctx)
		}
	}
}

// announce records that a caller waits for the end of a run, so that the store reports it.
func (e *Engine) announce(ctx context.Context, id string) error {
	if _, ok := e.ns.Store.(storage.Notifier); !ok {
		return nil
	}
	key := e.ns.Key(storage.KindRun, id, "")
	return e.ns.Update(ctx, []storage.Key{key}, func(tx storage.Tx) (w storage.Writes, err error) {
		if r := tx.Record(key); r.Version > 0 && !r.Awaited && !r.Status.EndsRun() {
			r.Awaited = true
			w.Put = []storage.Record{r}
		}
		return w, nil
	})
}

// result returns the result or the error of a run, and whether the run has ended. caller is the
// run that is waiting, or "". If the run already waits for the caller, result returns an error.
func (e *Engine) result(ctx context.Context, id, caller string) (result *record.Payload, ended bool, err error) {
	r, b, err := e.runRecord(ctx, id)
	switch {
	case err != nil:
		return nil, false, err
	case r.Version == 0:
		return nil, false, fmt.Errorf("run %q: %w", id, ErrNotFound)
	case r.Status == storage.StatusSucceeded && b.Result == nil:
		return &record.Payload{}, true, nil
	case r.Status == storage.StatusSucceeded:
		return b.Result, true, nil
	case r.Status.EndsRun():
		return nil, true, &RunError{Run: id, Status: r.Status, Text: b.Error}
	case caller == "":
		return nil, false, nil
	}
	cycle, err := awaitPath(
		id, caller, func(run string) (storage.Record, record.Run, error) { return e.runRecord(ctx, run) },
	)
	if err == nil && cycle != nil {
		err = fmt.Errorf("runs wait for each other: %s: %w", path(append(cycle, id)), ErrConflict)
	}
	return nil, false, err
}

// runRecord returns the record of a run and its decoded body.
func (e *Engine) runRecord(ctx context.Context, run string) (r storage.Record, b record.Run, err error) {
	records, err := e.ns.Store.Get(ctx, []storage.Key{e.ns.Key(storage.KindRun, run, "")})
	if err != nil {
		return r, b, err
	}
	b, err = record.Decode[record.Run](records[0])
	return records[0], b, err
}

// awaitPath returns a chain of runs from one run to another in which each run is parked until
// the next one has ended, or nil if there is none. get returns the record of a run.
func awaitPath(from, to string, get func(string) (storage.Record, record.Run, error)) ([]string, error) {
	seen := map[string]bool{}
	var search func(run string) ([]string, error)
	search = func(run string) ([]string, error) {
		if run == to {
			return []string{to}, nil
		}
		if seen[run] {
			return nil, nil
		}
		seen[run] = true
		r, b, err := get(run)
		if err != nil || r.Status != storage.StatusParked {
			return nil, err
		}
		for _, next := range b.Awaits {
			if rest, err := search(next); rest != nil || err != nil {
				return slices.Insert(rest, 0, run), err
			}
		}
		return nil, nil
	}
	return search(from)
}

// path formats a chain of runs for a message.
func path(runs []string) string {
	const most = 4
	text := make([]string, 0, most)
	for i, run := range runs {
		switch {
		case i < most-1 || i == len(runs)-1:
			text = append(text, fmt.Sprintf("%.24q", run))
		case i == most-1:
			text = append(text, fmt.Sprintf("%d more", len(runs)-most))
		}
	}
	return strings.Join(text, " -> ")
}

const (
	awaitPoll = time.Second // the interval at which Await queries the store
	// awaitAlone is the maximum time for which Await only queries the store. After that, it
	// requests a notification. This requires a transaction, and transactions that send
	// notifications have to wait for each other.
	awaitAlone = 40 * time.Millisecond
	awaitPause = 10 * time.Millisecond // the minimum time between queries, because notifications are for any run
)
