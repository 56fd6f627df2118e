package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/retrygen/retrygen/contrib/consumer/decorators/client"
	"github.com/retrygen/retrygen/contrib/consumer/decorators/other"
)

// A Box has a method of a generic type.
type Box[T any, S ~[]T] struct{ s S }

func (b *Box[A, _]) Add(a A) error { b.s = append(b.s, a); return nil }

func (b *Box[_, B]) All() (B, error) { return b.s, nil }

type Short func() error

func (s Short) Do() error { return s() }

type hidden struct{}

func (hidden) Unwrap() (int, error) { return 1, nil }

// Renamed has a different name here.
type Renamed = other.Doer

func main() {
	client.Use(client.New(1))
	client.Use(client.NewRetryClient(client.New(1), nil))
	client.Use(client.NewRetryClient(client.NewRetryClient(client.New(4), client.NewShared()), nil))
	b := NewRetryBox(&Box[int, []int]{})
	fmt.Println(b.Add(7))
	fmt.Println(b.All())
	fmt.Println(newRetryHidden(hidden{}).Unwrap())
	fmt.Println(NewRetryShort(Short(func() error { return nil })).Do())
	fmt.Println(NewRetryBuffer(new(bytes.Buffer)).WriteString("abc"))
	q := NewRetryQueue[int, string](&other.Queue[int, string]{})
	fmt.Println(q.Push(context.Background(), 1, 2), q.Len())
}
