// Package example declares what the examples on the pages of the rules use.
package example

import (
	"context"
	"errors"
	"net/http"
)

// A Client calls a service.
type Client struct {
	http *http.Client
	url  string
}

func (c *Client) Call(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url, nil)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func (c *Client) Ping() error { return c.Call(context.Background()) }

func (c *Client) Ready() bool {
	resp, err := c.http.Head(c.url)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.Header.Get("Ready") != ""
}

func (c *Client) Update() error {
	if err := c.Ping(); err != nil {
		return err
	}
	return errConflict
}

var (
	errConflict = errors.New("conflict")
	errFatal    = errors.New("fatal")
)

// Flush has a wrapper.
func (c *Client) Flush(ctx context.Context) error { return c.Call(ctx) }

type server struct{ client *Client }
