package admin

import (
	"context"
	"fmt"

	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/namespace"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A Client inspects and changes the runs in one namespace of a store, for operators and
// for programs that act on their behalf. Its methods may be called concurrently. A Client
// does not need an engine; durable.Engine.Admin returns the client of an engine.
type Client struct {
	ns   *namespace.Namespace
	view *namespace.Namespace // to read from, with the steps that runs stand for
}

// An Option changes a default of a client.
type Option func(*namespace.Namespace) error

// Namespace sets the namespace that the client uses, which is the namespace of the
// engines. The default is the empty namespace.
func Namespace(name string) Option {
	return func(n *namespace.Namespace) error { return n.Name(name) }
}

// A Codec encodes the results of runs and steps: see durable.Codec.
type Codec interface {
	Encode(value any) ([]byte, error)
	Decode(data []byte, into any) error
}

// WithCodec sets the encoding of results, which must be the one that the engines use. The
// default is JSON.
func WithCodec(c Codec) Option {
	return func(n *namespace.Namespace) error {
		n.Codec = c
		return nil
	}
}

// OnEvent adds a function that is called for each of the client's events, in the
// goroutine that causes it. The function must not call methods of the client.
func OnEvent(f func(context.Context, events.Event)) Option {
	return func(n *namespace.Namespace) error {
		n.OnEvent(f)
		return nil
	}
}

// Redact adds a function that reports which parts of inputs and results must be hidden
// from people. [Client.Values] returns "[redacted]" in place of these parts. The path of
// a part consists of the names of the members that lead to it, starting with the
// outermost one. The elements of an array have the array's path. Members whose names look
// like secrets, such as password, access_token or Authorization, are always redacted. To
// redact other names, see [Named].
func Redact(hidden func(path []string) bool) Option {
	return func(n *namespace.Namespace) error {
		n.Hidden = append(n.Hidden, hidden)
		return nil
	}
}

// New returns a client for a store. The client does not read or write the store before
// its first operation, and does not need to be closed.
func New(s storage.Store, options ...Option) (*Client, error) {
	n := namespace.New(s)
	for _, option := range options {
		if err := option(n); err != nil {
			return nil, fmt.Errorf("admin: %w", err)
		}
	}
	return ClientOf(n), nil
}

// ClientOf returns a client for a namespace that an engine uses.
func ClientOf(n *namespace.Namespace) *Client { return &Client{n, n.Unfolded()} }
