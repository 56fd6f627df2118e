// Package wait declares what the test uses of the real one.
package wait

import (
	"context"
	"time"
)

type (
	ConditionFunc            func() (bool, error)
	ConditionWithContextFunc func(context.Context) (bool, error)
)

func PollInfinite(time.Duration, ConditionFunc) error { return nil }

func PollUntilContextCancel(ctx context.Context, interval time.Duration, immediate bool, f ConditionWithContextFunc) error {
	return nil
}
