package genapi

import (
	"context"
	"errors"
)

// HeldContext returns ctx, the context that a builder holds, or context.Background() if
// ctx is nil.
func HeldContext(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}

// AsValue returns the first error of type *T or T in the tree of err. It looks for *T
// first. If it looked for T first, errors.As would pass a target of type *T, which an As
// method might accept without setting it. An error type whose Error method has a value
// receiver may occur in either form.
func AsValue[T error, P interface {
	*T
	error
}](err error) (value T, ok bool) {
	if p, ok := errors.AsType[P](err); ok && p != nil {
		return *p, true
	}
	return errors.AsType[T](err)
}
