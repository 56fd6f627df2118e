package genapi

import (
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
)

// A StepPolicy has the settings of a durable binding in a policy file, in addition to its
// retry.Policy. It is plain data: generated code has one for each binding. The zero value
// of every field but Name and Policy means its default. A StepPolicy must not be changed
// after its first use.
type StepPolicy struct {
	// Name of the step in records. Changing it makes other steps of the same
	// calls: list the old name in Formerly.
	Name string
	// Formerly are older names, under which unfinished runs may have recorded
	// the step, and older values of Function.
	Formerly []string
	// Function is the function whose calls are the step, as go doc names it, with
	// its import path. A call of another function is not answered with what this
	// one has recorded under the same name: it fails with a *durable.ChangedError.
	Function string
	// Policy decides about retries. Nil means a step that is executed once in
	// each execution of its run until it succeeds, and of which only the success
	// is recorded.
	Policy *retry.Policy
	// Live is the policy in place of Policy if it may change while the program runs.
	Live *retry.Live

	// Record is what is recorded, and when.
	Record Recording
	// Idempotent reports that another execution does no harm, given the same
	// idempotency key.
	Idempotent bool
	// OnLost decides about an attempt that may have taken effect.
	OnLost OnLost
	// LostMax is the number of attempts that were lost with their process after which
	// the step is exhausted. Zero means [DefaultLostMax]. Attempts that the end of a
	// context has interrupted do not count: 100 of them in a row exhaust the step.
	LostMax int
	// ParkAfter is the longest wait with a process: the run of a longer one is
	// parked. Zero means that only the deadline of the context parks a run.
	ParkAfter time.Duration
	// ResumeSpread is the time over which retries that became due while no
	// process was running are spread. Zero means the delay of the retry, at most
	// 30s; [retry.None] means that they are due at once.
	ResumeSpread time.Duration
	// OnExhausted is what becomes of a step that is not retried further.
	OnExhausted OnExhausted
	// OnChanged decides about a recorded step that is called with other
	// arguments.
	OnChanged OnChanged

	// Repeat reports that several calls in one execution of a run mean the same
	// step: each has a copy of its result, and concurrent calls share one
	// execution. Without it, a call after one that has succeeded is an error that
	// matches durable.ErrRepeated: most often, the calls of a loop lack a durable.Scope.
	Repeat bool

	// Shared is a breaker and a budget of this process.
	Shared retry.Shared
	// Breaker is a breaker that all engines share through the store, or nil.
	Breaker *breaker.Policy
	// Budget is a budget that all engines share through the store, or nil.
	Budget *budget.Policy

	// Errors are the errors that errors.Is finds in the recorded error of the
	// step. They are recorded by their texts.
	Errors []error
}

// InForce returns the step with the policy for a call that begins now: s itself, or a
// copy of it if the policy may change.
func (s *StepPolicy) InForce() *StepPolicy {
	if s.Live == nil {
		return s
	}
	now := *s
	now.Policy, now.Live = s.Live.Policy(), nil
	return &now
}

// A Recording defines what a step records.
type Recording uint8

const (
	// RecordAttempts records the start and the end of every attempt.
	RecordAttempts Recording = iota
	// RecordFailures records nothing until the first attempt fails. A step that
	// succeeds at once costs nothing, and is executed again when its run is: it
	// must be idempotent. A second call of it in the same execution executes it
	// again, too, unless Repeat is set and the first one is still executing. If two
	// such calls fail at the same time, the failure of one is recorded, and both get
	// the result of its retry. A result that is not recorded is returned as the
	// function has returned it, without a copy. With a shared Breaker, whose permits
	// are recorded, this is RecordAttempts.
	RecordFailures
)

// String returns the word of policy files.
func (r Recording) String() string {
	return [...]string{"attempts", "failures"}[min(r, RecordFailures)]
}

// An OnLost is what follows an attempt that may have taken effect: its process
// died, or its context was canceled during the call.
type OnLost uint8

const (
	OnLostDefault OnLost = iota // OnLostRetry if the step is idempotent, else OnLostPause
	OnLostRetry                 // another attempt, after a wait and within LostMax
	OnLostFail                  // the step fails with retry.ErrLost
	OnLostPause                 // the run is paused until somebody calls admin.Client.Resolve
)

// String returns the word of policy files, which have none for the default.
func (o OnLost) String() string {
	return [...]string{"by idempotency", "retry", "fail", "pause"}[min(o, OnLostPause)]
}

// An OnExhausted is what becomes of a step that is not retried further.
type OnExhausted uint8

const (
	ExhaustedFail       OnExhausted = iota // its error is recorded; a run returns it again until admin.Client.Requeue
	ExhaustedEscalate                      // the same, and the error matches retry.ErrEscalated
	ExhaustedDeadLetter                    // the same, and the step is listed as a dead letter
	ExhaustedPause                         // the run is paused
)

// String returns the word of policy files.
func (o OnExhausted) String() string {
	return [...]string{"fail", "escalate", "dead_letter", "pause"}[min(o, ExhaustedPause)]
}

// An OnChanged is what follows a call of a recorded step with other arguments.
type OnChanged uint8

const (
	ChangedFail   OnChanged = iota // a *ChangedError
	ChangedReport                  // the step is used; EventChanged reports it
)

// String returns the word of policy files.
func (o OnChanged) String() string { return [...]string{"fail", "report"}[min(o, ChangedReport)] }

// DefaultLostMax is the default of StepPolicy.LostMax: a third crash in the same
// call is hardly a coincidence.
const DefaultLostMax = 3
