package events

import (
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/job"
)

// A Kind is the kind of an [Event].
type Kind uint8

// The kinds of events. Events caused by a transaction are reported after it has been
// committed.
const (
	EventCreated     Kind = iota + 1 // a run was created (Run executes it at once)
	EventBegan                       // an existing run is executed for the first time
	EventResumed                     // a run is executed again
	EventRecovered                   // a run is executed again because its engine died or lost it
	EventCompleted                   // a run has succeeded
	EventRunFailed                   // the run's function has returned an error
	EventParked                      // a run is waiting without a process
	EventPaused                      // a run is waiting for a person
	EventUnpaused                    // an operator has resumed a paused run
	EventReleased                    // an execution has ended, but the run stays open
	EventPanicked                    // the run's function has panicked, but the run stays open: see Err and Stack
	EventFenced                      // an execution has ended because another one has taken over the run
	EventRunCanceled                 // a run was canceled
	EventTimedOut                    // the run's timeout has passed
	EventExpired                     // the run's results were deleted

	// EventWaiting means that a step continues a wait that began in an earlier execution,
	// or that a Sleep or Wait begins or continues. In the first case, Attempt is the next
	// attempt.
	EventWaiting
	EventStarted       // an attempt starts
	EventSucceeded     // a step has succeeded
	EventFailed        // an attempt failed or was refused; the next one follows after Wait
	EventExhausted     // a step is not retried further; Reason says why
	EventDeadLetter    // a step is not retried further and becomes a dead letter
	EventLost          // the end of an attempt is unknown; the next one follows
	EventInterrupted   // an attempt was interrupted; the next one follows
	EventInDoubt       // an attempt may have taken effect, and someone has to resolve the step
	EventWithdrawn     // an attempt was not executed because its caller was gone
	EventRefused       // the end of an attempt was refused because another engine had claimed the run
	EventAbandoned     // a run has succeeded although a step that it had begun is unfinished
	EventChanged       // a recorded step was called with different arguments
	EventPolicyChanged // a run continues under a changed policy, reported once; Err names the changes
	EventResolved      // an operator has resolved a step in doubt
	EventRequeued      // an operator has requeued a step
	EventDiscarded     // an operator has discarded a dead letter
	EventRecalled      // a call to a step returns the recorded result or error
	EventElapsed       // a Sleep, or the timeout of a Wait, has passed; Reason is ErrNoSignal for a Wait
	EventSignaled      // a value was sent to a Wait: see admin.Client.Signal

	EventUnitSucceeded // a unit of a group has succeeded; Step is the id of its record
	EventUnitFailed    // a unit of a group has failed; for a dead letter, EventDeadLetter is reported instead
	EventUnitRemoved   // a unit of an earlier execution is no longer in its group's list

	EventJob // a decision about a group, or about a retry from a run's budget: see Job

	EventReset      // an operator has reset the budget or breaker Name
	EventForcedOpen // an operator has forced the breaker Name open
	EventStoreError // the store failed
)

var eventKinds = [...]string{
	"", "created", "began", "resumed", "recovered", "completed", "failed", "parked", "paused", "unpaused", "released",
	"panicked", "fenced",
	"canceled", "timed out", "expired",
	"step waiting", "attempt started", "step succeeded", "attempt failed", "step exhausted", "dead letter",
	"attempt lost", "attempt interrupted", "step in doubt", "attempt withdrawn", "late end refused", "step abandoned",
	"arguments changed",
	"policy changed",
	"step resolved", "step requeued", "dead letter discarded", "step recalled",
	"wait elapsed", "step signaled",
	"unit succeeded", "unit failed", "unit removed",
	"job",
	"reset", "forced open", "store error",
}

// String returns the name of the kind.
func (k Kind) String() string {
	if int(k) < len(eventKinds) && k > 0 {
		return eventKinds[k]
	}
	return "unknown"
}

// An Event reports what an engine has done. Which fields are set depends on the
// kind.
type Event struct {
	Kind  Kind
	Run   string
	Step  string // id of the step, or "" for an event of the run
	Name  string // name of the step, without the values that identify its calls
	Fence uint64 // fence of the execution

	Policy string // name of the step's policy, or ""

	Attempt     int           // number of the attempt, starting at 1
	Outcome     Outcome       // outcome that was refused
	Wait        time.Duration // wait before the next attempt
	Duration    time.Duration // duration of the attempt
	Total       time.Duration // EventSucceeded: time since the first attempt of the step
	Reason      retry.Reason
	Class       retry.Class
	Correlation string // correlation id, the same for all attempts of a step, starting with its first failure
	By          Operator
	Err         error
	Stack       string // EventPanicked: stack of the goroutine

	// Job is set for EventJob. Unless the event is about a group, its JobID is the id of
	// the run, and its Unit is the id of the step.
	Job job.Event
}
