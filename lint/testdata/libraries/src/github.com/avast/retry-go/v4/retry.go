// Package retry declares what the test uses of the real one.
package retry

import (
	"context"
	"time"
)

type (
	Option        func()
	RetryableFunc func() error
	OnRetryFunc   func(n uint, err error)
	DelayTypeFunc func(n uint, err error) time.Duration
)

func Attempts(uint) Option                     { return nil }
func UntilSucceeded() Option                   { return nil }
func Delay(time.Duration) Option               { return nil }
func DelayType(DelayTypeFunc) Option           { return nil }
func LastErrorOnly(bool) Option                { return nil }
func OnRetry(OnRetryFunc) Option               { return nil }
func MaxDelay(time.Duration) Option            { return nil }
func Context(context.Context) Option           { return nil }
func RetryIf(func(error) bool) Option          { return nil }
func Do(f RetryableFunc, opts ...Option) error { return nil }

func DoWithData[T any](f func() (T, error), opts ...Option) (t T, err error) { return f() }

func FixedDelay(n uint, err error) time.Duration { return 0 }

func Unrecoverable(err error) error { return err }
