// Package retrybench measures what the resilience libraries a Go user can pick
// today cost on top of a plain function call.
//
// Every library is one file, subject_<name>.go. A new contender is one more such
// file, and a name in [subjects].
package bench

import (
	"context"
	"errors"
	"time"
)

// The policy every subject implements, as closely as its library allows.
const (
	attempts       = 3
	initialDelay   = 100 * time.Millisecond
	maxDelay       = 2 * time.Second
	jitter         = 0.2
	attemptTimeout = time.Second
)

// errTransient is the retryable error. It carries no allocation of its own, so
// allocs/op in the failure scenarios belong to the library.
var errTransient = errors.New("transient")

// fetch is the protected call: the cheapest function with the shape the
// generator wraps, kept out of line so that the baseline is a real call.
//
//go:noinline
func fetch(_ context.Context, in int) (int, error) {
	if in < 0 {
		return 0, errTransient
	}
	return in + 1, nil
}

// flaky fails every other call, starting with the first.
type flaky struct{ n int }

//go:noinline
func (f *flaky) fetch(_ context.Context, in int) (int, error) {
	f.n++
	if f.n&1 == 1 {
		return 0, errTransient
	}
	return in + 1, nil
}

// fetchErr is a callee that looks at its context once, as a cache or a pure
// computation does.
//
//go:noinline
func fetchErr(ctx context.Context, in int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return in + 1, nil
}

// fetchDone is a callee that waits on its context, as everything that touches
// the network does.
//
//go:noinline
func fetchDone(ctx context.Context, in int) (int, error) {
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	default:
		return in + 1, nil
	}
}
