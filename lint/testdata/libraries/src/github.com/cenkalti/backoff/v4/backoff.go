// Package backoff declares what the test uses of the real one.
package backoff

import (
	"context"
	"time"
)

type (
	BackOff   interface{ NextBackOff() time.Duration }
	Operation func() error
	Notify    func(error, time.Duration)

	ZeroBackOff        struct{}
	ConstantBackOff    struct{}
	ExponentialBackOff struct{ InitialInterval, MaxInterval, MaxElapsedTime time.Duration }
	Opts               func(*ExponentialBackOff)
)

func (*ZeroBackOff) NextBackOff() time.Duration        { return 0 }
func (*ConstantBackOff) NextBackOff() time.Duration    { return 0 }
func (*ExponentialBackOff) NextBackOff() time.Duration { return 0 }

func NewConstantBackOff(time.Duration) *ConstantBackOff                    { return nil }
func NewExponentialBackOff(...Opts) *ExponentialBackOff                    { return nil }
func WithInitialInterval(time.Duration) Opts                               { return nil }
func WithMaxElapsedTime(time.Duration) Opts                                { return nil }
func WithMaxRetries(b BackOff, max uint64) BackOff                         { return b }
func WithContext(b BackOff, ctx context.Context) BackOff                   { return b }
func Retry(o Operation, b BackOff) error                                   { return nil }
func RetryWithData[T any](o func() (T, error), b BackOff) (t T, err error) { return o() }
func RetryNotify(o Operation, b BackOff, notify Notify) error              { return nil }
func Permanent(err error) error                                            { return err }

type PermanentError struct{ Err error }

func (e *PermanentError) Error() string { return e.Err.Error() }
