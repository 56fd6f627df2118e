// Package captured connects package recovery, which captures timeouts, with
// package durable, which keeps them in the history of a step. Neither imports the
// other.
package captured

import "context"

// A Keeper keeps rows about captured timeouts. Several goroutines may call it
// simultaneously.
type Keeper interface {
	// Keep keeps a row of timeouts.jsonl. The keeper owns row.
	Keep(row []byte)
}

// Key is the key of a context for its Keeper, for contexts with a method Value.
type Key struct{}

// With returns a copy of ctx with a keeper.
func With(ctx context.Context, k Keeper) context.Context { return context.WithValue(ctx, Key{}, k) }

// Keep gives row to the keeper of ctx, if it has one.
func Keep(ctx context.Context, row []byte) {
	if k, ok := ctx.Value(Key{}).(Keeper); ok {
		k.Keep(row)
	}
}
