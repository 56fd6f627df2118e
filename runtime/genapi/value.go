package genapi

import (
	"context"
	"errors"
)

// HeldContext returns ctx, the context that a builder holds, or
// context.Background() if it holds none.
func HeldContext(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}

// AsValue returns the first error of type *T or T in the tree of err, of which *T
// comes first: a type may have a method As that accepts *T, the target of errors.As
// for a value, and sets nothing. A type whose method Error has a value receiver may
// be returned in either form.
func AsValue[T error, P interface {
	*T
	error
}](err error) (value T, ok bool) {
	if p, ok := errors.AsType[P](err); ok && p != nil {
		return *p, true
	}
	return errors.AsType[T](err)
}
