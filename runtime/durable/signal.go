package durable

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Signal sends a value to a [Wait] of a run, which returns it. The step is named by
// its id: its name, after the scopes in which it is called, as [Engine.Steps] returns
// it. A signal that comes before the call of Wait is kept. A run that is parked goes
// on at once where workers execute it; otherwise call Run.
//
// The value is encoded as results are, with the same limits; the error matches
// [ErrResult] if it cannot be. The first signal counts: to send an equal value again
// is no error, so that a webhook may repeat its request. The error matches
// [ErrConflict] for another value, for a step whose timeout was recorded or that is
// no Wait, and for a run that has ended; it matches [ErrNotFound] for a run that does
// not exist.
func (e *Engine) Signal(ctx context.Context, run, step string, value any, by ...Operator) error {
	if err := checkSignal(step); err != nil {
		return err
	}
	s := signal{
		run: e.key(KindRun, run, ""), step: e.key(KindStep, run, step), by: operator(by), value: encode(e.codec, value),
	}
	err := s.value.refused()
	if err != nil {
		return resultError(step, err)
	}
	if s.digest, err = digestOf(value); err != nil {
		return fmt.Errorf("%w: %w", ErrArguments, err)
	}
	err = e.update(ctx, []Key{s.run, s.step}, s.decide)
	if err != nil {
		return err
	}
	if !s.known {
		e.event(ctx, Event{Kind: EventSignaled, Run: run, Step: step, By: s.by})
	}
	e.notify(run)
	return nil
}

// checkSignal returns an error for an id that no [Wait] can have.
func checkSignal(step string) error {
	switch {
	case step == "" || len(step) > maxID || !utf8.ValidString(step) || strings.ContainsRune(step, 0):
		return fmt.Errorf("%w: step %.40q", ErrID, step)
	case strings.HasPrefix(step, inGroups) || strings.HasPrefix(step, childPrefix):
		return fmt.Errorf("%w: step %.40q is not the id of a wait", ErrID, step)
	}
	return nil
}

// A signal is a value for a step that waits for it.
type signal struct {
	run    Key
	step   Key
	value  payload
	digest string // of the value before it was encoded
	by     Operator
	known  bool // it was sent before
}

// decide ends the step with the value, and wakes its run.
func (s *signal) decide(tx Tx) (Writes, error) {
	r, step := tx.Record(s.run), tx.Record(s.step)
	b, err := open[runBody](r)
	switch {
	case err != nil:
		return Writes{}, err
	case r.Version == 0:
		return Writes{}, fmt.Errorf("run %q: %w", r.Key.Run, ErrNotFound)
	}
	o := operation{now: tx.Now, by: s.by, step: step}
	if o.body, err = open[stepBody](step); err != nil {
		return Writes{}, err
	}
	if s.known = step.Status == StatusSucceeded && o.body.Signal == s.digest; s.known {
		return Writes{}, nil
	}
	if err := signalable(r, step, &o.body); err != nil {
		return Writes{}, err
	}
	if step.Version == 0 {
		o.body = stepBody{Name: step.Key.ID[strings.LastIndex(step.Key.ID, ":")+1:], Function: waitFunction, First: tx.Now}
		o.step.Bucket = r.Bucket
	}
	o.step.Status, o.step.Fence = StatusSucceeded, r.Fence
	o.body.Ended, o.body.NextAt, o.body.Delay = tx.Now, time.Time{}, 0
	o.body.Result, o.body.Signal = &s.value, s.digest
	o.record(OutcomeSignaled, "")
	if err := writeStep(&o.step, &o.body); err != nil {
		return Writes{}, err
	}
	w := Writes{Put: []Record{o.step}, Add: o.add}
	switch {
	case r.Status == StatusParked:
		dueNow(&r, tx.Now)
	case r.Owner != "": // it may be about to be parked
		b.Woken = true
	default:
		return w, nil
	}
	err = write(&r, &b)
	w.Put = append(w.Put, r)
	return w, err
}

// signalable returns why a signal cannot be sent to a step, or nil.
func signalable(run, step Record, b *stepBody) error {
	switch {
	case run.Status.EndsRun():
		return fmt.Errorf("run %q has ended: it is %v: %w", run.Key.Run, run.Status, ErrConflict)
	case step.Version == 0:
		return nil
	case b.Function != waitFunction:
		return fmt.Errorf("step %q of run %q does not wait for a signal: %w", step.Key.ID, run.Key.Run, ErrConflict)
	case step.Status == StatusSucceeded:
		return fmt.Errorf("step %q of run %q has another value: %w", step.Key.ID, run.Key.Run, ErrConflict)
	case step.Status == StatusWaiting || step.Status == StatusOpen:
		return nil
	case b.Reason == ErrNoSignal:
		return fmt.Errorf("step %q of run %q: %s: %w", step.Key.ID, run.Key.Run, ErrNoSignal, ErrConflict)
	}
	return fmt.Errorf("step %q of run %q is %v: %w", step.Key.ID, run.Key.Run, step.Status, ErrConflict)
}
