// Package timelimits has calls of wrappers that may take longer than their contexts live.
package timelimits

import (
	"context"
	"time"

	"github.com/retrygen/retrygen/lint/testdata/onrequest/timelimits/backend"
	retry "github.com/retrygen/retrygen/runtime"
)

func ping(context.Context) error { return nil }

// Around is tried under attempt_timeout: 2s.
func Around(ctx context.Context) error {
	return RetryFetch(ctx) // want `RetryFetch may take 1m0s \(timeout of policy slow, retry_gen.go:\d+\), but attempt_timeout of policy quick ends the context after 2s: raise the outer limit, or lower the inner one \(RL303\)`
}

func Fetch(ctx context.Context) error { return ping(ctx) }

// Bound is tried under attempt_timeout: 2s.
func Bound(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second) // want `timeout 30s exceeds the outer 2s \(attempt_timeout of policy quick\), which ends it: raise the outer limit, or lower the inner one \(RL303\)`
	defer cancel()
	return ping(ctx)
}

// Far is tried under attempt_timeout: 2s, by a function of another package.
func Far(ctx context.Context) error {
	return backend.Load(ctx) // want `the waits between 5 attempts of policy get \(retry_gen.go:\d+\) are at least 12s, but attempt_timeout of policy quick ends the context after 2s: make fewer attempts, or raise that timeout \(RL302\)`
}

// Step belongs to an inner scope.
func Step(ctx context.Context) error {
	return RetryFlow(ctx) // want `RetryFlow may take 10m0s \(timeout of policy in_flow, retry_gen.go:\d+\), but timeout of policy in_step ends the context after 1m0s`
}

func Flow(ctx context.Context) error { return ping(ctx) }

func derived(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return RetryFetch(ctx) // want `RetryFetch may take 1m0s \(timeout of policy slow, retry_gen.go:\d+\), but the context from line \d+ ends after 1s`
}

func derivedThere(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return between(ctx)
}

func between(ctx context.Context) error {
	return backend.Load(context.WithValue(ctx, key{}, 1)) // want `the waits between 5 attempts of policy get .* are at least 12s, but the context from line \d+ ends after 1s`
}

type key struct{}

var patient = retry.Policy{Name: "patient", Timeout: 5 * time.Second, RetryUnknown: true}

func literal(ctx context.Context) error {
	_, err := retry.Do(ctx, &patient, func(ctx context.Context) (int, error) {
		return 0, RetryFetch(ctx) // want `RetryFetch may take 1m0s .*, but timeout of policy patient ends the context after 5s`
	})
	return err
}

func loop(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return waits(ctx) // want `the waits between 10 attempts of ping \(timelimits.go:\d+\) are 9s, but the context from line \d+ ends after 5s`
}

// Waits may be called with other contexts.
var Waits = waits

func waits(ctx context.Context) (err error) {
	for range 10 {
		if err = ping(ctx); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
	return err
}

// ---- what must stay silent ----

func nopeLonger(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	return RetryFetch(ctx)
}

func nopeDetached(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return detached(ctx)
}

func detached(ctx context.Context) error { return RetryFetch(context.WithoutCancel(ctx)) }

func nopeLimited(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return limited(ctx)
}

func limited(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second/2)
	defer cancel()
	return ping(ctx)
}

func nopeUnknown(ctx context.Context) error { return RetryFetch(ctx) }

// Record is a durable step.
func Record(ctx context.Context, order string) error { return ping(ctx) }

// The next execution of the run goes on with it.
func nopeDurable(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return RetryRecord(ctx, "1")
}
