package bench

import (
	"context"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/budget"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/failsafe-go/failsafe-go/timeout"
)

func failsafeSubjects(register func(Subject)) {
	register(Subject{
		Name:  "failsafe-go",
		Retry: func() Call { return failsafeCall(fetch, failsafePolicy().Build()) },
		Guarded: func() Call {
			return failsafeCall(fetch, failsafePolicy().WithBudget(budget.New()).Build(), failsafeBreaker())
		},
		FailOnce: func() Call {
			// Without a delay by default, and yet by way of a timer.
			p := retrypolicy.NewBuilder[int]().WithMaxAttempts(attempts).Build()
			return failsafeCall(new(flaky).fetch, p)
		},
		Permanent: func() Call {
			p := failsafePolicy().AbortOnErrors(errTransient).Build()
			return failsafeCall(func(ctx context.Context, in int) (int, error) { return fetch(ctx, -in) }, p)
		},
		Timeout: func(f Call, limit time.Duration) Call { return failsafeCall(f, timeout.New[int](limit)) },
		Breaker: func() Call { return failsafeCall(fetch, failsafeBreaker()) },
		FailureRate: func() Call {
			return failsafeCall(fetch, circuitbreaker.NewBuilder[int]().
				WithFailureRateThreshold(rate, minCalls, window).
				WithDelay(openFor).
				Build())
		},
		Budget: func() Call {
			return failsafeCall(fetch, failsafePolicy().WithBudget(budget.New()).Build())
		},
		Full: func() Call {
			return failsafeCall(fetchErr,
				failsafePolicy().WithBudget(budget.New()).Build(),
				failsafeBreaker(),
				timeout.New[int](attemptTimeout))
		},
	})
	// As its README begins, without the caller's context.
	register(Subject{
		Name: "failsafe-go-noctx",
		Retry: func() Call {
			ex := failsafe.With(failsafePolicy().Build())
			return func(ctx context.Context, in int) (int, error) {
				return ex.Get(func() (int, error) { return fetch(ctx, in) })
			}
		},
	})
}

func failsafePolicy() retrypolicy.Builder[int] {
	return retrypolicy.NewBuilder[int]().
		WithMaxAttempts(attempts).
		WithBackoff(initialDelay, maxDelay).
		WithJitterFactor(jitter)
}

func failsafeBreaker() circuitbreaker.CircuitBreaker[int] {
	return circuitbreaker.NewBuilder[int]().
		WithFailureThreshold(5).
		WithDelay(30 * time.Second).
		Build()
}

func failsafeCall(f Call, policies ...failsafe.Policy[int]) Call {
	ex := failsafe.With(policies...)
	return func(ctx context.Context, in int) (int, error) {
		return ex.WithContext(ctx).GetWithExecution(func(e failsafe.Execution[int]) (int, error) {
			return f(e.Context(), in)
		})
	}
}
