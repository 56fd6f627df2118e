package wrappederrors

import (
	"context"
	"time"

	"github.com/pkg/errors"
)

type client interface {
	Call(ctx context.Context) error
}

// A text before no error is none.
func parentLives(ctx context.Context, c client) error {
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for { // want `returns the context's error at line \d+, which is nil until it ends`
		if err := c.Call(limited); err == nil {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-limited.Done():
			return errors.Wrap(ctx.Err(), "call")
		}
	}
}

func nopeOwn(ctx context.Context, c client) error {
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		if err := c.Call(limited); err == nil {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-limited.Done():
			return errors.Wrap(limited.Err(), "call")
		}
	}
}

func nopeMade(ctx context.Context, c client) error {
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		if err := c.Call(limited); err == nil {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-limited.Done():
			return errors.Errorf("call: %v", ctx.Err())
		}
	}
}
