package bench

import (
	"context"
	"time"

	"github.com/sethvargo/go-retry"
)

// A Backoff counts attempts, and so belongs to one call. What is not marked as
// retryable is permanent.
func sethvargoSubjects(register func(Subject)) {
	register(Subject{
		Name: "sethvargo-go-retry",
		Retry: func() Call {
			return func(ctx context.Context, in int) (int, error) {
				return retry.DoValue(ctx, sethvargoPolicy(), func(ctx context.Context) (int, error) {
					v, err := fetch(ctx, in)
					return v, retry.RetryableError(err)
				})
			}
		},
		FailOnce: func() Call {
			f := new(flaky)
			return func(ctx context.Context, in int) (int, error) {
				// It panics on zero.
				b := retry.WithMaxRetries(attempts-1, retry.NewConstant(time.Nanosecond))
				return retry.DoValue(ctx, b, func(ctx context.Context) (int, error) {
					v, err := f.fetch(ctx, in)
					return v, retry.RetryableError(err)
				})
			}
		},
		Permanent: func() Call {
			return func(ctx context.Context, in int) (int, error) {
				return retry.DoValue(ctx, sethvargoPolicy(), func(ctx context.Context) (int, error) {
					return fetch(ctx, -in)
				})
			}
		},
	})
}

func sethvargoPolicy() retry.Backoff {
	b := retry.NewExponential(initialDelay)
	b = retry.WithCappedDuration(maxDelay, b)
	b = retry.WithJitterPercent(20, b)
	return retry.WithMaxRetries(attempts-1, b)
}
