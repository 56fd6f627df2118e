package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/httpretry"
)

//go:generate go run github.com/retrygen/retrygen/cmd/retrygen .

// An Order is what the API knows of one.
type Order struct {
	ID    string `json:"id"`
	Item  string `json:"item"`
	Stale bool   `json:"-"` // read before, when the API still answered
}

// Client talks to the API of a shop.
type Client struct {
	Base string
	HTTP *http.Client

	mu   sync.Mutex
	seen map[string]Order
}

// StatusError is an answer that is no success.
type StatusError struct{ Code int }

func (e *StatusError) Error() string {
	return fmt.Sprintf("orders: %d %s", e.Code, http.StatusText(e.Code))
}

// StatusCode tells policies the status.
func (e *StatusError) StatusCode() int { return e.Code }

// Rejection says why an order is not accepted.
type Rejection struct{ Reason string }

func (e *Rejection) Error() string { return "orders: rejected: " + e.Reason }

// Order returns an order.
func (c *Client) Order(ctx context.Context, id string) (Order, error) {
	order, err := c.do(ctx, http.MethodGet, "/orders/"+id, nil)
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.seen == nil {
			c.seen = map[string]Order{}
		}
		c.seen[id] = order
	}
	return order, err
}

// remembered stands in for Order when that has failed for good.
func (c *Client) remembered(_ context.Context, id string, err error) (Order, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	order, ok := c.seen[id]
	if !ok {
		return Order{}, err
	}
	order.Stale = true
	return order, nil
}

// Create makes an order.
func (c *Client) Create(ctx context.Context, item string) (Order, error) {
	return c.do(ctx, http.MethodPost, "/orders", map[string]string{"item": item})
}

func (c *Client) do(ctx context.Context, method, path string, body any) (order Order, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return order, retry.Permanent(err)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.Base+path, bytes.NewReader(text))
	if err != nil {
		return order, retry.Permanent(err)
	}
	if key := retry.IdempotencyKey(ctx); key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return order, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return order, err
	case resp.StatusCode == http.StatusUnprocessableEntity:
		return order, &Rejection{string(answer)}
	case resp.StatusCode >= 300:
		err := &StatusError{resp.StatusCode}
		if wait, asked := httpretry.Hint(resp, time.Now()); asked {
			return order, retry.After(err, wait)
		}
		return order, err
	}
	return order, json.Unmarshal(answer, &order)
}
