// Package gax declares what the test uses of the real one.
package gax

import (
	"context"
	"time"
)

type (
	APICall      func(context.Context, CallSettings) error
	CallOption   interface{ Resolve(*CallSettings) }
	CallSettings struct{}
	Backoff      struct{}
	Retryer      interface {
		Retry(error) (time.Duration, bool)
	}
)

func Invoke(ctx context.Context, call APICall, opts ...CallOption) error { return nil }
func WithRetry(func() Retryer) CallOption                                { return nil }
func OnErrorFunc(Backoff, func(error) bool) Retryer                      { return nil }
func WithTimeout(time.Duration) CallOption                               { return nil }
