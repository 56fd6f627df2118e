package admin

import (
	"context"
	"fmt"

	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/namespace"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A Client describes and changes the runs of a namespace of a store: what operators
// do, and programs on their behalf. Its methods may be called concurrently. It needs
// no engine; durable.Engine.Admin returns the client of an engine.
type Client struct {
	ns   *namespace.Namespace
	view *namespace.Namespace // to read from, with the steps that runs stand for
}

// An Option changes a default of a client.
type Option func(*namespace.Namespace) error

// Namespace sets the namespace of the engines whose runs the client describes. The
// default is the empty namespace.
func Namespace(name string) Option {
	return func(n *namespace.Namespace) error { return n.Name(name) }
}

// A Codec encodes the results of runs and steps: see durable.Codec.
type Codec interface {
	Encode(value any) ([]byte, error)
	Decode(data []byte, into any) error
}

// WithCodec sets the encoding of results, with which the engines write them. The default
// is JSON.
func WithCodec(c Codec) Option {
	return func(n *namespace.Namespace) error {
		n.Codec = c
		return nil
	}
}

// OnEvent adds a function that is called for every event of the client, in the
// goroutine that causes it. It must not call methods of the client.
func OnEvent(f func(context.Context, events.Event)) Option {
	return func(n *namespace.Namespace) error {
		n.OnEvent(f)
		return nil
	}
}

// Redact adds a function that reports which parts of inputs and results people
// may not see: [Client.Values] returns "[redacted]" in their place. The path of a part
// has the names of the members that lead to it, the outermost first; elements of arrays
// have the path of their array. Members that have the names of secrets, such as
// password, access_token or Authorization, are redacted in any case. See [Named].
func Redact(hidden func(path []string) bool) Option {
	return func(n *namespace.Namespace) error {
		n.Hidden = append(n.Hidden, hidden)
		return nil
	}
}

// New returns a client of a store. It neither reads nor writes the store before
// its first operation, and needs no Close.
func New(s storage.Store, options ...Option) (*Client, error) {
	n := namespace.New(s)
	for _, option := range options {
		if err := option(n); err != nil {
			return nil, fmt.Errorf("admin: %w", err)
		}
	}
	return ClientOf(n), nil
}

// ClientOf returns a client of a namespace that an engine uses.
func ClientOf(n *namespace.Namespace) *Client { return &Client{n, n.Unfolded()} }
