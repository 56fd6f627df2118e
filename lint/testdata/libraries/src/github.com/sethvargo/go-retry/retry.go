// Package retry declares what the test uses of the real one.
package retry

import (
	"context"
	"time"
)

type (
	Backoff   interface{ Next() (time.Duration, bool) }
	RetryFunc func(context.Context) error
)

func NewConstant(time.Duration) Backoff                       { return nil }
func NewExponential(time.Duration) Backoff                    { return nil }
func WithJitter(j time.Duration, b Backoff) Backoff           { return b }
func WithCappedDuration(cap time.Duration, b Backoff) Backoff { return b }
func NewFibonacci(time.Duration) Backoff                      { return nil }
func WithMaxRetries(max uint64, b Backoff) Backoff            { return b }
func Do(ctx context.Context, b Backoff, f RetryFunc) error    { return nil }

func DoValue[T any](ctx context.Context, b Backoff, f func(context.Context) (T, error)) (t T, err error) {
	return f(ctx)
}

func RetryableError(err error) error { return err }
