package namespace

import (
	"context"
	"errors"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// Insert creates those of the given runs that do not exist yet, in one statement, if the store
// is a [storage.Inserter]. It reports which runs it has created. The caller must create the
// other runs by an update: some of them exist, and for the rest the update returns the error.
// If the reply is lost, Insert repeats the statement, and reports runs that the first statement
// created as not created. If no reply comes, the error matches [storage.ErrUnknown].
func (n *Namespace) Insert(ctx context.Context, runs storage.Insertion) (inserted []bool, err error) {
	if store, ok := n.Store.(storage.Inserter); ok {
		inserted, err = store.Insert(ctx, runs)
		for i := 0; i < maxRepeats && errors.Is(err, storage.ErrUnknown) && Pause(ctx, firstPause<<i); i++ {
			inserted, err = store.Insert(ctx, runs)
		}
		if err == nil || errors.Is(err, storage.ErrUnknown) {
			return inserted, err
		}
	}
	return make([]bool, len(runs.Runs)), nil
}
