package librarydelay

import (
	"context"
	"errors"
	"log"
	"net/http"
	"time"

	"github.com/avast/retry-go/v4"
	"github.com/cenkalti/backoff/v4"
	backoffv5 "github.com/cenkalti/backoff/v5"
)

type client struct{ http *http.Client }

func (c client) Get(ctx context.Context, key string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/"+key, nil)
	if err != nil {
		return "", err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return "", err
	}
	return resp.Status, resp.Body.Close()
}

func (c client) Swap(ctx context.Context, key string) error {
	_, err := c.Get(ctx, key)
	return err
}

func (c client) Pick() client { return c }

func (c client) Reconnect() error { return nil }

func refresh(ctx context.Context, c client) error {
	return backoff.Retry(func() error { // want `Retry retries it without a wait: pass a delay that grows \(RL103`
		_, err := c.Get(ctx, "k")
		return err
	}, backoff.WithContext(backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 10), ctx))
}

// The context alone ends it.
func untilItEnds(ctx context.Context, c client) error {
	return backoff.Retry(func() error { // want `RL103`
		_, err := c.Get(ctx, "k")
		return err
	}, backoff.WithContext(backoff.NewConstantBackOff(0), ctx))
}

func ofOptions(ctx context.Context, c client) (string, error) {
	return backoffv5.Retry(ctx, func() (string, error) { // want `RL103`
		return c.Get(ctx, "k")
	}, backoffv5.WithBackOff(&backoffv5.ZeroBackOff{}), backoffv5.WithMaxTries(8))
}

// What a helper retries is not known where it is called.
func nopeHelper(ctx context.Context, c client) error {
	return atOnce(ctx, func() error {
		_, err := c.Get(ctx, "k")
		return err
	})
}

func atOnce(ctx context.Context, f func() error) error {
	return retry.Do(f, retry.Context(ctx), retry.Attempts(10), retry.Delay(0), retry.DelayType(retry.FixedDelay), retry.LastErrorOnly(true))
}

// RL201 says it.
func forEver(c client) error {
	return backoff.Retry(func() error { // want `Retry retries until it succeeds, without a limit: .* \(RL201`
		_, err := c.Get(context.Background(), "k")
		return err
	}, &backoff.ZeroBackOff{})
}

func nopeFew(ctx context.Context, c client) error {
	return backoff.Retry(func() error {
		_, err := c.Get(ctx, "k")
		return err
	}, backoff.WithContext(backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 2), ctx))
}

func nopeWaitsBetween(ctx context.Context, c client) error {
	return backoff.RetryNotify(func() error {
		_, err := c.Get(ctx, "k")
		return err
	}, backoff.WithContext(&backoff.ZeroBackOff{}, ctx), func(error, time.Duration) { time.Sleep(time.Second) })
}

func nopeWaitsItself(ctx context.Context, c client, tick <-chan time.Time) error {
	return backoff.Retry(func() error {
		<-tick
		_, err := c.Get(ctx, "k")
		return err
	}, backoff.WithContext(backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 10), ctx))
}

func nopePutsRight(ctx context.Context, c client) error {
	return backoff.Retry(func() error {
		_, err := c.Get(ctx, "k")
		if err != nil {
			c.Reconnect()
			log.Print(err)
		}
		return err
	}, backoff.WithContext(backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 10), ctx))
}

func nopeAnotherServer(ctx context.Context, c client) error {
	return backoff.Retry(func() error {
		_, err := c.Pick().Get(ctx, "k")
		return err
	}, backoff.WithContext(backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 10), ctx))
}

var errConflict = errors.New("conflict")

// Others were faster: all other errors end it.
func nopeConflict(ctx context.Context, c client) error {
	return backoff.Retry(func() error {
		err := c.Swap(ctx, "k")
		if err != nil && !errors.Is(err, errConflict) {
			return backoff.Permanent(err)
		}
		return err
	}, backoff.WithContext(backoff.WithMaxRetries(&backoff.ZeroBackOff{}, 10), ctx))
}

// The delay is a random one where no other is asked for.
func nopeRandom(ctx context.Context, c client) error {
	return retry.Do(func() error {
		_, err := c.Get(ctx, "k")
		return err
	}, retry.Context(ctx), retry.Attempts(10), retry.Delay(0))
}

func nopeWaitsOnRetry(ctx context.Context, c client) error {
	return retry.Do(func() error {
		_, err := c.Get(ctx, "k")
		return err
	}, retry.Context(ctx), retry.Delay(0), retry.DelayType(retry.FixedDelay), retry.OnRetry(func(uint, error) { time.Sleep(time.Second) }))
}
