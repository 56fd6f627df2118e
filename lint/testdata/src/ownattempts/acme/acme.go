// Package acme makes several attempts by itself.
package acme

import "context"

// A Client calls a server.
type Client struct{}

// Get calls the server.
func (*Client) Get(ctx context.Context) error { return ctx.Err() }

// New calls nothing.
func New() (*Client, error) { return &Client{}, nil }
