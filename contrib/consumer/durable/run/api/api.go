// Package api is somebody else's.
package api

import "context"

// An Op is what all of them do.
type Op func(context.Context) (int, error)

func Query(op Op, ctx context.Context, id string) (int, error) { return op(ctx) }

type Conn struct{ Op Op }

func (c Conn) Exec(ctx context.Context, id string) (int, error) { return c.Op(ctx) }

type Doer interface {
	Do(ctx context.Context, id string) (int, error)
}
