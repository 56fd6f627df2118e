package builders

import (
	"context"

	"github.com/retrygen/retrygen/contrib/consumer/builders/api"
)

// Own is a builder of this package.
type Own struct{ ctx context.Context }

func (o *Own) Do() error { return api.ErrDown }

func Send(name string, req *api.Request) error { return api.ErrDown }

// The options of Find and Guarded may be nil.
func Find(context string, o *api.Options) error { return api.ErrDown }

func Guarded(o *api.Options) error { return api.ErrDown }

// A Caller returns its context.
type Caller interface {
	Context() context.Context
	Call() error
}

// A Call takes a context.
type Call interface {
	Context(ctx context.Context) Call
	Do() error
}
