// Package idempotent connects package retry, which hands idempotency keys to
// callees, with package durable, which computes the key of a step when somebody
// asks for it. Neither imports the other for that.
package idempotent

// A Keyed has an idempotency key. Several goroutines may call it simultaneously.
type Keyed interface {
	IdempotencyKey() string
}

// Key is the key of a context for its Keyed.
type Key struct{}
