package api

import (
	"context"
	"errors"
)

var ErrDown = errors.New("connection refused")

// A Request can return its context, which may be nil.
type Request struct{ ctx context.Context }

func New(ctx context.Context) *Request { return &Request{ctx} }

func (r *Request) Context() context.Context    { return r.ctx }
func (r *Request) Execute(method string) error { return ErrDown }

// An Options is an argument with a context.
type Options struct {
	Limit   int
	Context context.Context
}

func List(o Options) error { return ErrDown }

// A ListCall hides its context.
type ListCall struct{ ctx context.Context }

func (c *ListCall) Context(ctx context.Context) *ListCall                 { return c }
func (c *ListCall) Do(opts ...string) (string, error)                     { return "", nil }
func (c *ListCall) Pages(ctx context.Context, f func(string) error) error { return nil }

// A Get has the context from its constructor.
type Get struct{ ctx context.Context }

func (g Get) Execute() error { return nil }

// A Client ends when its context ends.
type Client struct{ ctx context.Context }

func (c *Client) Get(ctx context.Context) error { return nil }
func (c *Client) Close() error                  { return nil }
