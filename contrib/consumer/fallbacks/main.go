package main

import (
	"context"
	"errors"
	"fmt"
)

var errNo = errors.New("no")

func Get[K comparable, V any](m map[K]V, k K) (V, error) { return m[k], errNo }

func none[A comparable, B any](m map[A]B, a A, err error) (B, error) { return m[a], nil }

func Sum[T ~int | ~int8](a T) (T, error) { return 0, errNo }

func looser[V any](v V, err error) (V, error) { return v, nil }

func Rest[T any](none ...T) (n int, err error) { return 0, errNo }

func rest[U any](all []U, err error) (int, error) { return len(all), nil }

type Box[_, T any] struct{ v T }

func (b *Box[_, E]) Load(ctx context.Context) (E, error) { return b.v, errNo }

func unbox[A, B any](ctx context.Context, err error) (b B, _ error) { return b, nil }

type Cache[K comparable, V any] interface {
	Find(K) ([]V, error)
}

func find[A comparable, B any](a A, err error) ([]B, error) { return make([]B, 2), nil }

type cache struct{}

func (cache) Find(int) ([]string, error) { return nil, errNo }

type Svc struct{ name string }

func (s *Svc) Run(name string) error { return errNo }

func (s *Svc) fallback(name string, err error) error { s.name = name; return nil }

type Value struct{ n int }

func (v Value) Run(name string) error { return errNo }

func (v *Value) pointer(name string, err error) error { v.n++; return nil }

func main() {
	fmt.Println(RetryGet(map[string]int{"a": 1}, "a"))
	fmt.Println(RetrySum(int8(3)))
	fmt.Println(RetryRest("a", "b"))
	fmt.Println((&Box[int, string]{"v"}).RetryLoad(context.Background()))
	fmt.Println(NewRetryCache(cache{}).Find(1))
	group := NewImport("orders")
	s := &Svc{}
	fmt.Println(group.SvcRun(s, "x"), s.name)
	fmt.Println(group.ValueRun(Value{}, "x"))
}
