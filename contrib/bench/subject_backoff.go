package bench

import (
	"context"

	"github.com/cenkalti/backoff/v5"
	backoff7 "github.com/cenkalti/backoff/v7"
)

// By its documentation a BackOff belongs to one call.
func backoffSubjects(register func(Subject)) {
	register(Subject{
		Name: "cenkalti-backoff-v7",
		Retry: func() Call {
			return func(ctx context.Context, in int) (int, error) {
				return backoff7.Retry(ctx, func() (int, error) { return fetch(ctx, in) },
					backoff7.WithBackOff(newBackoff7()), backoff7.WithMaxTries(attempts))
			}
		},
		FailOnce: func() Call {
			f := new(flaky)
			return func(ctx context.Context, in int) (int, error) {
				return backoff7.Retry(ctx, func() (int, error) { return f.fetch(ctx, in) },
					backoff7.WithBackOff(&backoff7.ZeroBackOff{}), backoff7.WithMaxTries(attempts))
			}
		},
		Permanent: func() Call {
			return func(ctx context.Context, in int) (int, error) {
				return backoff7.Retry(ctx, func() (int, error) {
					v, err := fetch(ctx, -in)
					return v, backoff7.Permanent(err)
				}, backoff7.WithBackOff(newBackoff7()), backoff7.WithMaxTries(attempts))
			}
		},
	})
	register(Subject{
		Name: "cenkalti-backoff-v5",
		Retry: func() Call {
			return func(ctx context.Context, in int) (int, error) {
				b := backoff.NewExponentialBackOff()
				b.InitialInterval, b.Multiplier = initialDelay, 2
				b.MaxInterval, b.RandomizationFactor = maxDelay, jitter
				return backoff.Retry(ctx, func() (int, error) { return fetch(ctx, in) },
					backoff.WithBackOff(b), backoff.WithMaxTries(attempts))
			}
		},
	})
}

func newBackoff7() *backoff7.ExponentialBackOff {
	b := backoff7.NewExponentialBackOff()
	b.InitialInterval, b.Multiplier = initialDelay, 2
	b.MaxInterval, b.RandomizationFactor = maxDelay, jitter
	return b
}
