package unboundedlibrary

import (
	"context"
	"net/http"

	"github.com/hashicorp/go-retryablehttp"
)

func sends(ctx context.Context, c *retryablehttp.Client, url string) error {
	req, err := retryablehttp.NewRequest(http.MethodPost, url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/plain")
	req.SetBasicAuth("user", "secret")
	if err := req.SetBody("text"); err != nil {
		return err
	}
	resp, err := c.Do(req) // want `Do continues after ctx has ended: pass its request that context \(RL202`
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func asks(ctx context.Context, url string) (*http.Response, error) {
	return retryablehttp.NewClient().Get(url) // want `Get continues after ctx has ended: pass its request that context \(RL202`
}

func nopeWithoutCaller(c *retryablehttp.Client, url string) (*http.Response, error) {
	return c.Get(url)
}

func nopeSendsWithContext(ctx context.Context, c *retryablehttp.Client, url string) (*http.Response, error) {
	req, err := retryablehttp.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return c.Do(req.WithContext(ctx))
}

func nopeSetsContext(ctx context.Context, c *retryablehttp.Client, url string) (*http.Response, error) {
	req, err := retryablehttp.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	req.Request = req.Request.WithContext(ctx)
	return c.Do(req)
}

// Who is given the request may give it a context.
func nopeSigned(ctx context.Context, c *retryablehttp.Client, url string, sign func(context.Context, *retryablehttp.Request)) (*http.Response, error) {
	req, err := retryablehttp.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	sign(ctx, req)
	return c.Do(req)
}

// It sends each request once.
func nopeOnce(ctx context.Context, url string) (*http.Response, error) {
	c := retryablehttp.NewClient()
	c.RetryMax = 0
	return c.Get(url)
}

// What decides about the next attempt asks the context.
func nopeChecks(ctx context.Context, url string) (*http.Response, error) {
	c := retryablehttp.NewClient()
	c.CheckRetry = func(context.Context, *http.Response, error) (bool, error) { return ctx.Err() == nil, ctx.Err() }
	return c.Get(url)
}

// It is told when the context has ended.
func nopeReports(ctx context.Context, c *retryablehttp.Client, url string) (*http.Response, error) {
	<-ctx.Done()
	return c.Head(url)
}
