package bench

import (
	"context"
	"time"
)

//go:generate go tool retrygen .

// What retry.yaml binds: fetch, once for each policy.

func permanent(ctx context.Context, in int) (int, error) { return fetch(ctx, -in) }

func limited(ctx context.Context, f Call, in int) (int, error) { return f(ctx, in) }

func limitedLong(ctx context.Context, f Call, in int) (int, error) { return f(ctx, in) }

func broken(ctx context.Context, in int) (int, error) { return fetch(ctx, in) }

func rated(ctx context.Context, in int) (int, error) { return fetch(ctx, in) }

func slow(ctx context.Context, in int) (int, error) { return fetch(ctx, in) }

func renewed(ctx context.Context, in int) (int, error) { return fetch(ctx, in) }

func renewedBroken(ctx context.Context, in int) (int, error) { return fetch(ctx, in) }

func renewedLimited(ctx context.Context, f Call, in int) (int, error) { return f(ctx, in) }

func stepped(ctx context.Context, in int) (int, error) { return fetch(ctx, in) }

func paid(ctx context.Context, in int) (int, error) { return fetch(ctx, in) }

func guarded(ctx context.Context, in int) (int, error) { return fetch(ctx, in) }

func pooled(ctx context.Context, in int) (int, error) { return fetch(ctx, in) }

func everything(ctx context.Context, in int) (int, error) { return fetchErr(ctx, in) }

func generatedSubjects(register func(Subject)) {
	register(Subject{
		Name:      "retrygen",
		Retry:     func() Call { return retryFetch },
		Guarded:   func() Call { return retryGuarded },
		FailOnce:  func() Call { return new(flaky).retryFetch },
		Permanent: func() Call { return retryPermanent },
		Timeout: func(f Call, limit time.Duration) Call {
			if limit == longTimeout {
				return func(ctx context.Context, in int) (int, error) { return retryLimitedLong(ctx, f, in) }
			}
			return func(ctx context.Context, in int) (int, error) { return retryLimited(ctx, f, in) }
		},
		Breaker:     func() Call { return retryBroken },
		FailureRate: func() Call { return retryRated },
		Budget:      func() Call { return retryPaid },
		Full:        func() Call { return retryEverything },
	})
	register(Subject{
		Name:        "retrygen-slow-rate",
		FailureRate: func() Call { return retrySlow },
	})
}
