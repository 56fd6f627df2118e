package fault

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrNoRun is returned by a durable call whose context does not belong to a run.
	ErrNoRun = errors.New("no run in the context: call it within Engine.Run, with the context of the run")
	// ErrCanceled is returned for a run that was canceled.
	ErrCanceled = errors.New("the run is canceled")
	// ErrID matches the error for an id that is empty, too long, or not UTF-8.
	ErrID = errors.New("invalid id")
	// ErrArguments matches the error for arguments that cannot be encoded as JSON.
	ErrArguments = errors.New("arguments cannot be recorded")
	// ErrResult matches the error for a value that cannot be recorded, or whose record cannot
	// be decoded.
	ErrResult = errors.New("the result cannot be recorded")
	// ErrNotFound is returned for an object that does not exist.
	ErrNotFound = errors.New("not found")
	// ErrConflict is returned for an operation that the state of a run or a step does not
	// allow.
	ErrConflict = errors.New("not possible in this state")
)

// Some formats the first of some ids for a message.
func Some(ids []string) string {
	const most = 3
	text := make([]string, 0, most)
	for _, id := range ids[:min(most, len(ids))] {
		text = append(text, fmt.Sprintf("%q", id))
	}
	if more := len(ids) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(text, ", "), more)
	}
	return strings.Join(text, ", ")
}
