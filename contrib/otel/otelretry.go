// Package otelretry exports spans and metrics about retry policies to OpenTelemetry. It
// covers wrapped calls (package retry), groups (package job) and engines (package
// durable).
//
//	telemetry, err := otelretry.New(otelretry.Options{})
//
//	ctx = telemetry.Observe(ctx)                         // the calls of wrappers
//	ctx, end := telemetry.Start(ctx, "RetryQuote")       // one call, with a span of its own
//	group.Observe(telemetry.ObserveJob)
//	engine, err := durable.New(store, telemetry.Engine())
//
// # Spans of calls
//
// A wrapped call whose first attempt succeeds causes no events and costs nothing. With
// [Telemetry.Observe], each failed attempt becomes an event of the caller's current span,
// such as a server span. [Telemetry.Start] creates a separate span for a call and
// measures the call's duration. The events are:
//
//	retry.attempt_failed   retry.policy, retry.attempt, error.type, exception.message,
//	                       and retry.wait or retry.reason
//	retry.timeout_clamped  retry.policy, retry.timeout
//	retry.timeout_captured, or retry.timeout_not_captured with an error:
//	                       retry.policy, retry.attempt, retry.timeout
//
// # Spans of runs and steps
//
// With [Telemetry.Engine], each execution of a run has a span "run". Each executed step
// has a child span "step NAME". A step that returns its recorded result has no span.
//
// The events of a step have names such as retry.attempt_started, retry.attempt_failed,
// retry.attempt_lost, retry.step_in_doubt and retry.step_exhausted. The event
// retry.step_exhausted contains the error of the last attempt. The names of the events of
// groups and budgets, such as RetryBudgetExhausted, come from design AD-44 of the
// hyperscale project.
//
// When a step fails for the first time, the W3C traceparent of its span is recorded as
// the step's correlation id. If another execution continues the step, its span has a link
// to the first one. If a run is executed by a worker or executed again later, its span
// has a link to the span in which the run was created.
//
// # Attributes
//
// The attribute error.type is the class that the policy assigns to the error, or the type
// of the error if it has no class. The attribute and the status are set only if the call,
// the run or the step has failed. A retried error is only an event, and a parked run has
// not failed. The other attributes, with durations in seconds, are retry.policy,
// retry.call, retry.attempt, retry.attempts, retry.wait, retry.reason, retry.timeout,
// retry.run, retry.fence, retry.handler, retry.step, retry.step.name, retry.correlation,
// retry.outcome, retry.breaker, retry.breaker.state, retry.breaker.admits_in and
// retry.budget.left.
//
// # Metrics
//
// The instruments are the same as the metrics of contrib/prometheus. The Prometheus
// exporter of OpenTelemetry converts the names: retry.budget.consumed, for example,
// becomes retry_budget_consumed_total. A step's failures are counted twice: by step in
// retry.durable.failures, and by policy in retry.retries. [Telemetry.Start] adds the
// histogram retry.call.duration, in seconds, with the attributes retry.call and
// error.type.
//
// [Telemetry.ObserveCapacity] and [Telemetry.ObserveHedges] add metrics for limits and
// hedges. [Telemetry.ObserveState] adds gauges for the records in a store.
//
// No attribute contains the id of a call, a run, a step or a job, unless [Options] adds
// job_id. The SDK limits the number of attribute sets per instrument, by default to 2000.
package otelretry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/retrygen/retrygen/internal/measure"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/job"
)

// scope is the name of the tracer and of the meter.
const scope = "github.com/retrygen/retrygen/contrib/otel"

// Options configures a [Telemetry].
type Options struct {
	// TracerProvider creates the spans. The default is package otel's global provider.
	TracerProvider trace.TracerProvider
	// MeterProvider creates the instruments. The default is package otel's global
	// provider.
	MeterProvider metric.MeterProvider
	// JobID adds the attribute job_id to the metrics for retries and the completion
	// ratio. It is the id of a job, or of a run with a budget. The default is false.
	JobID bool
}

// Telemetry creates spans and measurements. Its methods may be called concurrently.
type Telemetry struct {
	tracer   trace.Tracer
	meter    metric.Meter
	sink     sink
	polled   measure.Polled
	duration metric.Float64Histogram // of calls
}

// New returns a Telemetry. If it returns an error, the error comes from the meter.
func New(o Options) (*Telemetry, error) {
	if o.TracerProvider == nil {
		o.TracerProvider = otel.GetTracerProvider()
	}
	if o.MeterProvider == nil {
		o.MeterProvider = otel.GetMeterProvider()
	}
	meter := o.MeterProvider.Meter(scope)
	t := &Telemetry{tracer: o.TracerProvider.Tracer(scope), meter: meter, sink: sink{jobID: o.JobID}}
	var errs []error
	for i := range measure.Instruments {
		record, err := newInstrument(meter, &measure.Instruments[i])
		t.sink.record[i], errs = record, append(errs, err)
	}
	var err error
	t.duration, err = meter.Float64Histogram("retry.call.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of calls, with their retries and waits."),
		metric.WithExplicitBucketBoundaries(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300))
	errs = append(errs, err, registerPolled(meter, &t.polled))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return t, nil
}

// ObserveBreakers counts the state changes of breakers from now on and reports their
// states. Pass it the result of a generated Shared's Breakers method. If several breakers
// have the same name, the metrics show the state of the one that changed last.
func (t *Telemetry) ObserveBreakers(breakers ...*breaker.Breaker) {
	measure.Breakers(&t.sink, breakers)
}

// ObserveJob counts an event from a group and adds it to the current span. Pass it to
// [job.Group.Observe].
func (t *Telemetry) ObserveJob(ctx context.Context, e job.Event) {
	measure.Job(ctx, &t.sink, &e)
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		addJob(span, &e)
	}
}

type observedKey struct{ by *Telemetry }

// Observe returns a copy of ctx. Wrapped calls with this context are observed: their
// failed attempts are counted and become events of the span that is current where the
// wrapper is called. If ctx is already observed, Observe returns it unchanged.
func (t *Telemetry) Observe(ctx context.Context) context.Context {
	if ctx.Value(observedKey{t}) != nil {
		return ctx
	}
	return retry.WithObserver(context.WithValue(ctx, observedKey{t}, t), t.observeCall)
}

// Engine returns an option for [durable.New]. With it, runs and steps have spans, and the
// engine's events are counted. Wrapped calls in a run are also observed.
func (t *Telemetry) Engine() durable.Option {
	return func(e *durable.Engine) error {
		return errors.Join(durable.Trace((*tracer)(t))(e), durable.OnEvent((*tracer)(t).observe)(e))
	}
}
