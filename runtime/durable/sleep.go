package durable

import (
	"context"
	"fmt"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// sleepPark is the longest sleep during which a run keeps the slot of a worker.
const sleepPark = time.Minute

// Sleep waits for d as a step of the run in ctx. The end of the wait is recorded once, by
// the store's clock. After a crash, Sleep waits only for the remaining time. Once the
// wait has ended, later executions of the run do not wait again. Sleep parks the run if
// the wait does not fit within the deadline of ctx, or if it is longer than a minute and
// a worker executes the run. In this case, return the error from Sleep. If the wait ended
// while no process was running, the run continues after a random delay, which is at most
// the length of the sleep and at most 30s.
//
// The name and the errors have the same meaning as in [Step]. If the duration differs
// from the recorded one, the error is a [*ChangedError]. A second call with the same name
// in one execution needs a [Scope]. A sleep is not an attempt and cannot fail. If Sleep
// is called within a step, the error matches [ErrConflict].
func Sleep(ctx context.Context, name string, d time.Duration) error {
	end := func(now time.Time) time.Time { return now.Add(max(d, 0)) }
	_, err := callPause(ctx, record.SleepFunction, name, genapi.Arguments("d", d), pausing{end: end})
	return err
}

// SleepUntil is like [Sleep], but waits until a time by the store's clock. The time must
// be the same in each execution of the run, so take it from the result of a step or from
// the run's input. Otherwise the error is a [*ChangedError].
func SleepUntil(ctx context.Context, name string, t time.Time) error {
	end := func(time.Time) time.Time { return t }
	_, err := callPause(ctx, record.UntilFunction, name, genapi.Arguments("t", t.Round(0).UTC()), pausing{end: end})
	return err
}

// Wait waits until admin.Client.Signal sends a value to the step, and returns the value.
// A signal that was sent earlier is kept. Without an earlier signal, the run is parked,
// and needs no process until a signal arrives or the timeout has passed. In this case,
// return the error from Wait, which is a [*ParkedError]. When the signal arrives, a
// worker continues the run at once. A run that [Engine.Run] executes continues when Run
// is called again.
//
// After the timeout, the error is a [*StepError] that matches [ErrNoSignal]. It is
// recorded like the value, so that later executions of the run take the same branch. From
// then on, signals are refused. admin.Client.Requeue makes the step wait again. With a
// timeout of 0, Wait returns a signal only if it was sent earlier.
//
// The name and the other errors have the same meaning as in [Step]. If the timeout
// differs from the recorded one, the error is a [*ChangedError]. If Wait is called within
// a step, the error matches [ErrConflict].
func Wait[T any](ctx context.Context, name string, timeout time.Duration) (T, error) {
	var value T
	end := func(now time.Time) time.Time { return now.Add(max(timeout, 0)) }
	p := pausing{end: end, reason: ErrNoSignal}
	result, err := callPause(ctx, record.WaitFunction, name, genapi.Arguments("timeout", timeout), p)
	if err != nil {
		return value, err
	}
	err = resultError(fromContext(ctx).x.id, name, result.Decode(fromContext(ctx).x.e.ns.Codec, &value))
	return value, err
}

// A pausing describes how a step waits that calls no function.
type pausing struct {
	end    func(now time.Time) time.Time // by the clock of the store
	reason retry.Reason                  // why the step fails at the end of the wait; "" if it succeeds
}

// callPause calls a step that only waits.
func callPause(ctx context.Context, function, name string, args genapi.Digest, p pausing) (*record.Payload, error) {
	c := fromContext(ctx)
	switch {
	case c == nil:
		return nil, fmt.Errorf("step %q: %w", name, ErrNoRun)
	case c.attempt != nil:
		return nil, fmt.Errorf("step %q: %s within a step: %w", name, function, ErrConflict)
	}
	s := &genapi.StepPolicy{Name: name, Function: function, Policy: &retry.Policy{}}
	switch {
	case p.reason != "":
		s.ParkAfter = 1 // park immediately
	case c.x.handler != "":
		s.ParkAfter = sleepPark
	}
	call, err := c.x.newCall(ctx, c.unit, s, genapi.StepID{}, args)
	if err != nil {
		return nil, err
	}
	call.pause = &p
	return c.x.step(ctx, call)
}

// pause decides on a step that only waits: the wait begins, continues, or has ended.
func (v *stepView) pause(in *starting) (storage.Writes, next, error) {
	s, p := &v.body, v.c.pause
	if v.step.Version == 0 {
		*s = record.Step{Name: v.c.policy.Name, Function: v.c.policy.Function, Arguments: v.c.digest, First: v.now}
		v.step = storage.Record{Key: v.c.key}
	}
	if v.step.Status != storage.StatusWaiting { // the step is new or was requeued
		s.NextAt = p.end(v.now)
		s.Delay = max(s.NextAt.Sub(v.now), 0)
		if v.step.Status, s.Error = storage.StatusWaiting, nil; s.Delay > 0 {
			v.event = events.Event{Kind: events.EventWaiting, Wait: s.Delay}
			return v.refuse(in)
		}
	} else if n := v.next(); !in.due && (n.wait > 0 || v.spread(&n, in.spread)) {
		n.event = events.Event{Kind: events.EventWaiting, Wait: n.wait}
		return storage.Writes{}, n, nil
	}
	v.event = events.Event{Kind: events.EventElapsed, Reason: p.reason}
	s.Ended, s.NextAt, s.Delay, s.Reason = v.now, time.Time{}, 0, p.reason
	if v.step.Status = storage.StatusSucceeded; p.reason != "" {
		v.step.Status = storage.StatusFailed
	}
	return v.refuse(in)
}
