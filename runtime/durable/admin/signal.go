package admin

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/fault"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// Signal sends a value to a durable.Wait of a run. The call to Wait returns the value.
// step is the wait's id as returned by [Client.Steps]: the wait's name, preceded by the
// scopes in which it is called. If Wait has not been called yet, the signal is kept. If
// the run is parked and workers execute it, it continues at once. Otherwise, call Run.
//
// The value is encoded like a result, with the same limits. If it cannot be encoded, the
// error matches [ErrResult]. Only the first signal counts. It is not an error to send an
// equal value again, so a webhook may repeat its request. The error matches [ErrConflict]
// for a different value, for a wait that has timed out, for a step that is not a Wait,
// and for a run that has ended. It matches [ErrNotFound] if the run does not exist.
func (c *Client) Signal(ctx context.Context, run, step string, value any, by ...events.Operator) error {
	if err := checkSignal(step); err != nil {
		return err
	}
	s := signal{
		run: c.ns.Key(storage.KindRun, run, ""), step: c.ns.Key(storage.KindStep, run, step), by: operator(by),
		value: record.NewPayload(c.ns.Codec, value),
	}
	err := s.value.Refused()
	if err != nil {
		return fmt.Errorf("step %q of run %q: %w", step, run, err)
	}
	if s.digest, err = record.DigestOf(value); err != nil {
		return fmt.Errorf("%w: %w", fault.ErrArguments, err)
	}
	err = c.ns.Update(ctx, []storage.Key{s.run, s.step}, s.decide)
	if err != nil {
		return err
	}
	if !s.known {
		c.ns.Event(ctx, events.Event{Kind: events.EventSignaled, Run: run, Step: step, By: s.by})
	}
	c.ns.Notify(run)
	return nil
}

// checkSignal returns an error for an id that no durable.Wait can have.
func checkSignal(step string) error {
	switch {
	case step == "" || len(step) > record.MaxID || !utf8.ValidString(step) || strings.ContainsRune(step, 0):
		return fmt.Errorf("%w: step %.40q", fault.ErrID, step)
	case strings.HasPrefix(step, record.InGroups) || strings.HasPrefix(step, record.ChildPrefix):
		return fmt.Errorf("%w: step %.40q is not the id of a wait", fault.ErrID, step)
	}
	return nil
}

// A signal is a value for a step that waits for it.
type signal struct {
	run    storage.Key
	step   storage.Key
	value  record.Payload
	digest string // of the value before it was encoded
	by     events.Operator
	known  bool // it was sent before
}

// decide ends the step with the value, and wakes its run.
func (s *signal) decide(tx storage.Tx) (storage.Writes, error) {
	r, step := tx.Record(s.run), tx.Record(s.step)
	b, err := record.Decode[record.Run](r)
	switch {
	case err != nil:
		return storage.Writes{}, err
	case r.Version == 0:
		return storage.Writes{}, fmt.Errorf("run %q: %w", r.Key.Run, fault.ErrNotFound)
	}
	o := operation{now: tx.Now, by: s.by, step: step}
	if o.body, err = record.Decode[record.Step](step); err != nil {
		return storage.Writes{}, err
	}
	if s.known = step.Status == storage.StatusSucceeded && o.body.Signal == s.digest; s.known {
		return storage.Writes{}, nil
	}
	if err := signalable(r, step, &o.body); err != nil {
		return storage.Writes{}, err
	}
	if step.Version == 0 {
		o.body = record.Step{
			Name: step.Key.ID[strings.LastIndex(step.Key.ID, ":")+1:], Function: record.WaitFunction, First: tx.Now,
		}
		o.step.Bucket = r.Bucket
	}
	o.step.Status, o.step.Fence = storage.StatusSucceeded, r.Fence
	o.body.Ended, o.body.NextAt, o.body.Delay = tx.Now, time.Time{}, 0
	o.body.Result, o.body.Signal = &s.value, s.digest
	o.record(events.OutcomeSignaled, "")
	if err := record.EncodeStep(&o.step, &o.body); err != nil {
		return storage.Writes{}, err
	}
	w := storage.Writes{Put: []storage.Record{o.step}, Add: o.add}
	switch {
	case r.Status == storage.StatusParked:
		record.DueNow(&r, tx.Now)
	case r.Owner != "": // it may be about to be parked
		b.Woken = true
	default:
		return w, nil
	}
	err = record.Encode(&r, &b)
	w.Put = append(w.Put, r)
	return w, err
}

// signalable returns why a signal cannot be sent to a step, or nil.
func signalable(run, step storage.Record, b *record.Step) error {
	switch {
	case run.Status.EndsRun():
		return fmt.Errorf("run %q has ended: it is %v: %w", run.Key.Run, run.Status, fault.ErrConflict)
	case step.Version == 0:
		return nil
	case b.Function != record.WaitFunction:
		return fmt.Errorf("step %q of run %q does not wait for a signal: %w", step.Key.ID, run.Key.Run, fault.ErrConflict)
	case step.Status == storage.StatusSucceeded:
		return fmt.Errorf("step %q of run %q has another value: %w", step.Key.ID, run.Key.Run, fault.ErrConflict)
	case step.Status == storage.StatusWaiting || step.Status == storage.StatusOpen:
		return nil
	case b.Reason == record.ErrNoSignal:
		return fmt.Errorf("step %q of run %q: %s: %w", step.Key.ID, run.Key.Run, record.ErrNoSignal, fault.ErrConflict)
	}
	return fmt.Errorf("step %q of run %q is %v: %w", step.Key.ID, run.Key.Run, step.Status, fault.ErrConflict)
}
