package schedulefit

import (
	"context"
	"time"
)

type client interface{ Ping(context.Context) error }

func waits(c client) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for range 10 { // want `the waits between 10 attempts of Ping are 9s, but the context from line 11 ends after 5s: .* \(RL302`
		if err = c.Ping(ctx); err == nil {
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

func timeouts(ctx context.Context, c client) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for i := 0; i < 3; i++ { // want `the timeouts and waits of 3 attempts of Ping are 14s`
		attempt, cancel := context.WithTimeout(ctx, 4*time.Second)
		err = c.Ping(attempt)
		cancel()
		if err == nil {
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

func grows(c client) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	delay := time.Second
	for range 6 { // want `the waits between 6 attempts of Ping are 19s`
		if err = c.Ping(ctx); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(delay):
		}
		if delay *= 2; delay > 6*time.Second {
			delay = 6 * time.Second
		}
	}
	return err
}

// Another may end the wait.
func nopeWoken(c client, wake chan struct{}) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for range 10 {
		if err = c.Ping(ctx); err == nil {
			return nil
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
	return err
}

func nopeFits(c client) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for range 4 {
		if err = c.Ping(ctx); err == nil {
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

// Some failures are tried again at once.
func nopeSome(c client, slow func(error) bool) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for range 10 {
		if err = c.Ping(ctx); err == nil {
			return nil
		}
		if slow(err) {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Second):
			}
		}
	}
	return err
}

func nopeGiven(ctx context.Context, c client, d time.Duration) (err error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	for range 10 {
		if err = c.Ping(ctx); err == nil {
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
