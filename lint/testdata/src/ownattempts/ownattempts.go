// Package ownattempts retries calls of a client that makes 10 attempts by itself.
package ownattempts

import (
	"context"
	"time"

	"github.com/retrygen/retrygen/lint/testdata/src/ownattempts/acme"
)

const retryClients = "acme 10 github.com/retrygen/retrygen/lint/testdata/src/ownattempts/acme\n"

func loop(ctx context.Context, c *acme.Client) (err error) {
	for range 3 { // want `3 attempts of Get, which makes 10 at client acme, are 30 calls: retry in one place \(RL401`
		if err = c.Get(ctx); err == nil {
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

func nopeOnce(ctx context.Context, c *acme.Client) error { return c.Get(ctx) }

func nopeNoCall() (c *acme.Client, err error) {
	for range 3 {
		if c, err = acme.New(); err == nil {
			return c, nil
		}
		time.Sleep(time.Second)
	}
	return nil, err
}
