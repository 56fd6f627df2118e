package storage

import (
	"bytes"
	"context"
	"time"
)

// MaxSkew is how far a store's clock may differ from the time at which a decision was
// made about a record that a [Swapper] writes.
const MaxSkew = time.Second

// A Swapper is a store that can replace runs in one statement if their versions are
// known, without locking and reading them first. An equal version proves that a record
// has not changed since it was read. Only the fields that the end of an execution changes
// are written: see [Swaps].
type Swapper interface {
	// Swap replaces each given run whose stored Version is one less than the given
	// Version, and reports which runs it has replaced. Each run is replaced independently
	// of the others. now is the time at which the decisions about them were made. If the
	// store's clock differs from it by more than MaxSkew, nothing is replaced. Nobody is
	// notified. An error that matches [ErrUnknown] means that some runs may have been
	// replaced.
	Swap(ctx context.Context, now time.Time, runs []Record) (swapped []bool, err error)
}

// Swaps reports whether a [Swapper] may replace one run record by another. This is the
// case if the fields that the Swapper does not write are equal in both.
func Swaps(before, after *Record) bool {
	return before.Key == after.Key && before.Key.Kind == KindRun && before.Handler == after.Handler &&
		before.Priority == after.Priority && before.Label == after.Label && before.Created.Equal(after.Created) &&
		before.Bucket.Equal(after.Bucket) && bytes.Equal(before.Input, after.Input)
}
