package client

import (
	"context"
	"errors"
	"fmt"
)

func New(failures int) *Client { return &Client{base{failures}} }

// A Client fetches.
type Client struct{ base }

// Fetch fetches.
func (c *Client) Fetch(ctx context.Context, next, shared string) (string, error) {
	if c.left--; c.left >= 0 {
		return "", errors.New("not yet: no connection")
	}
	return next + shared, nil
}

func (c *Client) private() error { return nil }

func (c Client) Len() (n int) { return c.left }

type base struct{ left int }

func (base) Close() error { return nil }

func (base) Slow(ctx context.Context, nil string) error { return errors.New(nil) }

// Use takes a client that may retry or not.
func Use(c ClientMethods) {
	fmt.Println(c.Fetch(context.Background(), "a", "b"))
	fmt.Println(c.Len(), c.Close())
	fmt.Println(c.Slow(context.Background(), "slow") != nil)
}
