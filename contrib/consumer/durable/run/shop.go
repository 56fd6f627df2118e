package run

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/retrygen/retrygen/contrib/consumer/durable/run/api"
)

var (
	ErrDeclined = errors.New("declined")
	errPending  = errors.New("pending")
)

type ID string

func Call(ctx context.Context, id ID, op api.Op) (int, error)            { return op(ctx) }
func CallLimited(ctx context.Context, id ID, op api.Op) (int, error)     { return op(ctx) }
func CallGuarded(ctx context.Context, id ID, op api.Op) (int, error)     { return op(ctx) }
func CallStored(ctx context.Context, id ID, op api.Op) (int, error)      { return op(ctx) }
func CallFailures(ctx context.Context, id ID, op api.Op) (int, error)    { return op(ctx) }
func Late(ctx context.Context, id ID, op api.Op) (int, error)            { return op(ctx) }
func Report(ctx context.Context, id ID, n int, op api.Op) (int, error)   { return op(ctx) }
func cached(ctx context.Context, id ID, op api.Op, e error) (int, error) { return -1, nil }

func Only(ctx context.Context, id ID, got *int, op api.Op) error {
	_, err := op(ctx)
	return err
}

func Pair[K ~string, V any](ctx context.Context, k K, f func(context.Context) (V, error)) (K, V, error) {
	v, err := f(ctx)
	return k, v, err
}

func Variadic(ctx context.Context, op api.Op, id ID, more ...string) (int, error) {
	n, err := op(ctx)
	return n - 1 + len(more), err
}

func Named(ctx context.Context, id ID, op api.Op) (n int, err error) { return op(ctx) }

func NamedPair(ctx context.Context, id ID, op api.Op) (all map[string]int, results []int, err error) {
	n, err := op(ctx)
	return map[string]int{"n": n}, []int{n}, err
}

func Checked(ctx context.Context, id ID, op api.Op) (int, error) { return op(ctx) }

func settled(n int) error {
	if n < 0 {
		return errPending
	}
	return nil
}

func Send(req *http.Request, id ID, op api.Op) (int, error) {
	if req.Body != nil {
		if text, err := io.ReadAll(req.Body); string(text) != "body" || err != nil {
			return 0, errors.New("read " + string(text))
		}
	}
	return op(req.Context())
}

func Upload(ctx context.Context, id ID, content io.ReadSeeker, op api.Op) (int, error) {
	if text, err := io.ReadAll(content); string(text) != "content" || err != nil {
		return 0, errors.New("read " + string(text))
	}
	return op(ctx)
}

type Receipt struct{ Paid int }

func Charge(ctx context.Context, id ID, n int, amount float64, op api.Op) (*Receipt, error) {
	paid, err := op(ctx)
	return &Receipt{paid}, err
}

type Client struct{ op api.Op }

func (c *Client) Do(ctx context.Context, id string) (int, error) { return c.op(ctx) }

func (c Client) DoGuarded(ctx context.Context, id string) (int, error) { return c.op(ctx) }

type Box[T any] struct {
	op func(context.Context) (T, error)
}

func (b *Box[T]) Do(ctx context.Context, id string) (T, error) { return b.op(ctx) }

func (b Box[T]) Plain(ctx context.Context) (T, error) { return b.op(ctx) }

func (b *Box[T]) Close() error { return nil }

type Store interface {
	Do(ctx context.Context, id string) (int, error)
	Plain(context.Context) (int, error)
	Close() error
}

type Cache[K comparable, V any] interface {
	Load(ctx context.Context, id string, key K) (V, error)
}
