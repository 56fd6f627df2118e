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

// An Order is an order as the API returns it.
type Order struct {
	ID    string `json:"id"`
	Item  string `json:"item"`
	Stale bool   `json:"-"` // from an earlier call, because the API has failed
}

// Client is a client of the API of a shop. Its methods may be called concurrently.
type Client struct {
	Base string
	HTTP *http.Client

	mu   sync.Mutex
	seen map[string]Order
}

// StatusError is the error for a response without success.
type StatusError struct{ Code int }

func (e *StatusError) Error() string {
	return fmt.Sprintf("orders: %d %s", e.Code, http.StatusText(e.Code))
}

// StatusCode returns the HTTP status, by which policies classify the error.
func (e *StatusError) StatusCode() int { return e.Code }

// Rejection is the error for an order that the shop does not accept.
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

// cachedOrder is the fallback of Order: it returns the order from an earlier call.
func (c *Client) cachedOrder(_ context.Context, id string, err error) (Order, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	order, ok := c.seen[id]
	if !ok {
		return Order{}, err
	}
	order.Stale = true
	return order, nil
}

// Create creates an order of an item.
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
