package durable

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A RunError is the error of a run that [Await] waited for.
type RunError struct {
	Run    string
	Status Status // StatusFailed, StatusCanceled, StatusTimedOut or StatusExpired
	Text   string // of the error that its function returned
}

// Error returns the run and why it has no result.
func (e *RunError) Error() string {
	text := fmt.Sprintf("run %q %v", e.Run, e.Status)
	if e.Text != "" {
		text += ": " + e.Text
	}
	return text
}

// Is reports whether target is the error that [Engine.Run] returns for the run.
func (e *RunError) Is(target error) bool {
	switch target {
	case ErrCanceled:
		return e.Status == StatusCanceled
	case ErrTimedOut:
		return e.Status == StatusTimedOut
	case ErrExpired:
		return e.Status == StatusExpired
	}
	return false
}

// Await waits until a run has ended, and returns its result, or a [*RunError]. A
// run that is paused has not ended. Within a run that a worker executes, Await
// parks that run, which needs no process until the other one has ended: return
// its error. Elsewhere Await asks the store every second, and at once when the
// same engine has ended the run, or a store that is a [Notifier] reports the end of
// a run. The error matches
// [ErrNotFound] if the run does not exist, and [ErrConflict] if it waits for the
// run that calls Await: it is that run, or is parked, itself or through others,
// until that run has ended.
func Await[Out any](ctx context.Context, e *Engine, id string) (Out, error) {
	var value Out
	result, err := e.await(ctx, id)
	if err != nil {
		return value, err
	}
	return value, resultError("", result.decode(e.codec, &value))
}

func (e *Engine) await(ctx context.Context, id string) (*payload, error) {
	caller := "" // the run that waits, if any
	c := fromContext(ctx)
	if c != nil && c.x.e == e {
		caller = c.x.id
	}
	result, ended, err := e.result(ctx, id, caller)
	if ended || err != nil {
		return result, err
	}
	if caller != "" && c.info == nil && c.x.handler != "" {
		return nil, c.x.parkCaller(c.unit, time.Time{}, id)
	}
	if caller != "" && c.info == nil {
		if err := c.x.awaiting(ctx); err != nil {
			return nil, err
		}
	}
	l := e.listen(id)
	defer l.close()
	for {
		// It may have ended since, and before it is listened for.
		failed := l.subscribe(ctx)
		if result, ended, err := e.result(ctx, id, caller); ended || err != nil {
			return result, err
		}
		if failed != nil {
			e.event(ctx, Event{Kind: EventStoreError, Run: id, Err: failed})
		}
		if !pause(ctx, awaitPause) || !l.wait(ctx, awaitPoll) {
			return nil, context.Cause(ctx)
		}
	}
}

// result returns the result of a run, or its error, and whether it has ended. It
// is an error if the run waits for the caller, which is a run or "".
func (e *Engine) result(ctx context.Context, id, caller string) (result *payload, ended bool, err error) {
	r, b, err := e.runRecord(ctx, id)
	switch {
	case err != nil:
		return nil, false, err
	case r.Version == 0:
		return nil, false, fmt.Errorf("run %q: %w", id, ErrNotFound)
	case r.Status == StatusSucceeded && b.Result == nil:
		return &payload{}, true, nil
	case r.Status == StatusSucceeded:
		return b.Result, true, nil
	case r.Status.EndsRun():
		return nil, true, &RunError{Run: id, Status: r.Status, Text: b.Error}
	case caller == "":
		return nil, false, nil
	}
	cycle, err := awaitPath(id, caller, func(run string) (Record, runBody, error) { return e.runRecord(ctx, run) })
	if err == nil && cycle != nil {
		err = fmt.Errorf("runs wait for each other: %s: %w", path(append(cycle, id)), ErrConflict)
	}
	return nil, false, err
}

// runRecord returns the record of a run, decoded.
func (e *Engine) runRecord(ctx context.Context, run string) (r Record, b runBody, err error) {
	records, err := e.store.Get(ctx, []Key{e.key(KindRun, run, "")})
	if err != nil {
		return r, b, err
	}
	b, err = open[runBody](records[0])
	return records[0], b, err
}

// awaitPath returns the runs from one to another, each of which is parked until
// the next has ended, or nil. get returns the record of a run.
func awaitPath(from, to string, get func(string) (Record, runBody, error)) ([]string, error) {
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
		if err != nil || r.Status != StatusParked {
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

// path returns some runs for a message.
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
	awaitPoll  = time.Second           // how often Await asks the store
	awaitPause = 10 * time.Millisecond // the least time in between: notifications are for any run
)
