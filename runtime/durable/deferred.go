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

// This file records ends of attempts together with the next change of their run. An
// execution defers at most one end. Every transaction in which the execution changes its
// run first records the deferred end, and then its own decision, both or neither: see
// update. Before a function is called whose start is not recorded, the deferred end is
// recorded by itself: see flush.

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

// holdMost is how long a success waits for another transaction.
const holdMost = 5 * time.Millisecond

// A deferredEnd is the success of a step whose result the function of the run has seen. The
// next transaction of the run records it.
type deferredEnd struct {
	ctx   context.Context // of the call, for events
	call  *stepCall
	end   *attemptEnd
	timer *time.Timer
	turn  chan struct{} // has an element while no transaction records the end
}

// deferEnd keeps the end of an attempt for the next transaction, if it may wait, and
// returns what follows.
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
	if !x.gate.alone() { // another step may already use what this one has done
		err = x.flush(ctx)
	}
	n = next{kind: nextFinished, record: storage.Record{Key: c.key, Status: storage.StatusSucceeded}}
	n.body = record.Step{Function: c.policy.Function, Arguments: c.digest, Attempts: end.number, Result: &end.result}
	return n, true, err
}

// take waits until no other transaction records the deferred end, and returns it, or nil
// if there is none. The caller gives the turn back.
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
		d.turn <- struct{}{} // it is recorded
	}
}

// update changes records of the run in one transaction, which first records the deferred
// end. If that is refused because the run belongs to somebody else now, decide is called
// nevertheless, and finds the same. If decide is nil, update only records the end.
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
		return err // it stays deferred
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

// flush records the deferred end, if there is one. While the store fails, it tries again as
// often as for an end that is not deferred.
func (x *execution) flush(ctx context.Context) error {
	d := x.deferred.Load()
	if d == nil {
		return nil
	}
	return x.insist(ctx, d.call.key, nil, nil)
}

// flushOuter records the end that the run in ctx has deferred, if there is one, before it
// starts another run.
func flushOuter(ctx context.Context) error {
	if outer := fromContext(ctx); outer != nil {
		return outer.x.flush(ctx)
	}
	return nil
}

// flushLate records an end for which there was no other transaction. While the store fails,
// it tries again each second until the function of the run has returned. After that, finish
// records it.
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
