package genapi

import (
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
)

// A StepPolicy contains a durable binding's settings in a policy file, in addition to its
// retry.Policy. It is plain data: generated code contains one for each binding. The zero
// value of every field but Name and Policy means the field's default. A StepPolicy must
// not be changed after its first use.
type StepPolicy struct {
	// Name is the name of the step in records. If you change it, recorded calls are no
	// longer found unless Formerly lists the old name.
	Name string
	// Formerly lists older names, under which unfinished runs may have recorded the step,
	// and older values of Function.
	Formerly []string
	// Function is the function that the step calls. Its name is written as go doc writes
	// it, with its import path. If a different function is called under the same name,
	// the call does not return this function's recorded result but fails with a
	// *durable.ChangedError.
	Function string
	// Policy defines the retries. Nil means that the step is executed once in each
	// execution of its run until it succeeds, and that only the success is recorded.
	Policy *retry.Policy
	// Live, if set, replaces Policy with a policy that may change while the program runs.
	Live *retry.Live

	// Record defines what is recorded, and when.
	Record Recording
	// Idempotent reports whether executing the step again with the same idempotency key
	// does no harm.
	Idempotent bool
	// OnLost defines what happens after an attempt that may have taken effect.
	OnLost OnLost
	// LostMax is the number of lost attempts after which the step is exhausted. An
	// attempt is lost if its process dies. Zero means [DefaultLostMax]. Attempts
	// interrupted by the end of a context do not count, but 100 of them in a row also
	// exhaust the step.
	LostMax int
	// ParkAfter is the longest wait for which the process itself waits. A longer wait
	// parks the run. Zero means that a run is parked only because of the context's
	// deadline.
	ParkAfter time.Duration
	// ResumeSpread is the period over which to spread the retries that became due while
	// no process was running. Zero means the retry's delay, but at most 30s; [retry.None]
	// means that they are due at once.
	ResumeSpread time.Duration
	// OnExhausted defines what happens to a step that is not retried further.
	OnExhausted OnExhausted
	// OnChanged defines what happens if a recorded step is called with different
	// arguments.
	OnChanged OnChanged

	// Repeat means that several calls in one execution of a run refer to the same step.
	// Each call returns a copy of the step's result, and concurrent calls share one
	// execution. Without Repeat, another call after a successful one returns an error
	// that matches durable.ErrRepeated. The usual cause is a loop without a
	// durable.Scope.
	Repeat bool

	// Shared is a breaker and a budget of this process.
	Shared retry.Shared
	// Breaker is a breaker that all engines share through the store, or nil.
	Breaker *breaker.Policy
	// Budget is a budget that all engines share through the store, or nil.
	Budget *budget.Policy

	// Errors lists the errors that errors.Is can find in the step's recorded error. They
	// are recorded as text.
	Errors []error
}

// InForce returns the step with the policy for a call that begins now: s itself, or a
// copy of s if the policy may change.
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
	// RecordFailures records nothing until the first attempt fails. A step that succeeds
	// at once costs nothing. However, it is executed again whenever its run is executed
	// again, so it must be idempotent. A second call in the same execution also executes
	// it again, unless Repeat is set and the first call is still executing. If two such
	// calls fail at the same time, the failure of one is recorded, and both return the
	// result of its retry. A result that is not recorded is returned exactly as the
	// function returned it, not as a copy. With a shared Breaker, whose permits are
	// recorded, RecordFailures has the same effect as RecordAttempts.
	RecordFailures
)

// String returns the name of the recording in a policy file.
func (r Recording) String() string {
	return [...]string{"attempts", "failures"}[min(r, RecordFailures)]
}

// An OnLost defines what happens if an attempt may have taken effect because its process
// died or its context was canceled during the call.
type OnLost uint8

const (
	OnLostDefault OnLost = iota // OnLostRetry if the step is idempotent, otherwise OnLostPause
	OnLostRetry                 // another attempt, after a wait and within LostMax
	OnLostFail                  // the step fails with retry.ErrLost
	OnLostPause                 // the run is paused until someone calls admin.Client.Resolve
)

// String returns the value's name in a policy file. The default has no name in policy
// files.
func (o OnLost) String() string {
	return [...]string{"by idempotency", "retry", "fail", "pause"}[min(o, OnLostPause)]
}

// An OnExhausted defines what happens to a step that is not retried further.
type OnExhausted uint8

const (
	ExhaustedFail       OnExhausted = iota // the error is recorded, and later calls return it until the step is requeued
	ExhaustedEscalate                      // like ExhaustedFail, and the error matches retry.ErrEscalated
	ExhaustedDeadLetter                    // like ExhaustedFail, and the step is listed as a dead letter
	ExhaustedPause                         // the run is paused
)

// String returns the value's name in a policy file.
func (o OnExhausted) String() string {
	return [...]string{"fail", "escalate", "dead_letter", "pause"}[min(o, ExhaustedPause)]
}

// An OnChanged defines what happens if a recorded step is called with different
// arguments.
type OnChanged uint8

const (
	ChangedFail   OnChanged = iota // the call returns a *durable.ChangedError
	ChangedReport                  // the recorded result is used, and EventChanged reports the difference
)

// String returns the value's name in a policy file.
func (o OnChanged) String() string { return [...]string{"fail", "report"}[min(o, ChangedReport)] }

// DefaultLostMax is the default of StepPolicy.LostMax. A third crash in the same call is
// unlikely to be a coincidence.
const DefaultLostMax = 3
