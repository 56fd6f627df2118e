package bench

import (
	"context"
	"time"

	"github.com/eapache/go-resiliency/breaker"
	"github.com/eapache/go-resiliency/deadline"
	"github.com/eapache/go-resiliency/retrier"
)

// The library predates generics: results leave through a captured variable.
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
		Timeout: func(f Call) Call {
			// A goroutine per call; the callee sees a channel, not a context.
			d := deadline.New(attemptTimeout)
			return func(ctx context.Context, in int) (out int, err error) {
				err = d.Run(func(<-chan struct{}) error {
					out, err = f(ctx, in)
					return err
				})
				return out, err
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
