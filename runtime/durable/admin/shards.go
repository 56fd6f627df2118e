package admin

import (
	"context"
	"errors"
	"iter"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// ErrShards is returned if a cursor, which is a position in one store, is used with
// several stores.
var ErrShards = errors.New("a cursor is a position in one store: list the client of the shard")

// ListAll is [Client.List] for the clients of several stores. It returns the runs of all
// stores in the order of the query. If the query has a cursor, the error matches
// [ErrShards].
func ListAll(ctx context.Context, clients []*Client, q storage.Query) iter.Seq2[RunInfo, error] {
	if q.From != "" {
		return func(yield func(RunInfo, error) bool) { yield(RunInfo{}, ErrShards) }
	}
	var sequences []iter.Seq2[RunInfo, error]
	for _, c := range clients {
		sequences = append(sequences, c.List(ctx, q))
	}
	return inOrder(sequences, compareRuns(q.Order))
}

// StepsAll is [Client.Steps] for the clients of several stores. It returns the steps of
// all stores, ordered by run and id.
func StepsAll(ctx context.Context, clients []*Client, f Filter) iter.Seq2[StepInfo, error] {
	var sequences []iter.Seq2[StepInfo, error]
	for _, c := range clients {
		sequences = append(sequences, c.Steps(ctx, f))
	}
	return inOrder(sequences, compareSteps)
}
