package unboundedretry

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
)

// A status of 503 is a failure as an error is: the end of the context alone ends both.
func statusOrError(url string) (string, error) {
	for { // want `Post is retried without a wait: .*RL103`
		resp, err := http.Post(url, "text/plain", strings.NewReader("x"))
		if err != nil {
			if errors.Is(err, context.Canceled) {
				return "", err
			}
			continue
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusServiceUnavailable {
			continue
		}
		return resp.Status, nil
	}
}

// It is left by the status alone.
func untilStatus(url string) {
	for { // want `retry of Get never stops.*RL101`
		resp, err := http.Get(url)
		if err == nil && resp.StatusCode < 500 {
			resp.Body.Close()
			return
		}
		time.Sleep(time.Second)
	}
}

// All errors end it, and it waits for a file to be gone.
func nopeUntilGone(url string) error {
	for {
		resp, err := http.Get(url)
		if err != nil {
			return err
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusNotFound {
			return nil
		}
		time.Sleep(time.Second)
	}
}

// The request has no context: the end of ctx is not another error.
func withoutItsContext(ctx context.Context, c *http.Client, url string) error {
	for { // want `RL101`
		resp, err := c.Get(url)
		if err != nil {
			return err
		}
		if resp.StatusCode == http.StatusOK {
			return nil
		}
		time.Sleep(time.Second) // want `RL102`
	}
}

func nopeWithContextAndStatus(ctx context.Context, c *http.Client, req *http.Request) error {
	for {
		resp, err := c.Do(req.WithContext(ctx))
		if err != nil {
			return err
		}
		if resp.StatusCode == http.StatusOK {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func nopeSentWithContext(ctx context.Context, c *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	for {
		resp, err := c.Do(req)
		if err != nil {
			return err
		}
		if resp.StatusCode == http.StatusOK {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func shouldRetry(resp *http.Response, err error) bool {
	if err != nil {
		return true
	}
	return resp.StatusCode >= http.StatusInternalServerError
}

// A helper judges the response with the error.
func judged(c *http.Client, url string) (*http.Response, error) {
	for { // want `retry of Get never stops`
		resp, err := c.Get(url)
		if !shouldRetry(resp, err) {
			return resp, err
		}
		time.Sleep(time.Second)
	}
}

var errSpent = errors.New("attempts are spent")

func judgedAtOnce(c *http.Client, url string) (*http.Response, error) {
	for range 5 { // want `Get is retried without a wait`
		resp, err := c.Get(url)
		if !shouldRetry(resp, err) {
			return resp, err
		}
	}
	return nil, errSpent
}

func checkRetry(ctx context.Context, resp *http.Response, err error) (bool, error) {
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	return err != nil || resp.StatusCode == http.StatusTooManyRequests, nil
}

// The end of the context ends it.
func nopeJudgedWithContext(ctx context.Context, c *http.Client, url string) (*http.Response, error) {
	for {
		resp, err := c.Get(url)
		again, stopped := checkRetry(ctx, resp, err)
		if stopped != nil {
			return nil, stopped
		}
		if !again {
			return resp, err
		}
		time.Sleep(time.Second) // want `this wait continues after ctx has ended`
	}
}

// A page is no failure.
func nopeJudgedPage(c *http.Client, url string, more func(*http.Response, error) bool) {
	for {
		resp, err := c.Get(url)
		if !more(resp, err) {
			return
		}
		time.Sleep(time.Second)
	}
}
