package otelretry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/retrygen/retrygen/internal/measure"
	"github.com/retrygen/retrygen/runtime/capacity"
	"github.com/retrygen/retrygen/runtime/hedge"
	"github.com/retrygen/retrygen/runtime/override"
)

// ObserveCapacity adds metrics for concurrency limits, rates and throttles. Pass it the
// result of a generated Shared's Capacity method. The values are read when metrics are
// collected, so they cost nothing in a call. If several limits have the same name, the
// metrics contain the sum of their values or, for throttles, the largest share.
func (t *Telemetry) ObserveCapacity(sets ...capacity.Set) { t.polled.Add(sets...) }

// ObserveHedges adds metrics for hedges, which are read like the metrics of
// [Telemetry.ObserveCapacity]. Pass it the result of a generated Shared's Hedges method.
func (t *Telemetry) ObserveHedges(hedges ...*hedge.Hedge) { t.polled.AddHedges(hedges) }

// ObserveChanges adds counters for the versions of policy files that were accepted and
// refused while the program was running. A live.Control counts them.
func (t *Telemetry) ObserveChanges(controls ...interface {
	Counts() (pkg string, accepted, refused int)
}) {
	for _, c := range controls {
		t.polled.AddChanges(c)
	}
}

// ObserveOverrides adds a gauge for the active overrides.
func (t *Telemetry) ObserveOverrides(sets ...*override.Set) { t.polled.AddOverrides(sets) }

// registerPolled makes the instruments that ask c when they are
// collected.
func registerPolled(meter metric.Meter, c *measure.Polled) error {
	var observe [len(measure.PolledInstruments)]func(metric.Observer, float64, metric.MeasurementOption)
	var observed []metric.Observable
	var errs []error
	for i, d := range measure.PolledInstruments {
		unit, help := metric.WithUnit(d.Unit), metric.WithDescription(d.Help)
		if d.Kind == measure.Count {
			counter, err := meter.Int64ObservableCounter(d.OTel, unit, help)
			observe[i] = func(to metric.Observer, value float64, o metric.MeasurementOption) {
				to.ObserveInt64(counter, int64(value), o)
			}
			observed, errs = append(observed, counter), append(errs, err)
			continue
		}
		gauge, err := meter.Float64ObservableGauge(d.OTel, unit, help)
		observe[i] = func(to metric.Observer, value float64, o metric.MeasurementOption) {
			to.ObserveFloat64(gauge, value, o)
		}
		observed, errs = append(observed, gauge), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	_, err := meter.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		c.Each(func(id measure.PolledID, value float64, labels []string) {
			attributes := make([]attribute.KeyValue, len(labels))
			for i, label := range labels {
				attributes[i] = attribute.String(measure.PolledInstruments[id].Labels[i].OTel, label)
			}
			observe[id](to, value, metric.WithAttributes(attributes...))
		})
		return nil
	}, observed...)
	return err
}
