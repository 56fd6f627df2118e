// Package stock is a client of which other packages bind methods.
package stock

import "context"

type Client struct{}

func (c *Client) Reserve(ctx context.Context, item string) error { return nil }

func (c *Client) Release(ctx context.Context, item string) error { return nil }
