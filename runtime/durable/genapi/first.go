package genapi

import (
	"context"

	"github.com/retrygen/retrygen/runtime/durable/internal/record"
)

// A FirstAttempt is the first attempt of a step that records nothing unless
// it fails. It belongs to the goroutine that makes it:
//
//	first := genapi.First(ctx, &stepFetch, genapi.StringID(id))
//	if first != nil {
//		defer first.End()
//		if page, err := Fetch(first.Context(), id); first.Succeeded(err) {
//			return page, nil
//		}
//	}
//	return genapi.CallAfter(ctx, &stepFetch, genapi.StringID(id), genapi.Arguments(), first, …)
//
// The function must not change what the id and the digest are made of: they are made
// after the attempt.
type FirstAttempt interface {
	// Context returns the context of the attempt, for the function of the step.
	Context() context.Context
	// Succeeded ends the attempt if err is nil, and reports whether it is. Otherwise
	// CallAfter must follow.
	Succeeded(err error) bool
	// End ends the attempt if its function has panicked, and lets the panic go on. Callers
	// defer it, without another function around it.
	End()
}

// First starts the first attempt of a step of the run in ctx. It returns nil if the
// engine has to do more than to make the attempt: the step is recorded, its starts
// are, the run does not go on, or ctx has ended.
func First(ctx context.Context, s *StepPolicy, id StepID) FirstAttempt {
	if s.Record != RecordFailures || id.err != nil {
		return nil
	}
	c, ok := ctx.Value(record.RunKey{}).(caller)
	if !ok {
		return nil
	}
	return c.First(ctx, s, id)
}
