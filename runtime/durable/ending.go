package durable

import (
	"context"

	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// This file handles the unfinished steps of a run at the end of an execution.

// left returns those steps that the execution may have left unfinished and that the transaction
// which ends the run can change, and whether there may be more. It does not query the store if
// the execution has called all recorded steps.
func (x *execution) left(ctx context.Context) (keys []storage.Key, more bool, err error) {
	q := x.e.ns.UnfinishedSteps(x.id)
	switch known := x.steps.complete && len(x.steps.pending) == 0; {
	case known && x.created && !x.untidy:
		return nil, false, nil
	case known:
		q.FromID, q.BeforeID = record.InGroups, record.AfterGroups
	}
	if err := x.flush(ctx); unusable(err) { // otherwise, the store would list the step of the deferred end
		return nil, false, err
	}
	return x.e.ns.Page(ctx, q)
}

// endTail completes the tail of a run that this execution has ended.
func (x *execution) endTail(ctx context.Context) {
	due, more, err := true, true, error(nil)
	for due && more && err == nil {
		due, more, err = x.e.ns.AbandonPage(ctx, x.e.ns.Key(storage.KindRun, x.id, ""))
	}
	if err != nil { // the run has succeeded, and other engines continue
		x.e.ns.Event(ctx, events.Event{Kind: events.EventStoreError, Run: x.id, Err: err})
	}
}
