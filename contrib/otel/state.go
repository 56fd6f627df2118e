package otelretry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/retrygen/retrygen/internal/measure"
	"github.com/retrygen/retrygen/runtime/durable"
)

// StateOptions limits the cost of reading the state of a store. By default, at most
// 10,000 records are read for each group of gauges (Limit), once every 30 seconds
// (Every), with a timeout of 5 seconds (Timeout). Counting runs by status (Runs) is off
// by default, because it has to read all runs.
type StateOptions = measure.StateOptions

// ObserveState adds gauges for the records in an engine's store, across all processes.
// Call the returned function to remove them. The gauges are:
//
//	retry.durable.steps{retry.status}        steps that are unfinished, in doubt, paused, or dead letters
//	retry.durable.paused_runs                runs that wait for a person
//	retry.durable.due_runs                   runs that are due and that nobody executes
//	retry.durable.oldest_due                 how long the oldest of these has been due, in seconds
//	retry.durable.runs{retry.status}         all runs, with StateOptions.Runs
//	retry.durable.state.truncated{retry.of}  1 if Limit was reached, else 0; of steps, paused_runs, due_runs or runs
//	retry.durable.state.up                   1 if the last read has succeeded, else 0
//	retry.durable.state.read                 how long the last read took, in seconds
//
// The store is read through its indexes when metrics are collected: see State in
// contrib/prometheus. For each store and namespace, call ObserveState in only one
// process, and only once. The engine need not execute runs. If ObserveState returns an
// error, the error comes from the meter.
func (t *Telemetry) ObserveState(e *durable.Engine, o StateOptions) (stop func() error, err error) {
	state := measure.NewState(e, o)
	var gauges [len(measure.StateGauges)]metric.Float64ObservableGauge
	var observed []metric.Observable
	var errs []error
	for i, g := range measure.StateGauges {
		gauge, err := t.meter.Float64ObservableGauge(g.OTel, metric.WithUnit(g.Unit), metric.WithDescription(g.Help))
		gauges[i], observed, errs = gauge, append(observed, gauge), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	registration, err := t.meter.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		state.Each(func(id measure.StateID, value float64, label string) {
			var attributes []attribute.KeyValue
			for _, l := range measure.StateGauges[id].Labels {
				attributes = append(attributes, attribute.String(l.OTel, label))
			}
			to.ObserveFloat64(gauges[id], value, metric.WithAttributes(attributes...))
		})
		return nil
	}, observed...)
	if err != nil {
		return nil, err
	}
	return registration.Unregister, nil
}
