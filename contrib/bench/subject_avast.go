package bench

import (
	"context"

	"github.com/avast/retry-go/v5"
)

// A retrier has its context for life: whoever wants the caller's makes one for
// each call. The other form, "-shared", never hears of the caller's context.
func avastSubjects(register func(Subject)) {
	policy := []retry.Option{
		retry.Attempts(attempts),
		retry.Delay(initialDelay),
		retry.MaxDelay(maxDelay),
		retry.MaxJitter(initialDelay / 5),
		retry.DelayType(retry.CombineDelay(retry.BackOffDelay, retry.RandomDelay)),
		retry.LastErrorOnly(true),
	}
	perCall := func(f Call, extra ...retry.Option) Call {
		base := append(append([]retry.Option(nil), policy...), extra...)
		return func(ctx context.Context, in int) (int, error) {
			opts := append(base[:len(base):len(base)], retry.Context(ctx))
			return retry.NewWithData[int](opts...).Do(func() (int, error) { return f(ctx, in) })
		}
	}
	shared := func(f Call, extra ...retry.Option) Call {
		r := retry.NewWithData[int](append(append([]retry.Option(nil), policy...), extra...)...)
		return func(ctx context.Context, in int) (int, error) {
			return r.Do(func() (int, error) { return f(ctx, in) })
		}
	}
	permanent := func(ctx context.Context, in int) (int, error) {
		v, err := fetch(ctx, -in)
		return v, retry.Unrecoverable(err)
	}
	noDelay := []retry.Option{retry.Delay(0), retry.MaxJitter(0), retry.DelayType(retry.FixedDelay)}
	throttle := func() retry.Option {
		return retry.WithThrottle(retry.NewFixedTokenBucketThrottle(retry.FixedTokenBucketThrottleConfig{}))
	}
	register(Subject{
		Name:      "avast-retry-go",
		Retry:     func() Call { return perCall(fetch) },
		FailOnce:  func() Call { return perCall(new(flaky).fetch, noDelay...) },
		Permanent: func() Call { return perCall(permanent) },
		Budget:    func() Call { return perCall(fetch, throttle()) },
	})
	register(Subject{
		Name:      "avast-retry-go-shared",
		Retry:     func() Call { return shared(fetch) },
		FailOnce:  func() Call { return shared(new(flaky).fetch, noDelay...) },
		Permanent: func() Call { return shared(permanent) },
		Budget:    func() Call { return shared(fetch, throttle()) },
	})
}
