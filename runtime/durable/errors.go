package durable

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/fault"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
)

// Errors that runs and steps return. Test for them with errors.Is.
var (
	// ErrNoRun is returned by a durable call whose context does not belong to a run. The
	// function is not called.
	ErrNoRun = fault.ErrNoRun
	// ErrCanceled is returned for a run that was canceled with admin.Client.Cancel.
	ErrCanceled = fault.ErrCanceled
	// ErrTimedOut is returned for a run whose [Timeout] has passed.
	ErrTimedOut = errors.New("the timeout of the run has passed")
	// ErrExpired is returned for a run that has ended and whose results have since been
	// deleted: see [Retention] and [FailedRetention].
	ErrExpired = errors.New("the run has ended; its results were deleted")
	// ErrFenced is returned for a run that was taken over by another engine or by another
	// call to Run.
	ErrFenced = errors.New("the run is executed elsewhere")
	// ErrChanged matches a [*ChangedError].
	ErrChanged = errors.New("a recorded step is called with different arguments, or by another function")
	// ErrRepeated is returned if a step is called again in the same execution of its run
	// after the first call has succeeded: see genapi.StepPolicy.Repeat.
	ErrRepeated = errors.New("the step has been called before in this execution")
	// ErrResult matches the error for a value that cannot be encoded or decoded. The
	// value is the input of a run, or the result of a run or a step. For a result, the
	// error is a [*ResultError].
	ErrResult = fault.ErrResult
	// ErrID matches the error for an id that is empty, too long, or not UTF-8.
	ErrID = fault.ErrID
	// ErrArguments matches the error for arguments that cannot be encoded as JSON.
	ErrArguments = fault.ErrArguments
	// ErrUnfinished matches an [*UnfinishedError].
	ErrUnfinished = errors.New("the function returned before its steps were finished")
	// ErrNotFound is returned for a run or a step that does not exist.
	ErrNotFound = fault.ErrNotFound
	// ErrConflict is returned for an operation that the state of a run or a step
	// does not allow.
	ErrConflict = fault.ErrConflict
	// ErrClosed is returned by an engine after [Engine.Close].
	ErrClosed = errors.New("the engine is closed")
)

// A ParkedError reports that a run is waiting without a process, because the wait is
// longer than ParkAfter or does not fit within the caller's deadline. Unless workers
// execute the run, call Run again at the time Until.
type ParkedError struct {
	Run    string
	Until  time.Time // end of the wait by the store's clock; zero if the run awaits another run
	Worker bool      // a worker will continue the run
}

// Error describes the run and the time.
func (e *ParkedError) Error() string {
	until, next := "another run has ended", ": run it again then"
	if !e.Until.IsZero() {
		until = e.Until.Format(time.RFC3339)
	}
	if e.Worker {
		next = ""
	}
	return fmt.Sprintf("run %q is parked until %s%s", e.Run, until, next)
}

// A PausedError reports that a run is waiting for a person.
type PausedError struct {
	Run string
	// Steps are the ids of the steps to resolve: see admin.Client.Resolve.
	Steps []string
	// Held reports whether the run was paused with admin.Client.Pause. If it was, By
	// names the operator who paused it. If Held is false and Steps is empty, the run has
	// crashed too often without progress. In both cases, call admin.Client.Resume.
	Held bool
	By   events.Operator
}

// Error describes the run and what has to happen before it can continue.
func (e *PausedError) Error() string {
	switch by := e.By.String(); {
	case e.Held && by != "":
		return fmt.Sprintf("run %q is paused by %.100s; resume it", e.Run, by)
	case e.Held:
		return fmt.Sprintf("run %q is paused by an operator; resume it", e.Run)
	case len(e.Steps) == 0:
		return fmt.Sprintf("run %q is paused: it has crashed %d times without progress; fix the cause, then resume it",
			e.Run, record.MaxRecoveries)
	}
	return fmt.Sprintf("run %q is paused: resolve %s", e.Run, fault.Some(e.Steps))
}

// A ConflictError reports runs that were not started because they already exist with a
// different function or input. It matches [ErrConflict].
type ConflictError struct{ Runs []string }

// Error lists the runs, or their number and some of them.
func (e *ConflictError) Error() string {
	if len(e.Runs) == 1 {
		return fmt.Sprintf("run %q exists with another function or input: give the new one another id", e.Runs[0])
	}
	return fmt.Sprintf("%d runs exist with another function or input: give new ones other ids: %s",
		len(e.Runs), fault.Some(e.Runs))
}

// Unwrap returns [ErrConflict].
func (e *ConflictError) Unwrap() error { return ErrConflict }

// held returns the error for a run that an operator has paused.
func held(run string, h *record.Hold) *PausedError {
	return &PausedError{Run: run, Held: true, By: h.By}
}

// An OwnedError reports that another engine is executing a run.
type OwnedError struct {
	Run   string
	Owner string
	Until time.Time // the end of the owner's lease, by the store's clock
}

// Error returns a message that names the owner.
func (e *OwnedError) Error() string {
	return fmt.Sprintf("run %q is executed by %s, whose lease ends at %s", e.Run, e.Owner, e.Until.Format(time.RFC3339))
}

// Unwrap returns [ErrFenced].
func (e *OwnedError) Unwrap() error { return ErrFenced }

// An UnfinishedError reports that the function of a run returned without an error before
// all of its steps had finished. The run stays open.
type UnfinishedError struct {
	Run   string
	Steps []string
}

// Error returns a message that lists the steps.
func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("run %q is not finished: its function dropped the error of %s", e.Run, fault.Some(e.Steps))
}

// Unwrap returns [ErrUnfinished].
func (e *UnfinishedError) Unwrap() error { return ErrUnfinished }

// A ChangedError reports that a recorded step was called with arguments that differ from
// the recorded ones, or by a different function. Nothing was executed. Do not try to fix
// the run by adding the argument to the binding's id. A call with a different id is a
// different step, so it would be executed.
type ChangedError struct {
	Run, Step string
	// Recorded and Called are the functions, if they differ: see
	// genapi.StepPolicy.Function. Called is "" for a call to [Step].
	Recorded, Called string
	// Arguments names the parameters whose arguments differ, if the functions are the
	// same.
	Arguments []string
}

// Error describes the step and the fix.
func (e *ChangedError) Error() string {
	if e.Recorded != "" {
		called := e.Called
		if called == "" {
			called = "durable.Step"
		}
		return fmt.Sprintf("step %q of run %q was recorded by %s, and is called by %s: give each a step name of its own, "+
			"or list the former in formerly if it was renamed", e.Step, e.Run, e.Recorded, called)
	}
	return fmt.Sprintf("step %q of run %q was recorded with another %s: "+
		"pass the recorded value, or set on_changed: report", e.Step, e.Run, strings.Join(e.Arguments, " and another "))
}

// Unwrap returns [ErrChanged].
func (e *ChangedError) Unwrap() error { return ErrChanged }

// A ResultError reports that a step or the function of a run succeeded with a result that
// cannot be recorded, or that cannot be decoded into the program's current type. The step
// is not executed again automatically. To execute it again, call admin.Client.Requeue
// with admin.Repeat.
type ResultError struct {
	Run, Step string // Step is "" for the result of the run
	Type      string // Go type of the result
	Err       error
}

// Error returns a message with the step or the run, the type and the cause.
func (e *ResultError) Error() string {
	what := fmt.Sprintf("run %q", e.Run)
	if e.Step != "" {
		what = fmt.Sprintf("step %q", e.Step)
	}
	return fmt.Sprintf("%s succeeded, but its result (%s) cannot be recorded or read: %v", what, e.Type, e.Err)
}

// Unwrap returns [ErrResult] and the cause.
func (e *ResultError) Unwrap() []error { return []error{ErrResult, e.Err} }

// resultError converts the error for a result that cannot be recorded or read into a
// *ResultError, and returns other errors unchanged. step is "" for the result of the run.
func resultError(run, step string, err error) error {
	if p, ok := errors.AsType[*record.PayloadError](err); ok {
		return &ResultError{Run: run, Step: step, Type: p.Type, Err: p.Err}
	}
	return err
}

// inputError returns the error for an input of a run that cannot be recorded or read.
func inputError(run string, err error) error {
	return fmt.Errorf("the input of run %q: %w", run, err)
}

// A StepError is the recorded error of a step that has failed. The call that made the
// last attempt and later calls after a restart return equal errors.
type StepError struct {
	Run, Step string
	Policy    string // name of the policy
	// Reason is why no further attempt was made. errors.Is finds it.
	Reason    retry.Reason
	Escalated bool // the error matches retry.ErrEscalated
	Attempts  int  // attempts made, including lost ones
	Waited    time.Duration
	Class     retry.Class // class of the last error
	Text      string      // text of the last error, at most 4 KiB

	targets []string // the texts of those errors in StepPolicy.Errors that it matched
	errors  []error  // the errors in StepPolicy.Errors
}

// Error returns a message with the step, the reason and the last error.
func (e *StepError) Error() string {
	text := fmt.Sprintf("step %q: %s after %d attempts", e.Step, e.Reason, e.Attempts)
	switch e.Attempts {
	case 0:
		text = fmt.Sprintf("step %q: %s", e.Step, e.Reason)
	case 1:
		text = strings.TrimSuffix(text, "s")
	}
	if e.Text != "" {
		text += ": " + e.Text
	}
	return text
}

// Is reports whether target is the reason.
func (e *StepError) Is(target error) bool {
	reason, ok := target.(retry.Reason)
	return ok && (reason == e.Reason || reason == retry.ErrEscalated && e.Escalated)
}

// Unwrap returns the errors in genapi.StepPolicy.Errors that the last error matched.
func (e *StepError) Unwrap() []error {
	var found []error
	for _, known := range e.errors {
		if slices.Contains(e.targets, known.Error()) {
			found = append(found, known)
		}
	}
	return found
}

// ErrNoSignal is the reason in the [*StepError] that [Wait] returns after its timeout.
const ErrNoSignal = record.ErrNoSignal
