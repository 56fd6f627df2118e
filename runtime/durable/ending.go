package durable

import (
	"context"

	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// This file has what an execution does about the unfinished steps of its run.

// left returns the steps that the execution may have left unfinished, as many as end
// in the transaction of the run, and whether there may be more. It asks the store for
// none if it has called all that are recorded.
func (x *execution) left(ctx context.Context) (keys []storage.Key, more bool, err error) {
	q := x.e.ns.UnfinishedSteps(x.id)
	switch known := x.steps.complete && len(x.steps.pending) == 0; {
	case known && x.created && !x.untidy:
		return nil, false, nil
	case known:
		q.FromID, q.BeforeID = record.InGroups, record.AfterGroups
	}
	if err := x.flush(ctx); unusable(err) { // or the store lists its step
		return nil, false, err
	}
	return x.e.ns.Page(ctx, q)
}

// endTail ends the tail of a run that this execution has ended.
func (x *execution) endTail(ctx context.Context) {
	due, more, err := true, true, error(nil)
	for due && more && err == nil {
		due, more, err = x.e.ns.AbandonPage(ctx, x.e.ns.Key(storage.KindRun, x.id, ""))
	}
	if err != nil { // the run has succeeded, and other engines go on
		x.e.ns.Event(ctx, events.Event{Kind: events.EventStoreError, Run: x.id, Err: err})
	}
}
