// Package retrypolicy declares what the test uses of the real one.
package retrypolicy

import (
	"time"

	"github.com/failsafe-go/failsafe-go"
)

type (
	RetryPolicy[R any] interface{ failsafe.Policy[R] }
	Builder[R any]     interface {
		failsafe.FailurePolicyBuilder[Builder[R], R]
		failsafe.DelayablePolicyBuilder[Builder[R], R]
		WithMaxAttempts(int) Builder[R]
		WithMaxRetries(int) Builder[R]
		WithMaxDuration(time.Duration) Builder[R]
		Build() RetryPolicy[R]
	}
)

func NewBuilder[R any]() Builder[R] { return nil }
