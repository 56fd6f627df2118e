package builders

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/contrib/consumer/builders/api"
)

type caller struct{ ctx context.Context }

func (c caller) Context() context.Context { return c.ctx }
func (c caller) Call() error              { return api.ErrDown }

func TestContextOfABuilderEndsTheWait(t *testing.T) {
	for name, call := range map[string]func(ctx context.Context) error{
		"field":     func(ctx context.Context) error { return (&Own{ctx}).RetryDo() },
		"parameter": func(ctx context.Context) error { return RetrySend("a", api.New(ctx)) },
		"interface": func(ctx context.Context) error { return NewRetryCaller(caller{ctx}).Call() },
		"receiver":  func(ctx context.Context) error { return RetryRequestExecute(api.New(ctx), "GET") },
		"pointer":   func(ctx context.Context) error { return RetryFind("", &api.Options{Context: ctx}) },
		"guarded":   func(ctx context.Context) error { return RetryGuarded(&api.Options{Context: ctx}) },
		"options":   func(ctx context.Context) error { return RetryList(api.Options{Context: ctx}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				start := time.Now()
				err := call(ctx)
				if waited := time.Since(start); !errors.Is(err, context.Canceled) || waited > time.Second {
					t.Errorf("got %v after %v, want the end of the context after 1s", err, waited)
				}
				if err := call(nil); !errors.Is(err, api.ErrDown) || errors.Is(err, context.Canceled) {
					t.Errorf("without a context: %v", err)
				}
			})
		})
	}
}

func TestNoOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, err := range []error{RetryFind("", nil), RetryGuarded(nil)} {
			if !errors.Is(err, api.ErrDown) {
				t.Error(err)
			}
		}
	})
}
