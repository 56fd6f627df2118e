package events

import "context"

// A Tracer creates spans for the runs and steps that an engine executes. Package
// contrib/otel implements it. Its methods may be called concurrently, and must not call
// methods of the engine.
type Tracer interface {
	// Start begins the span of an execution of a run or a step. A step whose recorded
	// result is returned has no span. The returned context is passed to the function of
	// the run or the step. The returned function is called once, with the error of the
	// run or the step, after that error has been recorded.
	Start(ctx context.Context, s Span) (context.Context, func(error))
	// Correlation returns an id of the span in ctx, or "" if there is none. The id is
	// recorded, instead of a random one, with a run when the run is created and with a
	// step at its first failure.
	Correlation(ctx context.Context) string
}

// A Span describes an execution of a run or a step.
type Span struct {
	Run     string
	Handler string // handler of a run that a worker executes, or ""
	Fence   uint64 // fence of the execution

	Step   string // id of the step, or "" for a run
	Name   string // name of the step, without the values that identify its calls
	Policy string // name of the step's policy, or ""

	// Correlation is the id of the context in which the run was created. Events of a step
	// have the id of the step.
	Correlation string
}
