package otelretry

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/retrygen/retrygen/internal/measure"
	"github.com/retrygen/retrygen/runtime/capacity"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/hedge"
	"github.com/retrygen/retrygen/runtime/override"
)

// The exporter of OpenTelemetry for Prometheus gives the instruments the names that
// they have in contrib/prometheus, AD-44's among them.
func TestNamesInPrometheus(t *testing.T) {
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry))
	if err != nil {
		t.Fatal(err)
	}
	x, err := New(Options{MeterProvider: metric.NewMeterProvider(metric.WithReader(reader)), JobID: true})
	if err != nil {
		t.Fatal(err)
	}
	for id, d := range measure.Instruments {
		x.sink.Measure(t.Context(), measure.ID(id), 1, "job-1", make([]string, len(d.Labels))...)
	}
	e, err := durable.New(memory.New())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	if err := e.Run(t.Context(), "one", func(context.Context) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := x.ObserveState(e, StateOptions{Runs: true}); err != nil {
		t.Fatal(err)
	}
	x.ObserveCapacity(capacity.Set{
		Limiters:  []*capacity.Limiter{capacity.NewLimiter(capacity.LimiterPolicy{Limit: 1})},
		Rates:     []*capacity.Rate{capacity.NewRate(capacity.RatePolicy{Events: 1})},
		Throttles: []*capacity.Throttle{capacity.NewThrottle(capacity.ThrottlePolicy{})},
	})
	x.ObserveHedges(hedge.New(hedge.Policy{After: time.Second}))
	x.ObserveOverrides(override.NewSet())
	x.ObserveChanges(changes{})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, f := range families {
		got[f.GetName()] = true
	}
	for _, d := range slices.Concat(measure.Instruments[:], measure.StateGauges[:], measure.PolledInstruments[:]) {
		if !got[d.Prometheus] {
			t.Errorf("%s is exported with another name, want %s: got %v", d.OTel, d.Prometheus, got)
		}
	}
}
