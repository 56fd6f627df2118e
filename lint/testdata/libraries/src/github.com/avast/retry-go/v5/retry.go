// Package retry declares what the test uses of the real one.
package retry

import (
	"context"
	"time"
)

type (
	Option                       func(*retrierCore)
	RetryableFunc                func() error
	RetryableFuncWithData[T any] func() (T, error)

	retrierCore            struct{}
	Retrier                struct{ *retrierCore }
	RetrierWithData[T any] struct{ *retrierCore }
)

func New(opts ...Option) *Retrier                           { return nil }
func NewWithData[T any](opts ...Option) *RetrierWithData[T] { return nil }

func (r *Retrier) Do(f RetryableFunc) error                                  { return nil }
func (r *RetrierWithData[T]) Do(f RetryableFuncWithData[T]) (v T, err error) { return v, nil }

func Attempts(uint) Option                { return nil }
func AttemptsForError(uint, error) Option { return nil }
func UntilSucceeded() Option              { return nil }
func Delay(time.Duration) Option          { return nil }
func MaxDelay(time.Duration) Option       { return nil }
func Context(context.Context) Option      { return nil }
