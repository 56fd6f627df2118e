package bench

import (
	"context"

	"github.com/codeGROOVE-dev/retry"
)

func codegrooveSubjects(register func(Subject)) {
	call := func(f Call, extra ...retry.Option) Call {
		base := append([]retry.Option{
			retry.Attempts(attempts),
			retry.Delay(initialDelay),
			retry.MaxDelay(maxDelay),
			retry.MaxJitter(initialDelay / 5),
			retry.LastErrorOnly(true),
		}, extra...)
		return func(ctx context.Context, in int) (int, error) {
			opts := append(base[:len(base):len(base)], retry.Context(ctx))
			return retry.DoWithData(func() (int, error) { return f(ctx, in) }, opts...)
		}
	}
	register(Subject{
		Name:  "codegroove-retry",
		Retry: func() Call { return call(fetch) },
		FailOnce: func() Call {
			return call(new(flaky).fetch, retry.Delay(0), retry.MaxJitter(0), retry.DelayType(retry.FixedDelay))
		},
		Permanent: func() Call {
			return call(func(ctx context.Context, in int) (int, error) {
				v, err := fetch(ctx, -in)
				return v, retry.Unrecoverable(err)
			})
		},
	})
}
