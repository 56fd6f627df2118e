// Package retry has a different name than its folder.
package retry

import "context"

type Thing struct{ N int }

// Do succeeds.
func Do(ctx context.Context, t Thing) (Thing, error) { return t, nil }

// A Doer has a method to bind.
type Doer interface {
	Do(ctx context.Context, things ...Thing) (*Thing, error)
}
