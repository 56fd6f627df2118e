// Package retry has another name than its folder.
package retry

import "context"

type Thing struct{ N int }

// Do does.
func Do(ctx context.Context, t Thing) (Thing, error) { return t, nil }

// A Doer does.
type Doer interface {
	Do(ctx context.Context, things ...Thing) (*Thing, error)
}
