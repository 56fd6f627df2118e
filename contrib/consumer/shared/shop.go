package shared

import (
	"context"
	"errors"
)

//go:generate retrygen

var ErrDial = errors.New("dial")

type ValidationError struct{ Field string }

func (e *ValidationError) Error() string { return e.Field }

type Status int

func (s Status) Error() string   { return "status" }
func (s Status) StatusCode() int { return int(s) }

type Client struct{ call func(context.Context) error }

func (c *Client) Get(ctx context.Context, id string) (n int, err error) { return 1, c.call(ctx) }

func (c *Client) Run(ctx context.Context, unit string) error { return c.call(ctx) }

type Store interface {
	Get(ctx context.Context, id string) (int, error)
	Put(ctx context.Context, id string, pass int) error
	Close() error
}

var callee func(context.Context) error

func Guarded(ctx context.Context, id string, more ...int) (string, error) { return id, callee(ctx) }

func cached(ctx context.Context, id string, more []int, err error) (string, error) {
	return "cached " + id, nil
}

func Share() error { return callee(context.Background()) }

func Limited(ctx context.Context) (int, error) { return 2, callee(ctx) }

func Timed(ctx context.Context) error { return callee(ctx) }

func Classes(ctx context.Context) error { return callee(ctx) }

func Write(ctx context.Context, unit string) error { return callee(ctx) }

func RunShard(ctx context.Context, shardID string, size int) (int, error) { return size, callee(ctx) }
