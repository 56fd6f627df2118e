package bench

import (
	"context"

	circuit "github.com/rubyist/circuitbreaker"
)

func rubyistSubjects(register func(Subject)) {
	register(Subject{
		Name: "rubyist-circuitbreaker",
		FailureRate: func() Call {
			cb := circuit.NewBreakerWithOptions(&circuit.Options{
				ShouldTrip: circuit.RateTripFunc(rate, minCalls),
				WindowTime: window,
			})
			return func(ctx context.Context, in int) (v int, err error) {
				err = cb.CallContext(ctx, func() error {
					v, err = fetch(ctx, in)
					return err
				}, 0)
				return v, err
			}
		},
	})
}
