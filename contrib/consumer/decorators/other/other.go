package other

import "context"

type Queue[T any, _ comparable] struct{ items []T }

// Push pushes.
func (q *Queue[Item, _]) Push(_ context.Context, items ...Item) error {
	q.items = append(q.items, items...)
	return nil
}

func (q Queue[_, _]) Len() int { return len(q.items) }

func (q Queue[_, _]) private() error { return nil }

type Doer interface{ Do(Option) error }

type Option func()
