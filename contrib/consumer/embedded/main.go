package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/retrygen/retrygen/contrib/consumer/embedded/other"
)

type Service struct {
	*inner
	Loader
	other.Client
}

type inner struct{ failures int }

// Get gets.
func (i *inner) Get(ctx context.Context, s *Service) (*Service, error) {
	if i.failures--; i.failures >= 0 {
		return nil, errors.New("not yet: no connection")
	}
	return s, nil
}

type Loader interface{ Load(Loader) error }

func (s *Service) cached(id int, err error) (int, error) { return id, nil }

type Cache[K comparable] struct{ table[K, map[K]string] }

type table[A, B any] struct{}

func (table[X, Y]) Find(x X, y Y) (X, Y, error) { return x, y, nil }

type nothing struct{}

func (nothing) Load(Loader) error { return nil }

func main() {
	s := &Service{&inner{2}, nothing{}, other.Client{}}
	got, err := s.RetryGet(context.Background(), s)
	fmt.Println(got == s, err, s.RetryLoad(nil))
	fmt.Println(s.RetryFetch(7))
	fmt.Println(new(Cache[int]).RetryFind(1, map[int]string{1: "one"}))
	s.failures = 2
	_, err = NewRetryService(s).Get(context.Background(), s)
	fmt.Println(err, RetryClientDo(new(other.Client)))
}
