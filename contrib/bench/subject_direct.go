package bench

import (
	"context"
	"time"
)

func directSubjects(register func(Subject)) {
	register(Subject{
		Name:      "direct",
		Retry:     func() Call { return fetch },
		FailOnce:  func() Call { return twice(new(flaky).fetch) },
		Permanent: func() Call { return func(ctx context.Context, in int) (int, error) { return fetch(ctx, -in) } },
		Timeout:   withTimeout,
		Breaker:   func() Call { return fetch },
		Budget:    func() Call { return fetch },
		Full:      func() Call { return withTimeout(fetchErr) },
	})
}

// withTimeout is what a careful author writes by hand.
func withTimeout(f Call) Call {
	return func(ctx context.Context, in int) (int, error) {
		ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
		defer cancel()
		return f(ctx, in)
	}
}

// twice is the floor of the failure scenario: the two calls and nothing else.
func twice(call Call) Call {
	return func(ctx context.Context, in int) (int, error) {
		if v, err := call(ctx, in); err == nil {
			return v, nil
		}
		return call(ctx, in)
	}
}

// sleep waits for d the way the generated loop does.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
