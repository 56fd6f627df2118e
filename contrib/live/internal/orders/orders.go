// Package orders contains functions whose policies the tests of package live change while
// calls use them.
package orders

import (
	"context"
	"errors"
)

//go:generate go run ../../../../cmd/retrygen

// ErrMissing is an error that is never retried.
var ErrMissing = errors.New("missing")

// An Op is what a call does.
type Op func(context.Context) error

// Read has time limits, classes and a schedule for one class.
func Read(ctx context.Context, op Op) error { return op(ctx) }

// Quick has nothing but a schedule.
func Quick(ctx context.Context, op Op) error { return op(ctx) }

// Stock has a breaker and a budget.
func Stock(ctx context.Context, op Op) error { return op(ctx) }

// Partner has a gate.
func Partner(ctx context.Context, op Op) error { return op(ctx) }

// Find is hedged.
func Find(ctx context.Context, op Op) error { return op(ctx) }

// Fixed does not change.
func Fixed(ctx context.Context, op Op) error { return op(ctx) }
