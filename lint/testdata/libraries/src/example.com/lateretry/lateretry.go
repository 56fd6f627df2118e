// Package lateretry has retries whose contexts end before the first wait does, and some
// whose contexts do not.
package lateretry

import (
	"context"
	"time"

	avast "github.com/avast/retry-go/v4"
	"github.com/cenkalti/backoff/v4"
	backoffv5 "github.com/cenkalti/backoff/v5"
	"github.com/sethvargo/go-retry"
	"k8s.io/apimachinery/pkg/util/wait"
)

func ping() error { return nil }

func pinged() (int, error) { return 0, nil }

func pingWith(ctx context.Context) error { return nil }

func ready(ctx context.Context) (bool, error) { return true, nil }

func constant(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	b := backoff.WithContext(backoff.WithMaxRetries(backoff.NewConstantBackOff(2*time.Second), 3), ctx)
	return backoff.Retry(ping, b) // want `the first wait of these retries is at least 2s, but the context from line 25 ends after 1s, so nothing is retried: shorten the wait, or raise that timeout \(RL302; library`
}

func exponential(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	b := backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3)
	return backoff.Retry(ping, backoff.WithContext(b, ctx)) // want `at least 250ms`
}

func newer(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	b := backoffv5.NewExponentialBackOff()
	b.InitialInterval = 3 * time.Second
	return backoffv5.Retry(ctx, pinged, backoffv5.WithBackOff(b), backoffv5.WithMaxTries(3)) // want `at least 1.5s`
}

func delayed(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return avast.Do(ping, avast.Context(ctx), avast.Attempts(3), avast.Delay(time.Second)) // want `at least 1s`
}

func fibonacci(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return retry.Do(ctx, retry.WithMaxRetries(3, retry.NewFibonacci(time.Minute)), pingWith) // want `at least 1m0s`
}

func steps(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return wait.ExponentialBackoffWithContext(ctx, wait.Backoff{Duration: time.Second, Steps: 3}, ready) // want `at least 1s`
}

func poll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return wait.PollUntilContextTimeout(ctx, 5*time.Second, time.Minute, true, ready) // want `at least 5s`
}

func nopeLonger(ctx context.Context, d time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	b := backoff.WithMaxRetries(backoff.NewConstantBackOff(2*time.Second), 3)
	if err := backoff.Retry(ping, backoff.WithContext(b, ctx)); err != nil {
		return err
	}
	unknown := backoff.WithMaxRetries(backoff.NewConstantBackOff(d), 3)
	if err := backoff.Retry(ping, backoff.WithContext(unknown, ctx)); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, time.Second, time.Minute, true, ready)
}

// A random delay may be shorter.
func nopeJitter(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 400*time.Millisecond)
	defer cancel()
	b := backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3)
	if err := backoff.Retry(ping, backoff.WithContext(b, ctx)); err != nil {
		return err
	}
	return avast.Do(ping, avast.Context(ctx), avast.Attempts(3), avast.Delay(time.Second),
		avast.DelayType(func(n uint, err error) time.Duration { return 0 }))
}

func nopeCapped(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return retry.Do(ctx, retry.WithCappedDuration(time.Millisecond, retry.NewConstant(time.Minute)), pingWith)
}

// Nobody waits after the only attempt.
func nopeOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := avast.Do(ping, avast.Context(ctx), avast.Attempts(1), avast.Delay(time.Minute)); err != nil {
		return err
	}
	return wait.ExponentialBackoffWithContext(ctx, wait.Backoff{Duration: time.Minute, Steps: 1}, ready)
}
