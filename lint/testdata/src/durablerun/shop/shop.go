// Package shop has durable steps.
package shop

import (
	"context"
	"fmt"
	"time"
)

type Client struct{}

// A Bill is an argument that is compared.
type Bill struct {
	Cents int
	Due   time.Time
	Text  string
}

// Charge has an argument besides its id.
func (c *Client) Charge(ctx context.Context, order string, bill Bill) (string, error) {
	return order, ctx.Err()
}

// Ship has an id of two parameters.
func (c *Client) Ship(ctx context.Context, order string, parcel int, items []string) error {
	return ctx.Err()
}

// Status may be called again.
func (c *Client) Status(ctx context.Context, order string) (string, error) { return order, ctx.Err() }

// Price records failures only.
func (c *Client) Price(ctx context.Context, order string) (int, error) { return 0, ctx.Err() }

// Tell accepts other arguments.
func (c *Client) Tell(ctx context.Context, order string, at time.Time) error { return ctx.Err() }

// Close has no id.
func Close(ctx context.Context, day string) error { return ctx.Err() }

// CloseDay calls a step and has no argument but the context.
func (c *Client) CloseDay(ctx context.Context) error { return RetryClose(ctx, "today") }

// Pay calls steps in the run of its caller.
func Pay(ctx context.Context, c *Client, order string, cents int) error {
	_, err := c.RetryCharge(ctx, order, Bill{Cents: cents, Text: fmt.Sprint(cents)})
	return err
}

// Remind calls a step that differs in each execution of the run of its caller.
func Remind(ctx context.Context, c *Client, order string) error {
	return bill(ctx, c, order, time.Now().Add(time.Hour))
}

func bill(ctx context.Context, c *Client, order string, due time.Time) error {
	_, err := c.RetryCharge(ctx, order, Bill{Due: due})
	return err
}
