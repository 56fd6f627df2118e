package retry

import "context"

type T struct{}

func (t *T) Do(ctx context.Context, t2, call *T) (*T, error) { return t2, nil }

func Do(retry, T2 *T) (T, error) { return T{}, nil }
