package durable

import (
	"context"
	"fmt"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/internal/namespace"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// This file records the ends of attempts together with the next change of their run. An
// execution defers at most one end. Every transaction in which the execution changes its run
// first records the deferred end, and then its own decision. Both are committed or neither: see
// update. Before the execution calls a function whose start is not recorded, it records the
// deferred end separately: see flush.

// Hold delays recording the success of an idempotent step until the next transaction of
// its run. That transaction records the success together with the start of the next step
// or with the end of the run. With Hold, a run with n such steps takes n + 2 transactions
// instead of 2n + 2. Without Hold, a step does not return until its success is recorded.
//
// If the process crashes before that transaction, the attempt is lost, although the run's
// function has seen its result. The step is executed again with the same idempotency key,
// and may return a different result. No later step was executed with the first result,
// but code between the steps may have used it. So use Hold only for functions in which
// the code between the steps has no effects outside the process.
//
// A success is held for at most 5ms. It is not held while other steps of the run are
// being executed, or within a group. It is recorded before the run does anything whose
// start is not recorded, such as executing a step with genapi.RecordFailures or without a
// policy, or starting another run.
//
// Hold is an option of [Run] and [Handle]. It applies only to executions in this process
// and is not recorded. If it is passed to [Start], Start returns an error that matches
// [ErrConflict].
func Hold() RunOption { return func(o *runOptions) { o.hold = true } }

// holdMost is the maximum time for which a success waits for another transaction.
const holdMost = 5 * time.Millisecond

// A deferredEnd is the success of a step whose result the function of the run has already seen.
// The next transaction of the run records it.
type deferredEnd struct {
	ctx   context.Context // the context of the call, for events
	call  *stepCall
	end   *attemptEnd
	timer *time.Timer
	turn  chan struct{} // contains an element while no transaction records the end
}

// deferEnd defers the end of an attempt to the next transaction, if the end may be deferred,
// and returns what follows.
func (x *execution) deferEnd(ctx context.Context, c *stepCall, end *attemptEnd) (n next, ok bool, err error) {
	if !x.holds || end.unstarted || c.unit != nil || onLost(c.policy) != genapi.OnLostRetry {
		return n, false, nil
	}
	end.fence, end.owner = x.fence, x.owner.id
	d := &deferredEnd{
		ctx: context.WithoutCancel(ctx), call: c, end: end, turn: make(chan struct{}, 1),
		timer: time.AfterFunc(holdMost, x.flushLate),
	}
	d.turn <- struct{}{}
	if !x.deferred.CompareAndSwap(nil, d) {
		d.timer.Stop()
		return n, false, nil
	}
	if !x.gate.alone() { // another step may already use the effect of this one
		err = x.flush(ctx)
	}
	n = next{kind: nextFinished, record: storage.Record{Key: c.key, Status: storage.StatusSucceeded}}
	n.body = record.Step{Function: c.policy.Function, Arguments: c.digest, Attempts: end.number, Result: &end.result}
	return n, true, err
}

// take waits until no other transaction is recording the deferred end, and returns it, or nil
// if there is none. The caller must return the turn.
func (x *execution) take(ctx context.Context) (*deferredEnd, error) {
	for {
		d := x.deferred.Load()
		if d == nil {
			return nil, nil
		}
		select {
		case <-d.turn:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", storage.ErrStore, ctx.Err())
		}
		if x.deferred.Load() == d {
			return d, nil
		}
		d.turn <- struct{}{} // the end was recorded
	}
}

// update changes records of the run in one transaction, which first records the deferred end.
// If the end is refused because the run has another owner, decide is still called, and finds
// the same. If decide is nil, update only records the end.
func (x *execution) update(
	ctx context.Context, keys []storage.Key, decide func(storage.Tx) (storage.Writes, error),
) error {
	d, err := x.take(ctx)
	switch {
	case err != nil || d == nil && decide == nil:
		return err
	case d == nil:
		return x.e.ns.Update(ctx, keys, decide)
	}
	defer func() { d.turn <- struct{}{} }()
	var n next
	end := namespace.Decision{Keys: x.keys(d.call), Decide: func(tx storage.Tx) (storage.Writes, error) {
		w, answer, err := x.decideEnd(tx, d.call, d.end)
		n = answer.after(n)
		return w, err
	}}
	recorded := true
	if decide == nil {
		err = x.e.ns.Update(ctx, end.Keys, end.Decide)
		recorded = err == nil
	} else {
		recorded, err = x.e.ns.UpdateBoth(ctx, end, namespace.Decision{Keys: keys, Decide: decide})
	}
	if !recorded {
		return err // the end stays deferred
	}
	d.timer.Stop()
	x.deferred.Store(nil)
	x.emit(d.ctx, d.call, &n)
	if n.kind == nextFenced {
		x.halt(ErrFenced)
		if decide == nil {
			return ErrFenced
		}
	}
	return err
}

// flush records the deferred end, if there is one. If the store fails, it is retried as often
// as the recording of an end that is not deferred.
func (x *execution) flush(ctx context.Context) error {
	d := x.deferred.Load()
	if d == nil {
		return nil
	}
	return x.insist(ctx, d.call.key, nil, nil)
}

// flushOuter records the end that the run in ctx has deferred, if any, before the run starts
// another run.
func flushOuter(ctx context.Context) error {
	if outer := fromContext(ctx); outer != nil {
		return outer.x.flush(ctx)
	}
	return nil
}

// flushLate records an end that no other transaction has recorded in time. If the store fails,
// flushLate tries again each second until the function of the run has returned. After that,
// finish records the end.
func (x *execution) flushLate() {
	if !x.gate.enter() {
		return
	}
	defer x.gate.leave()
	if err := x.update(x.ctx, nil, nil); isStoreError(err) {
		x.e.ns.Event(x.ctx, events.Event{Kind: events.EventStoreError, Run: x.id, Err: err})
		time.AfterFunc(time.Second, x.flushLate)
	}
}
