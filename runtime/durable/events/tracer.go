package events

import "context"

// A Tracer creates spans for the runs and steps that an engine executes. Package
// contrib/otel implements it. Its methods may be called concurrently, and must not call
// methods of the engine.
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

	// Correlation is the id of the context in which the run was created. Events of a step
	// have the id of the step.
	Correlation string
}
