package nestedlibraries

import (
	"context"
	"errors"
	"fmt"
	"time"

	avast "github.com/avast/retry-go/v4"
	"github.com/cenkalti/backoff/v4"
	backoffv5 "github.com/cenkalti/backoff/v5"
	"k8s.io/apimachinery/pkg/util/wait"
)

type client interface {
	Get(ctx context.Context) error
}

func imports(ctx context.Context, c client) error {
	return avast.Do(func() error { // want `5 attempts of the function literal in imports, which makes 6 at nestedlibraries.go:\d+, are 30 calls: retry in one place \(RL401`
		return importOne(ctx, c)
	}, avast.Attempts(5), avast.Context(ctx))
}

func importOne(ctx context.Context, c client) error {
	return avast.Do(func() error { return c.Get(ctx) }, avast.Attempts(6), avast.Context(ctx))
}

func aroundLibrary(ctx context.Context, c client) (err error) {
	for range 5 { // want `5 attempts of constant, which makes 7 at .*RL401`
		if err = constant(ctx, c); err == nil {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return err
}

func constant(ctx context.Context, c client) error {
	b := backoff.WithContext(backoff.WithMaxRetries(backoff.NewConstantBackOff(time.Second), 6), ctx)
	return backoff.Retry(func() error { return c.Get(ctx) }, b)
}

func aroundLoop(ctx context.Context, c client) (int, error) {
	return backoffv5.Retry(ctx, func() (int, error) { return 0, loop(ctx, c) }, backoffv5.WithMaxTries(4)) // want `4 attempts of .* which makes 5 .*RL401`
}

func loop(ctx context.Context, c client) (err error) {
	for range 5 {
		if err = c.Get(ctx); err == nil {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return err
}

func inLoop(ctx context.Context, c client) (err error) {
	for range 3 { // want `3 attempts of Do, which makes 10 .*RL401`
		if err = avast.Do(func() error { return c.Get(ctx) }, avast.Context(ctx)); err == nil {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return err
}

func steps(ctx context.Context, c client) error {
	return wait.ExponentialBackoffWithContext(ctx, wait.Backoff{Duration: time.Second, Steps: 6}, func(ctx context.Context) (bool, error) { // want `6 attempts of .*RL401`
		return loop(ctx, c) == nil, nil
	})
}

// An error ends it.
func nopeSteps(ctx context.Context, c client) error {
	return wait.ExponentialBackoffWithContext(ctx, wait.Backoff{Duration: time.Second, Steps: 6}, func(ctx context.Context) (bool, error) {
		err := loop(ctx, c)
		return err == nil, err
	})
}

func nopeFew(ctx context.Context, c client) error {
	return avast.Do(func() error { return loop(ctx, c) }, avast.Attempts(2), avast.Context(ctx))
}

func nopeConfigured(ctx context.Context, c client, attempts uint, options []avast.Option) error {
	if err := avast.Do(func() error { return loop(ctx, c) }, avast.Attempts(attempts), avast.Context(ctx)); err != nil {
		return err
	}
	return avast.Do(func() error { return loop(ctx, c) }, options...)
}

var errSpent = errors.New("attempts are spent")

// What the inner gives up with may be what is not tried again.
func nopeRetryIf(ctx context.Context, c client) error {
	return avast.Do(func() error { return loop(ctx, c) }, avast.Context(ctx), avast.RetryIf(func(err error) bool { return !errors.Is(err, errSpent) }))
}

func nopePermanent(ctx context.Context, c client) error {
	return backoff.Retry(func() error {
		if err := loop(ctx, c); err != nil {
			return backoff.Permanent(fmt.Errorf("get: %w", err))
		}
		return nil
	}, backoff.WithContext(backoff.WithMaxRetries(backoff.NewConstantBackOff(time.Second), 6), ctx))
}

// It stays inside of the program.
func nopeInside(n *int) error {
	return avast.Do(func() error { return avast.Do(func() error { return step(n) }) })
}

func step(n *int) error {
	if *n++; *n < 3 {
		return errSpent
	}
	return nil
}
