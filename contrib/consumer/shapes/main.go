package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// The package declares the names that generated code would use by default.
var (
	retry = "taken"
	time  = "taken"
)

func Generic[K comparable, V any](ctx context.Context, m map[K]V, k K) (V, error) { return m[k], nil }

func Shadow(ctx context.Context, err, call, policyTimed string) error {
	if failures > 0 {
		failures--
		return errors.New("refused")
	}
	return nil
}

var failures int

func Blank(_ context.Context, _ int, _ string) error { return nil }

func Named(ctx context.Context) (n int, call string, err error) { return 1, "two", nil }

// Aliases of context.Context and error are recognized.
type (
	scope   context.Context
	scope2  = context.Context
	fault   error
	literal = interface{ Error() string }
)

func Aliased(v any, b []byte, s ...scope2) (interface{}, error) { return nil, errors.New("refused") }

func otherwise(v interface{}, b []uint8, s []context.Context, err error) (any, error) { return v, nil }

func Own(ctx scope) (scope2, literal, fault) {
	if failures > 0 {
		failures--
		return nil, nil, errors.New("refused")
	}
	return nil, nil, nil
}

func Variadic(ctx context.Context, f func(context.Context, ...int) error, rest ...struct {
	A int `json:"a"`
}) (func() <-chan int, error) {
	return nil, f(ctx, len(rest))
}

func Late(id int, ctx context.Context) ([]byte, error) { return nil, ctx.Err() }

func Channel(c chan<- map[string][]*os.File, context string) (interface{ Close() error }, error) {
	return nil, nil
}

// unexported can be bound, too.
func unexported() error { return nil }

type Box[T any] struct{ v T }

func (b *Box[T]) Get(ctx context.Context) (T, error) { return b.v, nil }

type Alias map[string]int

func (Alias) Do() error { return nil }

type Cache[K comparable, V any] interface {
	Get(ctx context.Context, k K) (V, error)
	Unwrap() int
}

type Embeds interface {
	io.ReadWriteCloser
	fmt.Stringer
	Query(ctx context.Context, s, e string) (error, error)
}

type memory map[string]int

func (m memory) Get(ctx context.Context, k string) (int, error) {
	if failures > 0 {
		failures--
		return 0, errors.New("refused")
	}
	return m[k], nil
}
func (m memory) Unwrap() int { return 7 }

func main() {
	ctx := context.Background()
	fmt.Println(RetryGeneric(ctx, map[string]int{"a": 1}, "a"))
	failures = 2
	fmt.Println(RetryShadow(ctx, "", "", ""), failures)
	fmt.Println(RetryNamed(ctx))
	fmt.Println((&Box[string]{"boxed"}).RetryGet(ctx))
	failures = 2
	fmt.Println(NewRetryCache(memory{"b": 2}).Get(ctx, "b"))
	failures = 3
	fmt.Println(NewRetryCache(memory{"b": 2}).Get(ctx, "b"))
	_, err := RetryVariadic(ctx, func(ctx context.Context, n ...int) error {
		_, ok := ctx.Deadline()
		fmt.Println("deadline", ok, n)
		return nil
	}, struct {
		A int `json:"a"`
	}{})
	fmt.Println(err)
	failures = 2
	_, _, own := RetryOwn(ctx)
	fmt.Println(own, failures)
	fmt.Println(RetryAliased(8, nil))
	fmt.Println(LongName2(ctx, func(context.Context) (int, error) { return 5, nil }))
	_ = retry + time
}
