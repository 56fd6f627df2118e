// Package resty declares what the tests use of github.com/go-resty/resty/v2.
package resty

import "time"

// A Client sends requests.
type Client struct{}

// New returns a client.
func New() *Client { return nil }

// SetRetryCount returns the client.
func (c *Client) SetRetryCount(n int) *Client { return c }

// SetRetryWaitTime returns the client.
func (c *Client) SetRetryWaitTime(d time.Duration) *Client { return c }

// SetRetryMaxWaitTime returns the client.
func (c *Client) SetRetryMaxWaitTime(d time.Duration) *Client { return c }
