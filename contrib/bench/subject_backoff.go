package bench

import (
	"context"

	"github.com/cenkalti/backoff/v7"
)

// By its documentation a BackOff belongs to one call.
func backoffSubjects(register func(Subject)) {
	register(Subject{
		Name: "cenkalti-backoff-v7",
		Retry: func() Call {
			return func(ctx context.Context, in int) (int, error) {
				return backoff.Retry(ctx, func() (int, error) { return fetch(ctx, in) },
					backoff.WithBackOff(newBackoff()), backoff.WithMaxTries(attempts))
			}
		},
		FailOnce: func() Call {
			f := new(flaky)
			return func(ctx context.Context, in int) (int, error) {
				return backoff.Retry(ctx, func() (int, error) { return f.fetch(ctx, in) },
					backoff.WithBackOff(&backoff.ZeroBackOff{}), backoff.WithMaxTries(attempts))
			}
		},
		Permanent: func() Call {
			return func(ctx context.Context, in int) (int, error) {
				return backoff.Retry(ctx, func() (int, error) {
					v, err := fetch(ctx, -in)
					return v, backoff.Permanent(err)
				}, backoff.WithBackOff(newBackoff()), backoff.WithMaxTries(attempts))
			}
		},
	})
}

func newBackoff() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.Multiplier = initialDelay, 2
	b.MaxInterval, b.RandomizationFactor = maxDelay, jitter
	return b
}
