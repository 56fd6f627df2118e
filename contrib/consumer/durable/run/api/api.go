// Package api stands for a client library.
package api

import "context"

// An Op is the operation that all calls in the tests make.
type Op func(context.Context) (int, error)

func Query(op Op, ctx context.Context, id string) (int, error) { return op(ctx) }

type Conn struct{ Op Op }

func (c Conn) Exec(ctx context.Context, id string) (int, error) { return c.Op(ctx) }

type Doer interface {
	Do(ctx context.Context, id string) (int, error)
}
