package otelretry_test

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	otelretry "github.com/retrygen/retrygen/contrib/otel"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/memory"
)

var policy = &retry.Policy{Name: "quote", Schedule: retry.Schedule{MaxAttempts: 3, InitialDelay: retry.None}}

// RetryQuote is what retrygen generates for a function.
func RetryQuote(ctx context.Context, sku string) (int, error) {
	return retry.Do(ctx, policy, func(ctx context.Context) (int, error) {
		if retry.AttemptNumber(ctx) == 1 {
			return 0, errors.New("connection refused")
		}
		return len(sku), nil
	})
}

func show(spans *tracetest.InMemoryExporter) {
	for _, s := range spans.GetSpans() {
		fmt.Println(s.Name)
		for _, e := range s.Events {
			fmt.Println("-", e.Name)
		}
	}
}

func ExampleTelemetry_Start() {
	spans := tracetest.NewInMemoryExporter() // in a program, an OTLP exporter
	telemetry, err := otelretry.New(otelretry.Options{
		TracerProvider: trace.NewTracerProvider(trace.WithSyncer(spans)),
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx, end := telemetry.Start(context.Background(), "RetryQuote")
	price, err := RetryQuote(ctx, "book")
	end(err)

	fmt.Println(price, err)
	show(spans)
	// Output:
	// 4 <nil>
	// RetryQuote
	// - retry.attempt_failed
}

func ExampleTelemetry_Engine() {
	spans := tracetest.NewInMemoryExporter()
	telemetry, err := otelretry.New(otelretry.Options{
		TracerProvider: trace.NewTracerProvider(trace.WithSyncer(spans)),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	engine, err := durable.New(memory.New(), telemetry.Engine())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer engine.Close(context.Background())

	err = engine.Run(context.Background(), "order-7", func(ctx context.Context) error {
		failed := false
		_, err := durable.Step(ctx, "charge", policy, func(context.Context) (string, error) {
			if !failed {
				failed = true
				return "", errors.New("connection refused")
			}
			return "paid", nil
		})
		return err
	})
	fmt.Println(err)
	show(spans)
	// Output:
	// <nil>
	// step charge
	// - retry.attempt_started
	// - retry.attempt_failed
	// - retry.attempt_started
	// - retry.step_succeeded
	// run
	// - retry.run_completed
}
