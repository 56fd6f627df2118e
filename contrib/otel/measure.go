package otelretry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/retrygen/retrygen/internal/measure"
)

// A sink records measurements.
type sink struct {
	jobID  bool
	record [len(measure.Instruments)]func(ctx context.Context, value float64, attributes metric.MeasurementOption)
}

// Measure records one measurement.
func (s *sink) Measure(ctx context.Context, id measure.ID, value float64, jobID string, labels ...string) {
	d := &measure.Instruments[id]
	attributes := make([]attribute.KeyValue, 0, 3)
	for i, value := range labels {
		if d.Labels[i].OTel == string(semconv.ErrorTypeKey) && value == measure.Class("") {
			value = semconv.ErrorTypeOther.Value.AsString()
		}
		attributes = append(attributes, attribute.String(d.Labels[i].OTel, value))
	}
	if d.PerJob && s.jobID {
		attributes = append(attributes, attribute.String(measure.JobID.OTel, jobID))
	}
	s.record[id](ctx, value, metric.WithAttributeSet(attribute.NewSet(attributes...)))
}

// newInstrument returns the function that records measurements of an instrument.
func newInstrument(m metric.Meter, d *measure.Instrument) (
	func(ctx context.Context, value float64, attributes metric.MeasurementOption), error,
) {
	unit, help := metric.WithUnit(d.Unit), metric.WithDescription(d.Help)
	switch d.Kind {
	case measure.Count:
		c, err := m.Int64Counter(d.OTel, unit, help)
		return func(ctx context.Context, value float64, attributes metric.MeasurementOption) {
			c.Add(ctx, int64(value), attributes)
		}, err
	case measure.Sum:
		c, err := m.Float64Counter(d.OTel, unit, help)
		return func(ctx context.Context, value float64, attributes metric.MeasurementOption) {
			c.Add(ctx, value, attributes)
		}, err
	case measure.Gauge:
		g, err := m.Float64Gauge(d.OTel, unit, help)
		return func(ctx context.Context, value float64, attributes metric.MeasurementOption) {
			g.Record(ctx, value, attributes)
		}, err
	}
	h, err := m.Float64Histogram(d.OTel, unit, help, metric.WithExplicitBucketBoundaries(d.Buckets...))
	return func(ctx context.Context, value float64, attributes metric.MeasurementOption) {
		h.Record(ctx, value, attributes)
	}, err
}
