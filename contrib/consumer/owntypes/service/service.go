package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/retrygen/retrygen/contrib/consumer/owntypes/store"
)

type Service struct{ store *store.RetryStore }

func New(s *store.RetryStore) (*Service, error) { return &Service{s}, nil }

func Start(c map[string]*store.RetryCache[int, bool]) error { return nil }

type failing struct{}

func (failing) Get(context.Context) error { return errors.New("no") }

func main() {
	s, err := RetryNew(store.NewRetryStore(failing{}, nil))
	fmt.Println(s != nil, err)
	p, err := store.RetryNewPool(store.NewRetryStore(failing{}, nil), store.NewShared(), nil)
	fmt.Println(p != nil, err)
	var e store.EmbeddingMethods = store.Embedding{}
	_ = e.Get
}
