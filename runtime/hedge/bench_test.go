package hedge_test

import (
	"context"
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/hedge"
)

func answer(context.Context) (int, error) { return 42, nil }

func BenchmarkDo(b *testing.B) {
	for _, p := range []hedge.Policy{
		{Name: "after", After: time.Second},
		{Name: "quantile", Quantile: 0.95, AtLeast: time.Second},
	} {
		for _, cancelable := range []bool{false, true} {
			name := p.Name
			ctx := context.Background()
			if cancelable {
				name += "-cancelable"
				var cancel context.CancelFunc
				ctx, cancel = context.WithCancel(ctx)
				defer cancel()
			}
			h := hedge.New(p)
			b.Run(name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					_, _ = hedge.Do(ctx, h, answer)
				}
			})
			b.Run(name+"-done", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					_, _ = hedge.Do(ctx, h, func(ctx context.Context) (int, error) { ctx.Done(); return 42, nil })
				}
			})
		}
	}
}
