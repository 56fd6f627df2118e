package orders // want package:`wrappers RetryCharge RetryOrder RetryClientReserve RetryList RetryTotal retryRefresh`

import "context"

type Client struct{}

// Order returns an order.
func (c *Client) Order(ctx context.Context, id string) (string, error) { return id, nil }

// Charge is a durable step.
func (c *Client) Charge(ctx context.Context, id string) (string, error) { return id, nil }

// Open has no policy.
func (c *Client) Open(ctx context.Context, id string) (string, error) { return id, nil }

// Total falls back to a function of the same type.
func Total(ctx context.Context, id string) (int, error) { return 0, nil }

// Estimate is the fallback of Total.
func Estimate(ctx context.Context, id string, err error) (int, error) { return 0, nil }

func refresh(ctx context.Context) error { return nil }

// Refresh calls what has a wrapper that other packages cannot call.
func Refresh(ctx context.Context) error { return retryRefresh(ctx) }

// List has type parameters.
func List[T any](ctx context.Context, id string) ([]T, error) { return nil, nil }
