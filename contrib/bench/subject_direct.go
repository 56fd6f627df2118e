package bench

import (
	"context"
	"time"
)

func directSubjects(register func(Subject)) {
	plain := func() Call { return fetch }
	register(Subject{
		Name:        "direct",
		Retry:       plain,
		Guarded:     plain,
		FailOnce:    func() Call { return twice(new(flaky).fetch) },
		Permanent:   func() Call { return func(ctx context.Context, in int) (int, error) { return fetch(ctx, -in) } },
		Timeout:     withTimeout,
		Breaker:     plain,
		FailureRate: plain,
		Budget:      plain,
		Full:        func() Call { return withTimeout(fetchErr, attemptTimeout) },
	})
}

// withTimeout is the limit that everybody writes by hand.
func withTimeout(f Call, limit time.Duration) Call {
	return func(ctx context.Context, in int) (int, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return f(ctx, in)
	}
}

// twice is a retry reduced to the two calls.
func twice(call Call) Call {
	return func(ctx context.Context, in int) (int, error) {
		if v, err := call(ctx, in); err == nil {
			return v, nil
		}
		return call(ctx, in)
	}
}
