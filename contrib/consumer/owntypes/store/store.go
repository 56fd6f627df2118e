package store

import "context"

type Store interface {
	Get(ctx context.Context) error
}

type Pool struct{ made bool }

// Do succeeds.
func (p *Pool) Do() error { return nil }

func NewPool(s *RetryStore, shared *Shared, m PoolMethods) (*Pool, error) {
	if s == nil || shared == nil {
		panic("nothing given")
	}
	return &Pool{true}, nil
}

type Cache[K comparable, V any] interface{ Load(K) (V, error) }

func Warm[K comparable](c *RetryCache[K, string], k K) (*RetryCache[string, []K], error) {
	return nil, nil
}

// A Unit has a method to bind.
type Unit interface{ Import() (*Import, error) }

func RunUnit(name string, s ...*RetryStore) error { return nil }

// Embedding has the method Get of a generated type.
type Embedding struct{ *RetryStore }
