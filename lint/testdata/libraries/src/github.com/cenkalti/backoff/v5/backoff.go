// Package backoff declares what the test uses of the real one.
package backoff

import (
	"context"
	"time"
)

type (
	Operation[T any] func() (T, error)
	RetryOption      func()

	BackOff            interface{ NextBackOff() time.Duration }
	ExponentialBackOff struct{ InitialInterval time.Duration }
	ZeroBackOff        struct{}
)

func (*ExponentialBackOff) NextBackOff() time.Duration { return 0 }

func (*ZeroBackOff) NextBackOff() time.Duration { return 0 }

func NewExponentialBackOff() *ExponentialBackOff { return nil }
func WithBackOff(BackOff) RetryOption            { return nil }

func WithMaxElapsedTime(time.Duration) RetryOption { return nil }
func WithMaxTries(uint) RetryOption                { return nil }

func Retry[T any](ctx context.Context, operation Operation[T], opts ...RetryOption) (t T, err error) {
	return t, nil
}

func Permanent(err error) error    { return err }
func RetryAfter(seconds int) error { return nil }
