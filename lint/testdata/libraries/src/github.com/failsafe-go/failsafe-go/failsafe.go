// Package failsafe declares what the test uses of the real one.
package failsafe

import (
	"context"
	"time"
)

type (
	Policy[R any] interface{ ToExecutor(R) any }
	// The builders of policies embed these.
	FailurePolicyBuilder[S, R any]   interface{ HandleErrors(...error) S }
	DelayablePolicyBuilder[S, R any] interface{ WithDelay(time.Duration) S }
	Executor[R any]                  interface {
		WithContext(context.Context) Executor[R]
		Run(func() error) error
		Get(func() (R, error)) (R, error)
	}
)

func With[R any](policies ...Policy[R]) Executor[R] { return nil }
