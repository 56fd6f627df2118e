package durable

import (
	"context"
	"encoding/json"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/namespace"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// end records the end of an attempt. It retries until this succeeds, even if the caller's
// context ends. Only if the store does not answer, end returns after a while, so that the
// caller is not blocked forever.
func (x *execution) end(ctx context.Context, c *stepCall, end *attemptEnd) (next, error) {
	end.fence, end.owner = x.fence, x.owner.id
	var n next
	err := x.insist(ctx, c.key, x.keys(c), func(tx storage.Tx) (storage.Writes, error) {
		w, answer, err := x.decideEnd(tx, c, end)
		n = answer.after(n)
		return w, err
	})
	if err == nil && n.kind == nextFenced {
		x.emit(context.WithoutCancel(ctx), c, &n)
		x.halt(ErrFenced)
		return n, ErrFenced
	}
	return n, err // an error of the store: the attempt stays open and is in doubt
}

// insist records an end, and retries until this succeeds. If the store still returns errors
// when the grace period after the end of ctx is over, it halts the execution.
func (x *execution) insist(
	ctx context.Context, what storage.Key, keys []storage.Key, decide func(storage.Tx) (storage.Writes, error),
) error {
	patient, cancel := namespace.WithGrace(ctx)
	defer cancel()
	for delay := retryStore; ; delay = min(2*delay, time.Second) {
		err := x.update(patient, keys, decide)
		if err == nil || !isStoreError(err) {
			return err
		}
		x.e.ns.Event(
			context.WithoutCancel(ctx), events.Event{Kind: events.EventStoreError, Run: x.id, Step: what.ID, Err: err},
		)
		if !namespace.Pause(patient, delay) {
			x.halt(err)
			return err
		}
	}
}

// retryStore is the first pause before an attempt to record an end is repeated.
const retryStore = 10 * time.Millisecond

// An attemptEnd describes the end of an attempt, in the form in which it is recorded.
type attemptEnd struct {
	token     string
	number    int
	unstarted bool // no start was recorded
	fence     uint64
	owner     string
	outcome   events.Outcome
	begun     time.Time
	duration  time.Duration
	result    record.Payload

	err         *record.Error
	failure     retry.Failure
	inputs      retry.Inputs
	deadline    time.Time // the deadline of the call, by the clock of this process
	refusal     error     // the refusal by the budget of this process
	correlation string
	timeouts    []json.RawMessage // the timeouts that were captured
}
