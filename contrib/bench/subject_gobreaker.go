package bench

import (
	"context"
	"time"

	"github.com/sony/gobreaker/v2"
)

func gobreakerSubjects(register func(Subject)) {
	call := func(st gobreaker.Settings) Call {
		cb := gobreaker.NewCircuitBreaker[int](st)
		return func(ctx context.Context, in int) (int, error) {
			return cb.Execute(func() (int, error) { return fetch(ctx, in) })
		}
	}
	register(Subject{
		Name:    "gobreaker",
		Breaker: func() Call { return call(gobreaker.Settings{Timeout: 30 * time.Second}) },
	})
	register(Subject{
		Name: "gobreaker-rolling",
		Breaker: func() Call {
			return call(gobreaker.Settings{Timeout: openFor, Interval: window, BucketPeriod: window / 10})
		},
		FailureRate: func() Call {
			return call(gobreaker.Settings{
				Timeout: openFor, Interval: window, BucketPeriod: window / 10,
				ReadyToTrip: func(c gobreaker.Counts) bool {
					return c.Requests >= minCalls && float64(c.TotalFailures) >= rate*float64(c.Requests)
				},
			})
		},
	})
}
