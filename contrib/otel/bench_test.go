package otelretry

import (
	"context"
	"errors"
	"testing"

	"go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	retry "github.com/retrygen/retrygen/runtime"
)

// BenchmarkCall times a call that succeeds, and one that succeeds at its second
// attempt: not observed, observed within a span of a server that is sampled, and
// with a span of its own. Spans are not exported.
func BenchmarkCall(b *testing.B) {
	provider := sdktrace.NewTracerProvider()
	t, err := New(Options{
		TracerProvider: provider, MeterProvider: metric.NewMeterProvider(metric.WithReader(metric.NewManualReader())),
	})
	if err != nil {
		b.Fatal(err)
	}
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
		b.Run(name+"/plain", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = retry.Do(b.Context(), policy, op)
			}
		})
		b.Run(name+"/observe", func(b *testing.B) {
			b.ReportAllocs()
			observed := t.Observe(b.Context())
			for b.Loop() {
				ctx, span := provider.Tracer("server").Start(observed, "GET /quote")
				_, _ = retry.Do(ctx, policy, op)
				span.End()
			}
		})
		b.Run(name+"/server", func(b *testing.B) { // what the span of observe costs
			b.ReportAllocs()
			for b.Loop() {
				ctx, span := provider.Tracer("server").Start(b.Context(), "GET /quote")
				_, _ = retry.Do(ctx, policy, op)
				span.End()
			}
		})
		b.Run(name+"/start", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ctx, end := t.Start(b.Context(), "RetryFetch")
				_, err := retry.Do(ctx, policy, op)
				end(err)
			}
		})
	}
}
