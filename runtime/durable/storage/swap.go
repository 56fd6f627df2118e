package storage

import (
	"bytes"
	"context"
	"time"
)

// MaxSkew is how far the clock of a store may be from the time with which a decision
// about a record was made that a [Swapper] writes.
const MaxSkew = time.Second

// A Swapper is a store that replaces runs whose versions are known in one statement,
// without locking and reading them before. An equal version proves that nobody has
// changed a record since it was read. Only what the end of an execution changes is
// written: see [Swaps].
type Swapper interface {
	// Swap replaces each of some runs whose stored Version is one less than the given
	// one, and reports which: one that it does not replace keeps none of the others from
	// it. now is the time with which their decisions were made: if the clock of the store
	// is more than MaxSkew before or after it, nothing is replaced. Nobody is notified. An
	// error that matches [ErrUnknown] means that some may have been replaced.
	Swap(ctx context.Context, now time.Time, runs []Record) (swapped []bool, err error)
}

// Swaps reports whether a [Swapper] may replace a run by another record: what it does not
// write is the same in both.
func Swaps(before, after *Record) bool {
	return before.Key == after.Key && before.Key.Kind == KindRun && before.Handler == after.Handler &&
		before.Priority == after.Priority && before.Label == after.Label && before.Created.Equal(after.Created) &&
		before.Bucket.Equal(after.Bucket) && bytes.Equal(before.Input, after.Input)
}
