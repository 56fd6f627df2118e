package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// An AppCtx is a context with a user.
type AppCtx interface {
	context.Context
	User() string
}

type gctx struct {
	context.Context
	calls int
	stop  context.CancelFunc
}

func (*gctx) User() string { return "me" }

func (c *gctx) fail() error {
	c.calls++
	time.AfterFunc(10*time.Millisecond, c.stop) // while the wrapper waits
	return errors.New("no connection")
}

func Fetch(ctx AppCtx, id int) error { return ctx.(*gctx).fail() }

func Late(id int, _ *gctx) (string, error) { return "", last.fail() }

var last *gctx

func Handle(c *gctx) error { return c.fail() }

func Param[C AppCtx](ctx C) (C, error) { return ctx, any(ctx).(*gctx).fail() }

// Both has a context.Context, which comes first.
func Both(c *gctx, ctx context.Context) error { return c.fail() }

type Server interface {
	Serve(*gctx) error
}

type server struct{}

func (server) Serve(c *gctx) error { return c.fail() }

type Box[T any] struct{ v T }

func (b *Box[T]) Get(ctx AppCtx) (T, error) { return b.v, ctx.(*gctx).fail() }

func main() {
	check := func(name string, f func(c *gctx) error) {
		ctx, stop := context.WithCancel(context.Background())
		last = &gctx{ctx, 0, stop}
		err := f(last)
		fmt.Println(name, last.calls, errors.Is(err, context.Canceled))
	}
	check("Fetch", func(c *gctx) error { return RetryFetch(c, 1) })
	check("Late", func(c *gctx) error { _, err := RetryLate(1, c); return err })
	check("Handle", RetryHandle)
	check("Param", func(c *gctx) error { _, err := RetryParam(c); return err })
	check("Server", NewRetryServer(server{}).Serve)
	check("Box", func(c *gctx) error { _, err := (&Box[int]{}).RetryGet(c); return err })
	check("Both", func(c *gctx) error { return RetryBoth(c, c) })
}
