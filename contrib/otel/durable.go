package otelretry

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/retrygen/retrygen/internal/measure"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/job"
)

// A tracer is the events.Tracer of a Telemetry.
type tracer Telemetry

type stepKey struct{}

// A step is one that is executed, and that has a span.
type step struct {
	run, id string
	span    trace.Span
	linked  atomic.Bool // to the span of its first failure
}

// executesStep reports whether ctx is that of a step, and not of one of its
// attempts.
func executesStep(ctx context.Context) bool {
	s, _ := ctx.Value(stepKey{}).(*step)
	if s == nil {
		return false
	}
	info, ok := durable.Current(ctx)
	return ok && info.Run == s.run && info.Step == ""
}

// Start begins the span of an execution of a run or a step.
func (t *tracer) Start(ctx context.Context, s events.Span) (context.Context, func(error)) {
	name := "run"
	attributes := []attribute.KeyValue{
		attribute.String("retry.run", s.Run), attribute.Int64("retry.fence", int64(s.Fence)),
	}
	if s.Handler != "" {
		attributes = append(attributes, attribute.String("retry.handler", s.Handler))
	}
	var links []trace.Link
	switch {
	case s.Step != "":
		name = "step " + s.Name
		attributes = append(attributes,
			attribute.String("retry.step", s.Step), attribute.String("retry.step.name", s.Name))
		if s.Policy != "" {
			attributes = append(attributes, attribute.String("retry.policy", s.Policy))
		}
	default:
		if s.Handler != "" {
			name = "run " + s.Handler
		}
		from := parse(s.Correlation)
		if from.IsValid() && from.SpanID() != trace.SpanContextFromContext(ctx).SpanID() {
			links = append(links, trace.Link{SpanContext: from})
		}
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithAttributes(attributes...), trace.WithLinks(links...))
	if s.Step != "" {
		ctx = context.WithValue(ctx, stepKey{}, &step{run: s.Run, id: s.Step, span: span})
	} else {
		ctx = (*Telemetry)(t).Observe(ctx)
	}
	return ctx, func(err error) {
		if _, parked := errors.AsType[*durable.ParkedError](err); err != nil && !parked {
			fail(span, err, typeOf(err, ""))
		}
		span.End()
	}
}

// Correlation returns the W3C traceparent of the span in ctx, or "".
func (t *tracer) Correlation(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// parse returns the span of a correlation id. It is not valid if the id is none of
// [tracer.Correlation].
func parse(correlation string) trace.SpanContext {
	carrier := propagation.MapCarrier{"traceparent": correlation}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
}

// observe counts an event of an engine, and adds it to the current span.
func (t *tracer) observe(ctx context.Context, e events.Event) {
	measure.Durable(ctx, &t.sink, &e)
	span := trace.SpanFromContext(ctx)
	if e.Kind == events.EventRecalled || !span.IsRecording() {
		return // a resumed run may recall very many steps
	}
	if e.Kind == events.EventJob {
		addJob(span, &e.Job)
		return
	}
	name := "retry." + strings.ReplaceAll(e.Kind.String(), " ", "_")
	attributes := []attribute.KeyValue{attribute.String("retry.run", e.Run)}
	if s, _ := ctx.Value(stepKey{}).(*step); s != nil && s.run == e.Run && s.id == e.Step {
		s.link(e.Correlation)
		attributes, e.Correlation = attributes[:0], "" // the span and its link have these
		if e.Kind == events.EventSucceeded {
			s.span.SetAttributes(attribute.Int("retry.attempts", e.Attempt))
		}
	} else if e.Step != "" {
		attributes = append(attributes, attribute.String("retry.step", e.Step))
	} else if e.Run != "" && e.Kind != events.EventStoreError {
		name = "retry.run_" + strings.ReplaceAll(e.Kind.String(), " ", "_")
	}
	if e.Attempt > 0 {
		attributes = append(attributes, attribute.Int("retry.attempt", e.Attempt))
	}
	if e.Wait > 0 {
		attributes = append(attributes, seconds("retry.wait", e.Wait))
	}
	for _, kv := range [...]attribute.KeyValue{
		attribute.String("retry.reason", string(e.Reason)),
		attribute.String("retry.outcome", string(e.Outcome)),
		attribute.String("retry.correlation", e.Correlation),
	} {
		if kv.Value.AsString() != "" {
			attributes = append(attributes, kv)
		}
	}
	span.AddEvent(name, trace.WithAttributes(appendError(attributes, e.Err, e.Class)...))
}

// link links the span of a step to that of its first failure, once.
func (s *step) link(correlation string) {
	from := parse(correlation)
	if from.IsValid() && from.SpanID() != s.span.SpanContext().SpanID() && s.linked.CompareAndSwap(false, true) {
		s.span.AddLink(trace.Link{
			SpanContext: from, Attributes: []attribute.KeyValue{attribute.String("retry.correlation", correlation)},
		})
	}
}

// addJob adds an event of a group, or of the budget of a run, under its name in
// AD-44.
func addJob(span trace.Span, e *job.Event) {
	attributes := []attribute.KeyValue{
		attribute.String("retry.group", e.Group), attribute.String("retry.job.id", e.JobID),
		attribute.String("retry.reason", e.Text()),
	}
	if e.Unit != "" {
		attributes = append(attributes, attribute.String("retry.unit", e.Unit))
	}
	if e.Kind == job.EventCompletion || e.Kind == job.EventRatio {
		attributes = append(attributes, attribute.Float64("retry.ratio", e.Decision.Ratio))
	}
	if e.Kind == job.EventLateResult {
		attributes = appendError(attributes, e.Err, retry.Class(""))
	}
	span.AddEvent(e.Kind.String(), trace.WithAttributes(attributes...))
}
