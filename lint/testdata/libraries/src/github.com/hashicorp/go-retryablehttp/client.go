// Package retryablehttp declares what the test uses of the real one.
package retryablehttp

import (
	"context"
	"net/http"
	"time"
)

type Client struct {
	HTTPClient                 *http.Client
	RetryWaitMin, RetryWaitMax time.Duration
	RetryMax                   int
	Backoff                    func(low, high time.Duration, attempt int, resp *http.Response) time.Duration
	Logger                     any
	CheckRetry                 func(ctx context.Context, resp *http.Response, err error) (bool, error)
}

type Request struct {
	body any
	*http.Request
}

func NewRequest(method, url string, body any) (*Request, error) { return nil, nil }

func (r *Request) WithContext(ctx context.Context) *Request { return r }

func (r *Request) SetBody(body any) error { return nil }

func NewClient() *Client { return &Client{HTTPClient: new(http.Client)} }

func (c *Client) Get(url string) (*http.Response, error) { return nil, nil }

func (c *Client) Head(url string) (*http.Response, error) { return nil, nil }

func (c *Client) StandardClient() *http.Client { return nil }

func (c *Client) Do(req *Request) (*http.Response, error) { return nil, nil }

func LinearJitterBackoff(low, high time.Duration, attempt int, resp *http.Response) time.Duration {
	return 0
}
