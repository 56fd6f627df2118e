package sharedbackoff

import (
	"context"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	backoffv5 "github.com/cenkalti/backoff/v5"
	"github.com/sethvargo/go-retry"
)

func ping() error { return nil }

func store(item string) retry.RetryFunc { return nil }

var patient = backoff.WithMaxRetries(backoff.NewExponentialBackOff(), 3)

func variable() error {
	return backoff.Retry(ping, patient) // want `concurrent calls share this backoff, .* \(RL208`
}

func items(ctx context.Context, items []string) error {
	b := retry.WithMaxRetries(3, retry.NewConstant(time.Second))
	for _, item := range items {
		if err := retry.Do(ctx, b, store(item)); err != nil { // want `all calls share this backoff, which is never reset: .* \(RL208`
			return err
		}
	}
	return nil
}

func twice(ctx context.Context) error {
	b := retry.WithJitter(time.Second, retry.NewExponential(time.Second))
	if err := retry.Do(ctx, b, store("a")); err != nil {
		return err
	}
	return retry.Do(ctx, b, store("b")) // want `RL208`
}

type client struct {
	retries  retry.Backoff
	constant retry.Backoff
	given    retry.Backoff
	patient  backoff.BackOff
}

func newClient(given retry.Backoff) *client {
	return &client{
		retries:  retry.WithMaxRetries(3, retry.NewConstant(time.Second)),
		constant: retry.NewConstant(time.Second),
		given:    given,
		patient:  backoff.NewExponentialBackOff(),
	}
}

func (c *client) field(ctx context.Context) error {
	return retry.Do(ctx, c.retries, store("a")) // want `RL208`
}

func goroutines(items []string) {
	var group sync.WaitGroup
	b := backoff.NewExponentialBackOff()
	for range items {
		group.Go(func() {
			backoff.Retry(ping, b) // want `RL208`
		})
	}
	group.Wait()
}

func goroutinesV5(ctx context.Context, items []string) {
	b := backoffv5.NewExponentialBackOff()
	for range items {
		go func() {
			backoffv5.Retry(ctx, func() (int, error) { return 0, ping() }, backoffv5.WithBackOff(b)) // want `RL208`
		}()
	}
}

var steady = backoff.NewConstantBackOff(time.Second)

func nopeNoState(ctx context.Context, c *client) error {
	backoff.Retry(ping, steady)
	return retry.Do(ctx, c.constant, store("a"))
}

func nopeGiven(ctx context.Context, c *client) error { return retry.Do(ctx, c.given, store("a")) }

// One goroutine may have the client.
func nopeField(c *client) error { return backoff.Retry(ping, c.patient) }

// Retry begins again.
func nopeResets(items []string) (err error) {
	b := backoff.NewExponentialBackOff()
	for range items {
		if err = backoff.Retry(ping, b); err != nil {
			return err
		}
	}
	return nil
}

func nopeEach(ctx context.Context, items []string) error {
	for _, item := range items {
		if err := retry.Do(ctx, retry.WithMaxRetries(3, retry.NewConstant(time.Second)), store(item)); err != nil {
			return err
		}
	}
	return nil
}

func nopeEither(ctx context.Context, once bool) error {
	b := retry.WithMaxRetries(3, retry.NewConstant(time.Second))
	if once {
		return retry.Do(ctx, b, store("a"))
	}
	return retry.Do(ctx, b, store("b"))
}

func init() {
	retry.Do(context.Background(), first, store("a"))
}

var first = retry.WithMaxRetries(3, retry.NewConstant(time.Second))

type poller struct{ b retry.Backoff }

func newPoller() *poller { return &poller{b: retry.NewExponential(time.Second)} }

func (p *poller) jittered() *poller {
	p.b = retry.WithJitter(time.Second, p.b)
	return p
}

func (p *poller) run(ctx context.Context) error {
	return retry.Do(ctx, p.b, store("a")) // want `RL208`
}

var dial = &backoff.ExponentialBackOff{}

// What wraps it is made anew, and begins it again.
func wrapped(ctx context.Context) error {
	return backoff.Retry(ping, backoff.WithContext(dial, ctx)) // want `RL208`
}

func nopeWrapped(ctx context.Context) error {
	return backoff.Retry(ping, backoff.WithContext(backoff.NewExponentialBackOff(), ctx))
}
