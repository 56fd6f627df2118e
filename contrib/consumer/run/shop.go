package run

import (
	"context"

	"github.com/retrygen/retrygen/contrib/consumer/run/api"
)

func Call(ctx context.Context, op api.Op) (int, error) { return op(ctx) }

func CallTimed(ctx context.Context, op api.Op) (int, error) { return op(ctx) }

func CallNested(ctx context.Context, op api.Op) (int, error) { return op(ctx) }

func CallNestedShared(ctx context.Context, op api.Op) (int, error) { return op(ctx) }

func Pair[K comparable, V any](ctx context.Context, k K, f func(context.Context) (V, error)) (K, V, error) {
	v, err := f(ctx)
	return k, v, err
}

func Variadic(ctx context.Context, op api.Op, more ...string) (int, error) {
	n, err := op(ctx)
	return n - 1 + len(more), err
}

func Named(_ context.Context, op api.Op) (n int, err error) { return op(context.Background()) }

type Client struct{ op api.Op }

func (c *Client) Do(ctx context.Context) (int, error) { return c.op(ctx) }

func (c Client) DoTimed(ctx context.Context) (int, error) { return c.op(ctx) }

type Box[T any] struct {
	op func(context.Context) (T, error)
}

func (b *Box[T]) Do(ctx context.Context) (T, error) { return b.op(ctx) }

func (b Box[T]) Slow(ctx context.Context) (T, error) { return b.op(ctx) }

type Store interface {
	Do(context.Context) (int, error)
	Slow(context.Context) (int, error)
}

type Cache[K comparable, V any] interface {
	Load(context.Context, K) (V, error)
}
