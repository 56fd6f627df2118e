package durable_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/memory"
)

// The context of an attempt ends with the attempt and with the context of the
// caller, whether or not anybody waited for that while the attempt ran.
func TestAttemptContextEnds(t *testing.T) {
	asked := map[string]func(context.Context){
		"never":      func(context.Context) {},
		"for Done":   func(ctx context.Context) { ctx.Done() },
		"by a child": func(ctx context.Context) { _, cancel := context.WithCancel(ctx); cancel() },
	}
	for name, ask := range asked {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := startProcess(t, memory.New())
				gone := errors.New("the caller has gone")
				err := p.run("one", func(ctx context.Context) error {
					var kept context.Context
					if _, err := durable.Step(ctx, "a", nil, func(ctx context.Context) (int, error) {
						ask(ctx)
						kept = ctx
						return 0, ctx.Err()
					}); err != nil {
						return err
					}
					if kept.Err() != context.Canceled || context.Cause(kept) != context.Canceled {
						t.Errorf("after the attempt: error %v because of %v", kept.Err(), context.Cause(kept))
					}
					<-kept.Done()
					_, err := durable.Step(ctx, "b", nil, func(context.Context) (int, error) { return 0, nil })
					if err != nil || ctx.Err() != nil {
						t.Errorf("the end of an attempt has ended the run: %v, %v", err, ctx.Err())
					}
					ctx, cancel := context.WithCancelCause(ctx)
					_, err = durable.Step(ctx, "c", nil, func(ctx context.Context) (int, error) {
						ask(ctx)
						ended := make(chan error, 1)
						context.AfterFunc(ctx, func() { ended <- context.Cause(ctx) })
						cancel(gone)
						return 0, errors.Join(ctx.Err(), <-ended)
					})
					if !errors.Is(err, context.Canceled) || !errors.Is(err, gone) {
						t.Errorf("the caller has gone: got %v", err)
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// What the context of an attempt says of it, from all its goroutines.
func TestAttemptContextDescribesAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startProcess(t, memory.New())
		err := p.run("one", func(ctx context.Context) error {
			if key := retry.IdempotencyKey(ctx); key != "" {
				t.Errorf("the function of the run has the idempotency key %q", key)
			}
			_, err := durable.Step(ctx, "a", &retry.Policy{}, func(ctx context.Context) (int, error) {
				infos := make(chan durable.Info)
				for range 2 {
					go func() {
						info, _ := durable.Current(ctx)
						infos <- info
					}()
				}
				first, second := <-infos, <-infos
				if first != second || first.Step != "a" || first.Attempt != 1 || first.Key == "" ||
					first.Key != retry.IdempotencyKey(ctx) {
					t.Errorf("got %+v and %+v, with the key %q", first, second, retry.IdempotencyKey(ctx))
				}
				return 0, nil
			})
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}
