package admin

import (
	"github.com/retrygen/retrygen/runtime/durable/internal/fault"
)

// The errors that a client returns. Test for them with errors.Is.
var (
	// ErrNotFound is returned for a run, a step, a budget or a breaker that does not
	// exist.
	ErrNotFound = fault.ErrNotFound
	// ErrConflict is returned for an operation that the state of a run or a step does not
	// allow.
	ErrConflict = fault.ErrConflict
	// ErrResult matches the error for a value that cannot be recorded.
	ErrResult = fault.ErrResult
	// ErrID matches the error for an id that is empty, too long, or not UTF-8.
	ErrID = fault.ErrID
	// ErrArguments matches the error for a value that cannot be encoded as JSON.
	ErrArguments = fault.ErrArguments
)
