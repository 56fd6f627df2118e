package otelretry

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/retrygen/retrygen/internal/measure"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
)

type callKey struct{}

// A call is what is known about a call that has a span: the class of the error after
// which its wrapper has stopped. Wrappers within its attempts stop before that.
type call struct{ class atomic.Pointer[retry.Class] }

// Start begins a span for one call to a wrapper, and observes the call like
// [Telemetry.Observe]. name is the name of the span. Use the name of the wrapper or of
// its policy, not a variable value. Pass the returned context to the wrapper, and call
// the returned function once, with the wrapper's error:
//
//	ctx, end := telemetry.Start(ctx, "RetryQuote")
//	quote, err := RetryQuote(ctx, sku)
//	end(err)
func (t *Telemetry) Start(ctx context.Context, name string) (context.Context, func(error)) {
	begun := time.Now()
	ctx, span := t.tracer.Start(ctx, name)
	c := new(call)
	ctx = t.Observe(context.WithValue(ctx, callKey{}, c))
	return ctx, func(err error) {
		attributes := []attribute.KeyValue{attribute.String("retry.call", name)}
		if err != nil {
			var class retry.Class
			if known := c.class.Load(); known != nil {
				class = *known
			}
			errorType := typeOf(err, class)
			attributes = append(attributes, errorType)
			fail(span, err, errorType)
		}
		span.End()
		t.duration.Record(ctx, time.Since(begun).Seconds(), metric.WithAttributeSet(attribute.NewSet(attributes...)))
	}
}

// observeCall counts an event of a wrapped call, and adds it to the current span.
func (t *Telemetry) observeCall(ctx context.Context, e retry.Event) {
	measure.Call(ctx, &t.sink, &e)
	span := trace.SpanFromContext(ctx)
	if c, _ := ctx.Value(callKey{}).(*call); c != nil && e.Kind == retry.EventStop {
		c.class.Store(&e.Class)
	}
	if !span.IsRecording() || executesStep(ctx) { // the engine reports the attempts of its steps
		return
	}
	attributes := []attribute.KeyValue{attribute.String("retry.policy", e.Policy)}
	if e.Kind == retry.EventTimeoutClamped {
		attributes = append(attributes, seconds("retry.timeout", e.Timeout))
		span.AddEvent("retry.timeout_clamped", trace.WithAttributes(attributes...))
		return
	}
	name := "retry.attempt_failed"
	if e.Kind == retry.EventCapture {
		e.Class = "" // of the attempt, not of what was not captured
	}
	attributes = append(attributes, attribute.Int("retry.attempt", e.Attempt))
	attributes = appendError(attributes, e.Err, e.Class)
	switch e.Kind {
	case retry.EventRetry:
		attributes = append(attributes, seconds("retry.wait", e.Wait))
	case retry.EventStop:
		attributes = append(attributes, attribute.String("retry.reason", string(e.Reason)))
	case retry.EventCapture:
		name = "retry.timeout_captured"
		if e.Err != nil {
			name = "retry.timeout_not_captured"
		}
		attributes = append(attributes, seconds("retry.timeout", e.Timeout))
	}
	if e.Breaker != "" {
		attributes = append(attributes,
			attribute.String("retry.breaker", e.Breaker), attribute.String("retry.breaker.state", e.BreakerState.String()))
	}
	if e.AdmitsIn > 0 {
		attributes = append(attributes, seconds("retry.breaker.admits_in", e.AdmitsIn))
	}
	if e.BudgetLeft >= 0 {
		attributes = append(attributes, attribute.Float64("retry.budget.left", e.BudgetLeft))
	}
	span.AddEvent(name, trace.WithAttributes(attributes...))
}

// fail gives a span the status of an error.
func fail(span trace.Span, err error, errorType attribute.KeyValue) {
	span.SetStatus(codes.Error, fmt.Sprint(err)) // which survives a method that panics
	span.SetAttributes(errorType)
	var reason retry.Reason
	var attempts int
	if e, ok := errors.AsType[*durable.StepError](err); ok {
		reason, attempts = e.Reason, e.Attempts
	} else if e, ok := errors.AsType[*retry.Error](err); ok {
		reason, attempts = e.Reason, e.Attempts
	}
	if reason != "" {
		span.SetAttributes(attribute.String("retry.reason", string(reason)), attribute.Int("retry.attempts", attempts))
	}
}

// typeOf returns the attribute error.type of an error: its class, or its type. The
// type of a wrapper is not useful.
func typeOf(err error, class retry.Class) attribute.KeyValue {
	if e, ok := errors.AsType[*durable.StepError](err); ok && e.Class != "" {
		class = e.Class
	}
	if class != "" {
		return semconv.ErrorTypeKey.String(string(class))
	}
	if e, ok := errors.AsType[*retry.Error](err); ok && e.Err != nil {
		err = e.Err
	}
	return semconv.ErrorType(err)
}

// appendError appends the attributes of an error, which may be nil.
func appendError(attributes []attribute.KeyValue, err error, class retry.Class) []attribute.KeyValue {
	if err == nil {
		return attributes
	}
	return append(attributes, typeOf(err, class), semconv.ExceptionMessage(fmt.Sprint(err)))
}

func seconds(key string, d time.Duration) attribute.KeyValue {
	return attribute.Float64(key, d.Seconds())
}
