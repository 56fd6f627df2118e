package steploop

import (
	"context"
	"fmt"

	"github.com/retrygen/retrygen/lint/testdata/src/directcall/orders"
	"github.com/retrygen/retrygen/runtime/durable"
)

func step(ctx context.Context, fetch func(context.Context) (int, error)) error {
	for range 3 {
		if _, err := durable.Step(ctx, "fetch", nil, fetch); err != nil { // want `each iteration calls the same step of Step: put what differs into its id, or into the context by durable.Scope \(RL508\)`
			return err
		}
	}
	return nil
}

func wrapper(ctx context.Context, c *orders.Client, id string, amounts []int) error {
	for _, amount := range amounts {
		receipt, err := c.RetryCharge(ctx, id) // want `each iteration calls the same step of RetryCharge: .* \(RL508\)`
		if err != nil {
			return err
		}
		fmt.Println(receipt, amount)
	}
	return nil
}

func nopeScope(ctx context.Context, fetch func(context.Context) (int, error)) error {
	for i := range 3 {
		ctx := durable.Scope(ctx, fmt.Sprint(i))
		if _, err := durable.Step(ctx, "fetch", nil, fetch); err != nil {
			return err
		}
	}
	return nil
}

func nopeOther(ctx context.Context, c *orders.Client, ids []string) error {
	for _, id := range ids {
		if _, err := c.RetryCharge(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

func nopeChanged(ctx context.Context, c *orders.Client, id string) error {
	for range 3 {
		if _, err := c.RetryCharge(ctx, id); err != nil {
			return err
		}
		id += "'"
	}
	return nil
}

func nopeEnds(ctx context.Context, c *orders.Client, id string) error {
	for {
		receipt, err := c.RetryCharge(ctx, id)
		if err != nil {
			return err
		}
		if receipt != "" {
			break
		}
	}
	return nil
}
