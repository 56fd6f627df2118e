// Package retryablehttp declares what the test uses of the real one.
package retryablehttp

import (
	"net/http"
	"time"
)

type Client struct {
	HTTPClient                 *http.Client
	RetryWaitMin, RetryWaitMax time.Duration
	RetryMax                   int
	Logger                     any
}

func NewClient() *Client { return &Client{HTTPClient: new(http.Client)} }

func (c *Client) Get(url string) (*http.Response, error) { return nil, nil }

func (c *Client) StandardClient() *http.Client { return nil }
