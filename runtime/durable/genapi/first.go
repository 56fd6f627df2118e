package genapi

import (
	"context"

	"github.com/retrygen/retrygen/runtime/durable/internal/record"
)

// A FirstAttempt is the first attempt of a step that records nothing unless the attempt
// fails. It belongs to the goroutine that makes it:
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
// The function must not modify the arguments from which the id and the digest are
// computed, because they are computed after the attempt.
type FirstAttempt interface {
	// Context returns the context of the attempt, for the function of the step.
	Context() context.Context
	// Succeeded reports whether err is nil and, if so, ends the attempt. Otherwise, call
	// CallAfter next.
	Succeeded(err error) bool
	// End ends the attempt if its function has panicked. The panic continues. It must be
	// deferred directly, not inside another function.
	End()
}

// First starts the first attempt of a step of the run in ctx. It returns nil if the step
// is already recorded, if the starts of its attempts must be recorded, if the run does
// not continue, or if ctx has ended.
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
