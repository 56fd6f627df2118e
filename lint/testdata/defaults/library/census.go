package library

import (
	"context"
	"errors"
	"log"
	"testing"
	"time"
)

// The functions of this file restate findings of a census that were wrong.

// When it has given up it reports no error, so that nothing repeats all attempts.
func pingOrLog(c client) error {
	for range 20 {
		if c.Ping() == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	log.Print("no answer")
	return nil
}

func nopeSwallowed(c client) (err error) {
	for range 3 {
		if err = pingOrLog(c); err == nil {
			return nil
		}
	}
	return err
}

func pingOrFail(c client) (err error) {
	for range 20 {
		if err = c.Ping(); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

func multiplied(c client) (err error) {
	for range 3 { // want `3 attempts of pingOrFail, which makes 20 at .* are 60 calls: .*RL401`
		if err = pingOrFail(c); err == nil {
			return nil
		}
	}
	return err
}

// A person ends a test that waits for ever.
func nopeHelperOfTests(t *testing.T, c client) {
	t.Helper()
	for {
		err := c.Ping()
		if err == nil {
			return
		}
		time.Sleep(time.Second)
	}
}

// Some microseconds are no time.
func nopeMicroseconds(ctx context.Context, c client, n int) error {
	for range 5 {
		if ctx.Err() != nil || c.Ping() == nil {
			return ctx.Err()
		}
		time.Sleep(time.Duration(n) * time.Microsecond)
	}
	return errors.New("no answer")
}

// The end of the context is seen half a second later.
func nopeSeenSoon(ctx context.Context, c client) error {
	for range 5 {
		if ctx.Err() != nil || c.Ping() == nil {
			return ctx.Err()
		}
		time.Sleep(500 * time.Millisecond)
	}
	return errors.New("no answer")
}

// It waits until ten milliseconds after the last attempt.
func nopeUntil(ctx context.Context, c client, last time.Time) error {
	for range 5 {
		if ctx.Err() != nil || c.Ping() == nil {
			return ctx.Err()
		}
		time.Sleep(time.Until(last.Add(10 * time.Millisecond)))
	}
	return errors.New("no answer")
}
