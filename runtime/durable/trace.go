package durable

import (
	"context"
	"errors"
)

// A Tracer makes spans of what an engine executes. Package contrib/otel has one.
// Its methods may be called concurrently, and must not call methods of the engine.
type Tracer interface {
	// Start begins the span of an execution of a run, or of a step that is executed:
	// a step whose result is recorded has no span. The context that it returns is
	// passed to the function of the run or the step. The function that it returns
	// is called once, with the error of the run or the step, after that has been
	// recorded.
	Start(ctx context.Context, s Span) (context.Context, func(error))
	// Correlation returns an id of the span in ctx, or "" if there is none. It is
	// recorded with a run when that is created, and with a step at its first
	// failure, instead of a random one.
	Correlation(ctx context.Context) string
}

// A Span describes an execution of a run, or of a step.
type Span struct {
	Run     string
	Handler string // of a run that a worker executes, or ""
	Fence   uint64 // of the execution

	Step   string // the id of a step, or "" for a run
	Name   string // of the step, without the values that identify its calls
	Policy string // name of the policy of the step, or ""

	// Correlation is that of the context in which the run was created. Events have
	// that of their step.
	Correlation string
}

// Trace sets the tracer of an engine. The default is none.
func Trace(t Tracer) Option {
	return func(e *Engine) error {
		e.tracer = t
		return nil
	}
}

// errPanicked ends a span whose function did not return.
var errPanicked = errors.New("the function panicked or called runtime.Goexit")

// startRun begins the span of an execution.
func (x *execution) startRun(ctx context.Context) (context.Context, func(error)) {
	if x.e.tracer == nil {
		return ctx, func(error) {}
	}
	return x.e.tracer.Start(ctx, Span{Run: x.id, Handler: x.handler, Fence: x.fence, Correlation: x.run.Correlation})
}

// startStep begins the span of a step.
func (x *execution) startStep(ctx context.Context, c *stepCall) (context.Context, func(error)) {
	if x.e.tracer == nil {
		return ctx, func(error) {}
	}
	s := Span{
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
	return token(8)
}
