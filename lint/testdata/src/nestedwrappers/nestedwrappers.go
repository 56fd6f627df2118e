// Package nestedwrappers has generated wrappers that call each other through
// what they wrap.
package nestedwrappers

import (
	"context"
	"time"

	"github.com/retrygen/retrygen/lint/testdata/src/nestedretry/wrapped"
)

type client struct{ ping func(context.Context) error }

func Sync(ctx context.Context) error {
	return RetryFetch(ctx) // want `RetrySync makes 5 attempts of Sync, which makes 25 here, 125 calls in all: retry in one place \(RL401`
}

func Fetch(ctx context.Context) error {
	return between(ctx) // want `RetryFetch makes 5 attempts of Fetch, which makes 5 here, 25 calls in all`
}

func between(ctx context.Context) error { return RetryPing(ctx, client{}) }

func Ping(ctx context.Context, c client) error { return c.ping(ctx) }

func Loop(_ context.Context, c interface{ Ping() error }) (err error) {
	for range 4 { // want `RetryLoop makes 5 attempts of Loop, which makes 4 here, 20 calls in all`
		if err = c.Ping(); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

func Guarded(ctx context.Context) error {
	return RetryPing(ctx, client{}) // want `RetryGuarded makes 5 attempts of Guarded, which makes 5 here, 25 calls in all`
}

func Other(ctx context.Context, c *wrapped.Client) error {
	return c.RetrySend(ctx) // want `RetryOther makes 5 attempts of Other, which makes 3 here, 15 calls in all`
}

// Inside of a retry, a wrapper that is not nested tries once: 2 × 5 calls at
// first, and 4 × 2 later.
func Around(ctx context.Context) (err error) {
	for range 2 { // want `RetryInner already retries by its policy` `RetryAround makes 5 attempts of Around, which makes 10 here, 18 calls in all`
		if err = RetryInner(ctx); err == nil {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return err
}

func Inner(ctx context.Context) error { return client{}.ping(ctx) }

// Nine calls: the wrapper inside of a retry tries once.
func nopeOnce(ctx context.Context) error { return RetryInner(ctx) }

// The fallback is not retried.
func nopeRead(ctx context.Context) error { return client{}.ping(ctx) }

func readElsewhere(ctx context.Context, _ error) error { return RetryPing(ctx, client{}) }
