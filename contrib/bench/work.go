// Package bench measures the cost of resilience. It compares Go libraries, the code that
// retrygen generates, and direct calls.
//
// Each library has a file subject_<name>.go and a line in subjects.
package bench

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// What every library is asked to do, as far as it can.
const (
	attempts       = 3
	initialDelay   = 100 * time.Millisecond
	maxDelay       = 2 * time.Second
	jitter         = 0.2
	attemptTimeout = time.Second
	longTimeout    = time.Hour // longer than the caller is ready to wait

	// Of a breaker with a failure rate.
	rate     = 0.5
	minCalls = 20
	window   = 10 * time.Second
	openFor  = 30 * time.Second
)

// errTransient is one value, so that allocations in a failing call are those
// of the library.
var errTransient = errors.New("transient")

// counted and more below zero make fetch and fetchErr count that they were
// called. What is timed is above it.
const counted = 1 << 20

var failures atomic.Int64

// fetch is what is protected: nearly nothing, but a real call. A negative in
// fails.
//
//go:noinline
func fetch(_ context.Context, in int) (int, error) {
	if in < 0 {
		if in <= -counted {
			failures.Add(1)
		}
		return 0, errTransient
	}
	return in + 1, nil
}

// flaky fails the first of every two calls.
type flaky struct{ n int }

//go:noinline
func (f *flaky) fetch(_ context.Context, in int) (int, error) {
	f.n++
	if f.n&1 == 1 {
		return 0, errTransient
	}
	return in + 1, nil
}

// fetchErr looks at its context once, like a cache.
//
//go:noinline
func fetchErr(ctx context.Context, in int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if in < 0 {
		if in <= -counted {
			failures.Add(1)
		}
		return 0, errTransient
	}
	return in + 1, nil
}

// fetchDone asks its context for the channel, like all that waits for a
// network.
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
