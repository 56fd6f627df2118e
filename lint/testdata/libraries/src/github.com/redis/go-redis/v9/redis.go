// Package redis declares what the tests use of github.com/redis/go-redis/v9.
package redis

import "time"

// Options are the settings of a client.
type Options struct {
	MaxRetries                       int
	MinRetryBackoff, MaxRetryBackoff time.Duration
}

// A Client is a client of a server.
type Client struct{}

// NewClient returns a client.
func NewClient(o *Options) *Client { return nil }
