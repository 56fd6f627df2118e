package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/httpretry"
)

//go:generate go tool retrygen .

// A Client reads shards from data centers, and writes them to the warehouse.
type Client struct {
	URL    string
	Worker string // the process, for the report
	HTTP   *http.Client
}

// Read returns the number of rows of a shard, such as south-17.
func (c *Client) Read(ctx context.Context, shard string) (int, error) {
	center, _, _ := strings.Cut(shard, "-")
	return c.post(ctx, "/read", url.Values{"center": {center}, "shard": {shard}})
}

// Write stores the rows of a shard, and returns how many were stored.
func (c *Client) Write(ctx context.Context, shard string, rows int) (int, error) {
	return c.post(ctx, "/write", url.Values{"shard": {shard}, "rows": {fmt.Sprint(rows)}})
}

// post sends a request and returns the number in the response. The error for a
// response other than 200 is an *httpretry.StatusError.
func (c *Client) post(ctx context.Context, path string, form url.Values) (n int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+path+"?"+form.Encode(), nil)
	if err != nil {
		return 0, err
	}
	// The servers count how often they see each number of an attempt.
	info, _ := durable.Current(ctx)
	req.Header.Set("Attempt", attemptID(info.Run, info.Step, info.Attempt))
	req.Header.Set("Worker", c.Worker)
	req.Header.Set("Idempotency-Key", retry.IdempotencyKey(ctx))
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, &httpretry.StatusError{Code: resp.StatusCode}
	}
	return n, json.NewDecoder(resp.Body).Decode(&n)
}

// attemptID identifies an attempt in all processes.
func attemptID(run, step string, attempt int) string { return fmt.Sprint(run, " ", step, " ", attempt) }
