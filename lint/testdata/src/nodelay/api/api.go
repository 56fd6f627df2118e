// Package api asks a server.
package api

import (
	"io"
	"net/http"
)

type Client struct{ url string }

func (c *Client) Status() (string, error) { // want Status:"remote"
	return c.get("status")
}

func (c *Client) get(path string) (string, error) {
	resp, err := http.Get(c.url + path)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

func (c *Client) Known() (string, error) { return c.url, nil }

// ShouldRetry reports whether an error is worth another try.
func ShouldRetry(err error) bool { return err != io.EOF }
