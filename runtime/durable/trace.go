package durable

import (
	"context"
	"errors"

	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
)

// Trace sets the tracer of an engine. By default, an engine has no tracer.
func Trace(t events.Tracer) Option {
	return func(e *Engine) error {
		e.tracer = t
		return nil
	}
}

// errPanicked ends the span of a function that did not return.
var errPanicked = errors.New("the function panicked or called runtime.Goexit")

// startRun begins the span of an execution.
func (x *execution) startRun(ctx context.Context) (context.Context, func(error)) {
	if x.e.tracer == nil {
		return ctx, func(error) {}
	}
	return x.e.tracer.Start(
		ctx, events.Span{Run: x.id, Handler: x.handler, Fence: x.fence, Correlation: x.run.Correlation},
	)
}

// startStep begins the span of a step.
func (x *execution) startStep(ctx context.Context, c *stepCall) (context.Context, func(error)) {
	if x.e.tracer == nil {
		return ctx, func(error) {}
	}
	s := events.Span{
		Run: x.id, Handler: x.handler, Fence: x.fence, Step: c.key.ID, Name: c.policy.Name, Correlation: x.run.Correlation,
	}
	if p := c.policy.Policy; p != nil {
		s.Policy = p.Name
	}
	return x.e.tracer.Start(ctx, s)
}

// spanID returns the id of the span in ctx, or "".
func (e *Engine) spanID(ctx context.Context) string {
	if e.tracer == nil {
		return ""
	}
	return e.tracer.Correlation(ctx)
}

// correlation returns the id of the span in ctx, or a random one.
func (e *Engine) correlation(ctx context.Context) string {
	if id := e.spanID(ctx); id != "" {
		return id
	}
	return record.Token(8)
}
