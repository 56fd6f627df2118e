package events

import (
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/job"
)

// A Kind is the kind of an [Event].
type Kind uint8

// The kinds of events. Those of a transaction are reported after it is
// committed.
const (
	EventCreated     Kind = iota + 1 // a run was created: Run executes it at once
	EventBegan                       // a run that exists is executed for the first time
	EventResumed                     // a run is executed again
	EventRecovered                   // a run is executed again whose engine died, or lost it
	EventCompleted                   // a run has succeeded
	EventRunFailed                   // the function of a run has returned an error
	EventParked                      // a run waits without a process
	EventPaused                      // a run waits for a person
	EventUnpaused                    // an operator has ended that
	EventReleased                    // an execution has ended, the run stays open
	EventPanicked                    // the function of a run has panicked, the run stays open: Err and Stack
	EventFenced                      // an execution has ended, since the run is executed elsewhere
	EventRunCanceled                 // a run was canceled
	EventTimedOut                    // the timeout of a run has passed
	EventExpired                     // the results of a run were deleted

	// EventWaiting: a step goes on with a wait of an earlier execution, and Attempt is the
	// next one; or a Sleep or Wait begins or goes on.
	EventWaiting
	EventStarted       // an attempt starts
	EventSucceeded     // a step has succeeded
	EventFailed        // an attempt failed or was refused; the next one follows after Wait
	EventExhausted     // a step is not retried further; Reason is why
	EventDeadLetter    // the same, and the step is a dead letter
	EventLost          // the end of an attempt is not known; the next one follows
	EventInterrupted   // an attempt was interrupted; the next one follows
	EventInDoubt       // an attempt may have taken effect, and somebody has to resolve the step
	EventWithdrawn     // an attempt was not executed, since its caller had gone
	EventRefused       // the end of an attempt came after another engine had claimed the run
	EventAbandoned     // a run has succeeded without an unfinished step that it had begun
	EventChanged       // a recorded step is called with other arguments
	EventPolicyChanged // a run continues under another policy: Err names what has changed, once in a run
	EventResolved      // an operator has resolved a step in doubt
	EventRequeued      // an operator has requeued a step
	EventDiscarded     // an operator has discarded a dead letter
	EventRecalled      // a call of a step returns what is recorded
	EventElapsed       // a Sleep, or the timeout of a Wait, has passed; Reason is ErrNoSignal for a Wait
	EventSignaled      // a value was sent to a Wait: see admin.Client.Signal

	EventUnitSucceeded // a unit of a group has succeeded; Step is the id of its record
	EventUnitFailed    // a unit of a group has failed; EventDeadLetter if it is a dead letter
	EventUnitRemoved   // a unit of an earlier execution is not in the list of its group any more

	EventJob // a decision about a group, or about a retry that is taken from the budget of a run: Job

	EventReset      // an operator has reset a budget or a breaker; Name is its name
	EventForcedOpen // an operator has forced a breaker open; Name is its name
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
	Step  string // its id, or "" for an event of the run
	Name  string // of the step, without the values that identify its calls
	Fence uint64 // of the execution

	Policy string // name of the policy of the step, or ""

	Attempt     int           // its number, from 1
	Outcome     Outcome       // of an end that was refused
	Wait        time.Duration // before the next attempt
	Duration    time.Duration // of the attempt
	Total       time.Duration // EventSucceeded: since the first attempt of the step
	Reason      retry.Reason
	Class       retry.Class
	Correlation string // the same for all attempts of a step since its first failure
	By          Operator
	Err         error
	Stack       string // EventPanicked: of the goroutine

	// Job is set for EventJob. Unless the event is about a group, its JobID is the id of
	// the run, and its Unit is the id of the step.
	Job job.Event
}
