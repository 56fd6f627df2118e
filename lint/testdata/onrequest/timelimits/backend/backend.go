// Package backend has a generated wrapper that other packages call.
package backend

import (
	"context"
	"net/http"
)

// Get asks a server.
func Get(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// Load calls the wrapper.
func Load(ctx context.Context) error { return RetryGet(ctx, "https://example.com") }
