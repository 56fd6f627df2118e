package namespace

import (
	"context"
	"errors"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// Insert creates the runs that do not exist yet in one statement, and reports which,
// if the store is a [storage.Inserter]. What it does not create exists, or is to be created
// by an update, which finds out what was wrong. After a lost reply it inserts them again:
// those that the first statement has created are reported as not created. If no reply
// comes, the error matches [storage.ErrUnknown].
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
