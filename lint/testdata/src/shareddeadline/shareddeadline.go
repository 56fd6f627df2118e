package shareddeadline

import (
	"context"
	"time"
)

type client interface{ Ping(context.Context) error }

type config struct{ AttemptTimeout, Timeout time.Duration }

func parentAsked(ctx context.Context, c client) error {
	limited, cancel := context.WithTimeout(ctx, time.Second) // want `all attempts of Ping share this timeout, .* \(RL304`
	defer cancel()
	for {
		if c.Ping(limited) == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

func named(ctx context.Context, c client, conf config) (err error) {
	ctx, cancel := context.WithTimeout(ctx, conf.AttemptTimeout) // want `RL304`
	defer cancel()
	for range 3 {
		if err = c.Ping(ctx); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

func nopeEach(ctx context.Context, c client, conf config) (err error) {
	for range 3 {
		attempt, cancel := context.WithTimeout(ctx, conf.AttemptTimeout)
		err = c.Ping(attempt)
		cancel()
		if err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

// The attempts do not fit into it either, for the same reason.
func tooShortAsWell(ctx context.Context, c client) (err error) {
	attemptCtx, cancel := context.WithTimeout(ctx, 3*time.Second) // want `\(RL304`
	defer cancel()
	for range 5 {
		if err = c.Ping(attemptCtx); err == nil {
			return nil
		}
		time.Sleep(time.Second) // want `RL102`
	}
	return err
}

func nopeTogether(ctx context.Context, c client, conf config) (err error) {
	ctx, cancel := context.WithTimeout(ctx, conf.Timeout)
	defer cancel()
	for range 3 {
		if err = c.Ping(ctx); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

func nopeAsked(ctx context.Context, c client) error {
	attempts, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		if c.Ping(attempts) == nil {
			return nil
		}
		select {
		case <-attempts.Done():
			return attempts.Err()
		case <-time.After(time.Second):
		}
	}
}
