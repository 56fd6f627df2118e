package durable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A handler executes the runs that are started under its name.
type handler struct {
	invoke  func(context.Context, *payload) (payload, error)
	options []RunOption
}

// Handle registers a function that executes runs: those that [Start] creates with
// the name and, if there is one, the [Version] among the options. [Engine.Work]
// calls it, in this or in another process that has registered it. The options
// apply to runs that this engine starts. Handle panics if the name is empty or
// has other characters than letters, digits, and ".-_", or if it is registered
// already. A panic of the function ends the process, as any other panic does; the
// run is then executed by another worker, at most 10 times without progress.
func Handle[In, Out any](
	e *Engine, name string, fn func(context.Context, In) (Out, error), options ...RunOption,
) {
	key, err := handlerKey(name, newRunOptions(options).version)
	if err != nil {
		panic("durable: " + err.Error())
	}
	h := &handler{options: options, invoke: func(ctx context.Context, input *payload) (payload, error) {
		var in In
		if err := input.decode(e.codec, "", &in); err != nil {
			return payload{}, fmt.Errorf("the input of the run: %w", err)
		}
		out, err := fn(ctx, in)
		if err != nil {
			return payload{}, err
		}
		return encode(e.codec, out), nil
	}}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.handlers[key] != nil {
		panic(fmt.Sprintf("durable: handler %q is registered twice", key))
	}
	e.handlers[key] = h
}

// handlerKey returns what a run records of its handler: a worker claims only the
// runs whose handler and version it has.
func handlerKey(name string, version int) (string, error) {
	allowed := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune(".-_", r)
	}
	if name == "" || len(name) > maxID || strings.ContainsFunc(name, func(r rune) bool { return !allowed(r) }) {
		return "", fmt.Errorf("%w: handler %.40q: use letters, digits, dots, hyphens and underscores", ErrID, name)
	}
	if version == 0 {
		return name, nil
	}
	return name + "@" + strconv.Itoa(version), nil
}

// At delays the start of a run until a time, by the clock of the store.
func At(t time.Time) RunOption { return func(o *runOptions) { o.at = t } }

// Start creates a run for the function that is registered under a name, here or
// in another process, with its input. A worker executes it: see [Engine.Work].
// If the run exists with the same name and input, Start does nothing; otherwise
// its error matches [ErrConflict].
//
// Within a run, the new run is its child: it is canceled with its parent, and it
// goes on if its parent ends.
func Start[In any](ctx context.Context, e *Engine, name, id string, in In, options ...RunOption) error {
	input := encode(e.codec, in)
	if input.Refuse != "" {
		return &ResultError{Step: "", Type: input.Type, Err: errors.New(input.Refuse)}
	}
	return e.startRun(ctx, name, id, &input, options)
}

func (e *Engine) startRun(ctx context.Context, name, id string, input *payload, options []RunOption) error {
	if err := checkRunID(id); err != nil {
		return err
	}
	key, err := handlerKey(name, newRunOptions(options).version)
	if err != nil {
		return err
	}
	e.mu.Lock()
	if h := e.handlers[key]; h != nil {
		options = append(h.options[:len(h.options):len(h.options)], options...)
	}
	e.mu.Unlock()
	o := newRunOptions(options)
	o.correlation = e.spanID(ctx)
	keys := []Key{e.key(KindRun, id, ""), e.key(KindBudget, id, "")}
	parent := fromContext(ctx)
	if parent != nil && parent.x.e == e {
		if err := parent.x.ready(ctx); err != nil {
			return err
		}
		keys = append(keys, e.key(KindRun, parent.x.id, ""), e.key(KindStep, parent.x.id, childID(id)))
	} else {
		parent = nil
	}
	created := false
	err = e.update(ctx, keys, func(tx Tx) (w Writes, err error) {
		w, created, err = decideStartRun(tx, key, input, &o, parent)
		return w, err
	})
	if err != nil {
		return err
	}
	if created {
		e.event(ctx, Event{Kind: EventCreated, Run: id})
		e.notify(id)
	}
	return nil
}

// childID returns the id of the step that records a child of a run. It is not
// that of any call: their escapes are hexadecimal.
func childID(run string) string { return "%start/" + escape(run) }

// decideStartRun creates a run. The records are the run, its budget and, for a
// child, its parent and the step that links them.
func decideStartRun(
	tx Tx, handler string, input *payload, o *runOptions, parent *runContext,
) (w Writes, created bool, err error) {
	r := tx.Records[0]
	known, err := open[runBody](r)
	switch {
	case err != nil:
		return w, false, err
	case r.Version != 0 && r.Handler == handler && string(known.Input.data()) == string(input.data()):
		return w, false, nil
	case r.Version != 0:
		return w, false, fmt.Errorf("run %q exists with another function or input: %w", r.Key.Run, ErrConflict)
	}
	b := runBody{
		Created: tx.Now, Version: o.version, Keep: o.keep, Budget: o.budget != nil, Input: input,
		Correlation: o.correlation,
	}
	r.Handler, r.Status, r.Due, r.Bucket = handler, StatusOpen, tx.Now, month(tx.Now)
	if o.at.After(tx.Now) {
		r.Due = o.at
	}
	if o.timeout > 0 {
		b.Deadline = r.Due.Add(o.timeout)
	}
	if parent != nil {
		outer := tx.Records[2]
		if outer.Owner != parent.x.owner.id || outer.Fence != parent.x.fence {
			return w, false, ErrFenced
		}
		if outer.Status == StatusCanceled {
			return w, false, ErrCanceled
		}
		b.Parent, r.Bucket = outer.Key.Run, outer.Bucket
		link := tx.Records[3]
		link.Status, link.Bucket, link.Fence = StatusSucceeded, outer.Bucket, outer.Fence
		err = write(&link, &stepBody{Name: "start " + handler, Child: r.Key.Run, First: tx.Now, Ended: tx.Now})
		w.Put = append(w.Put, link)
	}
	err = errors.Join(err, write(&r, &b))
	w.Put = append(w.Put, r)
	if o.budget != nil {
		budget, failed := newCountBudget(tx.Records[1], *o.budget, r.Bucket)
		w.Put, err = append(w.Put, budget), errors.Join(err, failed)
	}
	return w, true, err
}

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
// a run. The error matches [ErrNotFound] if the run does not exist.
func Await[Out any](ctx context.Context, e *Engine, id string) (Out, error) {
	var value Out
	result, err := e.await(ctx, id)
	if err != nil {
		return value, err
	}
	return value, result.decode(e.codec, "", &value)
}

func (e *Engine) await(ctx context.Context, id string) (*payload, error) {
	c := fromContext(ctx)
	if c != nil && c.x.e == e && c.x.id == id {
		return nil, fmt.Errorf("run %q waits for itself: %w", id, ErrConflict)
	}
	result, ended, err := e.result(ctx, id)
	if ended || err != nil {
		return result, err
	}
	if c != nil && c.x.e == e && c.info == nil && c.x.handler != "" {
		return nil, c.x.parkFor(id)
	}
	l := e.listen(id)
	defer l.close()
	for {
		// It may have ended since, and before it is listened for.
		failed := l.subscribe(ctx)
		if result, ended, err := e.result(ctx, id); ended || err != nil {
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

// result returns the result of a run, or its error, and whether it has ended.
func (e *Engine) result(ctx context.Context, id string) (result *payload, ended bool, err error) {
	records, err := e.store.Get(ctx, []Key{e.key(KindRun, id, "")})
	if err != nil {
		return nil, false, err
	}
	r := records[0]
	b, err := open[runBody](r)
	switch {
	case err != nil:
		return nil, false, err
	case r.Version == 0:
		return nil, false, fmt.Errorf("run %q: %w", id, ErrNotFound)
	case r.Status == StatusSucceeded && b.Result == nil:
		return &payload{}, true, nil
	case r.Status == StatusSucceeded:
		return b.Result, true, nil
	case endedRun(r.Status):
		return nil, true, &RunError{Run: id, Status: r.Status, Text: b.Error}
	}
	return nil, false, nil
}

const (
	awaitPoll  = time.Second           // how often Await asks the store
	awaitPause = 50 * time.Millisecond // the least time in between: notifications are for any run
)

// endedRun reports whether a run is not executed any more, unless somebody
// reopens it.
func endedRun(s Status) bool {
	switch s {
	case StatusSucceeded, StatusFailed, StatusCanceled, StatusTimedOut, StatusExpired:
		return true
	}
	return false
}

// parkFor parks the execution until another run has ended.
func (x *execution) parkFor(run string) error {
	x.mu.Lock()
	if !slices.Contains(x.awaits, run) {
		x.awaits = append(x.awaits, run)
	}
	x.mu.Unlock()
	return x.park(time.Time{})
}
