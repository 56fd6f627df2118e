package directcall

import (
	"context"

	"github.com/retrygen/retrygen/lint/testdata/src/directcall/orders"
	"github.com/retrygen/retrygen/lint/testdata/src/directcall/stock"
)

// ---- wrappers of other packages ----

func method(ctx context.Context, c *orders.Client) (string, error) {
	return c.Order(ctx, "o-1") // want `this call of Order bypasses its policy: call RetryOrder \(RL507\)`
}

func function(ctx context.Context) (int, error) {
	return orders.Total(ctx, "o-1") // want `this call of Total bypasses its policy: call orders.RetryTotal \(RL507\)`
}

func step(ctx context.Context, c *orders.Client) func() error {
	return func() error {
		_, err := c.Charge(ctx, "o-1") // want `call RetryCharge \(RL507\)`
		return err
	}
}

func generic(ctx context.Context) ([]int, error) {
	return orders.List[int](ctx, "o-1") // want `call orders.RetryList \(RL507\)`
}

// The policy may be meant for package orders alone.
func nopeAnother(ctx context.Context, c *stock.Client) error {
	return c.Reserve(ctx, "pen")
}

func release(ctx context.Context, c *stock.Client) error {
	return c.Release(ctx, "pen") // want `call retryClientRelease \(RL507\)`
}

func nopeElsewhere(ctx context.Context, c *orders.Client) error {
	if _, err := c.RetryOrder(ctx, "o-1"); err != nil {
		return err
	}
	if _, err := c.Open(ctx, "o-1"); err != nil { // no policy
		return err
	}
	return orders.Refresh(ctx)
}
