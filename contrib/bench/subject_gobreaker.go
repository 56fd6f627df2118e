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
			return call(gobreaker.Settings{Timeout: 30 * time.Second, Interval: 10 * time.Second, BucketPeriod: time.Second})
		},
	})
}
