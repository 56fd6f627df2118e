package lsp

import (
	"context"
	"slices"
	"sync"
)

// A queue calls a function for each item that was added, one at a time and in their
// order. An item that is added again before its turn has one turn. Adding never waits.
type queue[T comparable] struct {
	mu    sync.Mutex
	items []T
	added chan struct{}
}

// newQueue returns a queue that calls f until ctx is done.
func newQueue[T comparable](ctx context.Context, f func(T)) *queue[T] {
	q := &queue[T]{added: make(chan struct{}, 1)}
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-q.added:
			}
			for item, ok := q.next(); ok && ctx.Err() == nil; item, ok = q.next() {
				f(item)
			}
		}
	}()
	return q
}

func (q *queue[T]) add(item T) {
	q.mu.Lock()
	if !slices.Contains(q.items, item) {
		q.items = append(q.items, item)
	}
	q.mu.Unlock()
	select {
	case q.added <- struct{}{}:
	default:
	}
}

// next removes the first item.
func (q *queue[T]) next() (item T, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) > 0 {
		item, q.items, ok = q.items[0], q.items[1:], true
	}
	return item, ok
}
