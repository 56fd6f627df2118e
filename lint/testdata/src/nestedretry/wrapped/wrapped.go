// Package wrapped has what a generated wrapper looks like.
package wrapped

import (
	"context"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

var policyFetch = retry.Policy{Name: "fetch", Schedule: retry.Schedule{MaxAttempts: 4}}

type Client struct{ next interface{ Ping() error } }

func (c *Client) Fetch(ctx context.Context) error { return c.next.Ping() }

func (c *Client) RetryFetch(ctx context.Context) error { // want RetryFetch:`attempts\(4\)`
	err := c.Fetch(ctx)
	if err == nil {
		return nil
	}
	call := policyFetch.Begin()
	for {
		if err = call.Next(ctx, err); err != nil {
			return err
		}
		if err = c.Fetch(ctx); err == nil {
			return nil
		}
	}
}

var policySend = retry.Policy{Name: "send", Nested: true}

func (c *Client) RetrySend(ctx context.Context) error { // want RetrySend:`attempts\(3\)`
	call := policySend.Begin()
	defer call.End()
	for {
		err := c.Fetch(call.Attempt(ctx))
		if err == nil {
			return nil
		}
		if err = call.Next(ctx, err); err != nil {
			return err
		}
	}
}

func Slowly(ping func() error, c *Client, ctx context.Context) (err error) { // want Slowly:`attempts\(3\)`
	for range 3 {
		if err = c.Fetch(ctx); err == nil {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return err
}
