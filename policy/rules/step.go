package rules

import "time"

// A Durable is what a policy says about calls that are steps of a durable run,
// with every default written out.
type Durable struct {
	Record       Recording
	OnLost       OnLost
	LostMax      int           // attempts that may be lost before the step is exhausted
	Result       string        // how results are recorded: json
	ParkAfter    time.Duration // longer waits park the run; 0: none does
	ResumeSpread time.Duration // of overdue waits; 0: the smaller of the delay and 30s; retry.None: none
}

// DefaultLostMax is the LostMax of policies that do not set it.
const DefaultLostMax = 3

// Recording says what of a step is recorded.
type Recording uint8

// What is recorded.
const (
	RecordAttempts Recording = iota // each start, before the call, and each end
	RecordFailures                  // failures, and what follows them
)

// String returns the word of the language.
func (r Recording) String() string { return [...]string{"attempts", "failures"}[r] }

// OnLost says what follows an attempt that may have taken effect, since its
// process ended during the call.
type OnLost uint8

// What follows a lost attempt.
const (
	OnLostDefault OnLost = iota // retry if the call is idempotent, else pause
	OnLostRetry                 // another attempt, at most LostMax times
	OnLostFail                  // the step fails
	OnLostPause                 // the run waits until somebody resolves the step
)

// String returns the word of the language.
func (o OnLost) String() string { return [...]string{"by idempotency", "retry", "fail", "pause"}[o] }

// MayRetry reports whether a lost attempt of some call is followed by another.
func (o OnLost) MayRetry() bool { return o == OnLostDefault || o == OnLostRetry }

// For returns what follows a lost attempt of a call, which is never
// OnLostDefault.
func (o OnLost) For(i Idempotency) OnLost {
	switch {
	case o != OnLostDefault:
		return o
	case i.Repeatable():
		return OnLostRetry
	}
	return OnLostPause
}

// OnExhausted says what follows the last failure of a call.
type OnExhausted uint8

// What follows the last failure. The last two need a durable policy.
const (
	ExhaustedFail OnExhausted = iota
	ExhaustedEscalate
	ExhaustedDeadLetter // the step is kept with its history, for a requeue
	ExhaustedPause      // the run waits until somebody resolves the step
)

// String returns the word of the language.
func (o OnExhausted) String() string {
	return [...]string{"fail", "escalate", "dead_letter", "pause"}[o]
}

// OnChanged says what follows a call of a recorded step with other arguments
// than those recorded.
type OnChanged uint8

// What follows other arguments.
const (
	ChangedFail   OnChanged = iota // the call fails
	ChangedReport                  // the recorded result is returned, and the difference is reported
)

// String returns the word of the language.
func (o OnChanged) String() string { return [...]string{"fail", "report"}[o] }

// Repeatable reports whether a second call is known to be the same as one.
func (i Idempotency) Repeatable() bool { return i == Idempotent || i == IdempotentByKey }
