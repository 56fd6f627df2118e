// Package resty declares what the tests use of resty.dev/v3.
package resty

import "time"

// A Client sends requests.
type Client struct{}

// A Response is what a request brought.
type Response struct{}

// New returns a client.
func New() *Client { return nil }

// SetRetryWaitTime returns the client.
func (c *Client) SetRetryWaitTime(d time.Duration) *Client { return c }

// SetRetryMaxWaitTime returns the client.
func (c *Client) SetRetryMaxWaitTime(d time.Duration) *Client { return c }

// SetRetryDelayStrategy returns the client.
func (c *Client) SetRetryDelayStrategy(f func(*Response, error) (time.Duration, error)) *Client {
	return c
}
