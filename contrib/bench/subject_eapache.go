package bench

import (
	"context"
	"time"

	"github.com/eapache/go-resiliency/breaker"
	"github.com/eapache/go-resiliency/deadline"
	"github.com/eapache/go-resiliency/retrier"
)

// Older than generics: results come out by way of a captured variable.
func eapacheSubjects(register func(Subject)) {
	call := func(f Call, r *retrier.Retrier) Call {
		return func(ctx context.Context, in int) (out int, err error) {
			err = r.RunCtx(ctx, func(ctx context.Context) error {
				out, err = f(ctx, in)
				return err
			})
			return out, err
		}
	}
	exponential := func() *retrier.Retrier {
		r := retrier.New(retrier.LimitedExponentialBackoff(attempts-1, initialDelay, maxDelay), nil)
		r.SetJitter(jitter)
		return r
	}
	register(Subject{
		Name:  "eapache-resiliency",
		Retry: func() Call { return call(fetch, exponential()) },
		FailOnce: func() Call {
			return call(new(flaky).fetch, retrier.New(retrier.ConstantBackoff(attempts-1, 0), nil))
		},
		Permanent: func() Call {
			r := retrier.New(retrier.ConstantBackoff(attempts-1, 0), retrier.BlacklistClassifier{errTransient})
			return call(func(ctx context.Context, in int) (int, error) { return fetch(ctx, -in) }, r)
		},
		Timeout: func(f Call, limit time.Duration) Call {
			// Each call has a goroutine, which runs on after a timeout: it has a
			// channel to look at instead of a context.
			d := deadline.New(limit)
			return func(ctx context.Context, in int) (int, error) {
				var v int
				err := d.Run(func(<-chan struct{}) (err error) {
					v, err = f(ctx, in)
					return err
				})
				if err != nil {
					return 0, err
				}
				return v, nil
			}
		},
		Breaker: func() Call {
			br := breaker.New(5, 1, 30*time.Second)
			return func(ctx context.Context, in int) (out int, err error) {
				err = br.Run(func() error {
					out, err = fetch(ctx, in)
					return err
				})
				return out, err
			}
		},
	})
}
