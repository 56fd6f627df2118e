package hiddenexhaustion

import (
	"context"
	"errors"
	"log"
	"time"
)

type client interface {
	Call(ctx context.Context, key string) (string, error)
	Ping() error
}

func contextEnded(ctx context.Context, f func() error) error {
	for {
		select {
		case <-ctx.Done():
			return nil // want `giving up reads as success of the call: return an error \(RL109\)`
		default:
		}
		if f() == nil {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
}

// Trying a few times and going on may be meant.
func nopeAttemptsSpent(c client) error {
	for range 5 {
		if c.Ping() == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return nil
}

func nopeError(ctx context.Context, f func() error) error {
	for {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if f() == nil {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
}

// It serves until it is told to stop.
func nopeServes(ctx context.Context, f func() error) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		default:
		}
		if err := f(); err != nil {
			log.Print(err)
		}
	}
}

// So does this, between the attempts.
func nopeServesInBetween(ctx context.Context, c client, ticks <-chan time.Time) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks:
			_, err := c.Call(ctx, "k")
			for err != nil {
				log.Print(err)
				select {
				case <-ctx.Done():
					return nil
				case <-time.After(time.Second):
				}
				_, err = c.Call(ctx, "k")
			}
		}
	}
}

// Whoever reads the log is told.
func nopeBestEffort(c client) error {
	for range 5 {
		if c.Ping() == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	log.Print("gave up")
	return nil
}

func nopeItems(ctx context.Context, c client, keys []string) error {
	for _, key := range keys {
		if _, err := c.Call(ctx, key); err == nil {
			return errors.New("found")
		}
	}
	return nil
}
