// Package wait declares what the test uses of the real one.
package wait

import (
	"context"
	"time"
)

type (
	ConditionFunc            func() (bool, error)
	ConditionWithContextFunc func(context.Context) (bool, error)

	Backoff struct {
		Duration       time.Duration
		Factor, Jitter float64
		Steps          int
		Cap            time.Duration
	}
)

func (b *Backoff) Step() time.Duration { return b.Duration }

func ExponentialBackoff(backoff Backoff, condition ConditionFunc) error { return nil }

func ExponentialBackoffWithContext(ctx context.Context, backoff Backoff, condition ConditionWithContextFunc) error {
	return nil
}

func Poll(interval, timeout time.Duration, condition ConditionFunc) error { return nil }

func PollImmediate(interval, timeout time.Duration, condition ConditionFunc) error { return nil }

func PollInfinite(time.Duration, ConditionFunc) error { return nil }

func PollUntilContextCancel(ctx context.Context, interval time.Duration, immediate bool, f ConditionWithContextFunc) error {
	return nil
}

func PollUntilContextTimeout(ctx context.Context, interval, timeout time.Duration, immediate bool, condition func(context.Context) (bool, error)) error {
	_, err := condition(ctx)
	return err
}

func PollImmediateWithContext(ctx context.Context, interval, timeout time.Duration, condition ConditionWithContextFunc) error {
	return nil
}

var NeverStop <-chan struct{} = make(chan struct{})

func PollUntil(interval time.Duration, condition ConditionFunc, stopCh <-chan struct{}) error {
	return nil
}

func PollInfiniteWithContext(ctx context.Context, interval time.Duration, condition ConditionWithContextFunc) error {
	return nil
}

func Jitter(d time.Duration, factor float64) time.Duration { return d }
