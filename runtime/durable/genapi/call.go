package genapi

import (
	"context"
	"fmt"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/internal/fault"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
)

// A caller executes the calls of steps in a context: it is in the contexts of runs.
type caller interface {
	// InStep reports whether the context belongs to an attempt of a step.
	InStep() bool
	// First returns the first attempt of a step, or nil: see the function First.
	First(ctx context.Context, s *StepPolicy, id StepID) FirstAttempt
	// CallStep executes a step that calls fn, after the first attempt if that is not
	// nil, and decodes its result into a pointer.
	CallStep(
		ctx context.Context, s *StepPolicy, id StepID, args Digest, first FirstAttempt,
		fn func(context.Context) (any, error), into any,
	) error
}

// Call executes fn as a step of the run in ctx, like durable.Step. The step's id can have
// parts, and the step is recorded with the digest of its other arguments.
func Call[T any](
	ctx context.Context, s *StepPolicy, id StepID, args Digest, fn func(context.Context) (T, error),
) (T, error) {
	var first FirstAttempt
	if args.err == nil {
		first = First(ctx, s, id)
	}
	if first != nil {
		defer first.End()
		if value, err := fn(first.Context()); first.Succeeded(err) {
			return value, nil
		}
	}
	return CallAfter(ctx, s, id, args, first, fn)
}

// CallAfter is like Call, but follows a failed first attempt. If first is nil, no attempt
// was made.
func CallAfter[T any](
	ctx context.Context, s *StepPolicy, id StepID, args Digest, first FirstAttempt, fn func(context.Context) (T, error),
) (T, error) {
	var value T
	c, ok := ctx.Value(record.RunKey{}).(caller)
	switch {
	case !ok:
		return value, fmt.Errorf("step %q: %w", s.Name, fault.ErrNoRun)
	case !c.InStep():
		err := c.CallStep(ctx, s, id, args, first, func(ctx context.Context) (any, error) { return fn(ctx) }, &value)
		return value, err
	case s.Policy == nil && s.Live == nil:
		return fn(ctx)
	}
	return retry.DoWith(ctx, s.InForce().Policy, s.Shared, fn)
}
