package promretry

import (
	"context"
	"errors"
	"testing"

	retry "github.com/retrygen/retrygen/runtime"
)

// BenchmarkCall times a call that succeeds, and one that succeeds at its second
// attempt, with and without metrics.
func BenchmarkCall(b *testing.B) {
	m := New(Options{})
	policy := &retry.Policy{Name: "fetch", Schedule: retry.Schedule{MaxAttempts: 3, InitialDelay: retry.None}}
	refused := errors.New("connection refused")
	for name, op := range map[string]func(context.Context) (int, error){
		"success": func(context.Context) (int, error) { return 1, nil },
		"retry": func(ctx context.Context) (int, error) {
			if retry.AttemptNumber(ctx) == 1 {
				return 0, refused
			}
			return 1, nil
		},
	} {
		for observed, ctx := range map[string]context.Context{
			"plain": b.Context(), "observed": retry.WithObserver(b.Context(), m.ObserveCall),
		} {
			b.Run(name+"/"+observed, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					_, _ = retry.Do(ctx, policy, op)
				}
			})
		}
	}
}
