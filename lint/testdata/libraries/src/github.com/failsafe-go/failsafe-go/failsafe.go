// Package failsafe declares what the test uses of the real one.
package failsafe

import "context"

type (
	Policy[R any]   interface{ ToExecutor(R) any }
	Executor[R any] interface {
		WithContext(context.Context) Executor[R]
		Run(func() error) error
		Get(func() (R, error)) (R, error)
	}
)

func With[R any](policies ...Policy[R]) Executor[R] { return nil }
