package durable

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// ownerBody is the body of an owner: an engine that is, or was, running.
type ownerBody struct {
	Until   time.Time     `json:"until"` // the end of the lease
	Lease   time.Duration `json:"lease"` // its length: no lease outlives it, even if the clock is set back
	Host    string        `json:"host,omitempty"`
	PID     int           `json:"pid,omitempty"`
	Started time.Time     `json:"started"`
	// Panicked is the run whose function has panicked since the last renewal: if the
	// process dies now, that is why.
	Panicked string `json:"panicked,omitempty"`
	Stopping bool   `json:"stopping,omitempty"` // its worker claims nothing more, and drains
	// Handlers are the handlers that its worker calls: for people only.
	Handlers []string `json:"handlers,omitempty"`
}

// runBody is the body of a run.
type runBody struct {
	Claimed  time.Time     `json:"claimed,omitzero"` // by its last owner
	Ended    time.Time     `json:"ended,omitzero"`
	Version  int           `json:"version,omitempty"`
	Deadline time.Time     `json:"deadline,omitzero"`
	Keep     time.Duration `json:"keep,omitempty"`
	// KeepFailed is Keep for runs that end without success.
	KeepFailed time.Duration `json:"keep_failed,omitempty"`
	Parent     string        `json:"parent,omitempty"`
	Unit       *member       `json:"unit,omitempty"`  // of a group of the parent, which the run is
	Woken      bool          `json:"woken,omitempty"` // by the end of such a run, while it was executed
	// Correlation is the id of the span in which it was created, or "".
	Correlation string   `json:"correlation,omitempty"`
	Input       *payload `json:"input,omitempty"` // of the function that a worker calls
	// Awaiting is the latest fence whose execution, in the process that has called
	// Run, has waited for other runs.
	Awaiting uint64 `json:"awaiting,omitempty"`
	// Policies are the settings of the policies under which steps were executed, by
	// the names of the policies: several of one name after its policy file was changed.
	Policies map[string][]retry.Settings `json:"policies,omitempty"`
	// Awaits are the runs until whose end a parked run waits.
	Awaits []string `json:"awaits,omitempty"`
	// Awaiters are the runs that are parked until this one has ended.
	Awaiters []string `json:"awaiters,omitempty"`
	// Recoveries is the number of crashes since the last record of a step that the
	// run may have caused: see crash.
	Recoveries int `json:"recoveries,omitempty"`
	Recovered  int `json:"recovered,omitempty"` // all crashes
	// Spared are the latest fences whose executions a shutdown or another run has
	// ended.
	Spared  []uint64 `json:"spared,omitempty"`
	Budget  bool     `json:"budget,omitempty"`  // its retries are limited by a record
	Lacks   *lacks   `json:"lacks,omitempty"`   // options, until its first execution
	Imports int      `json:"imports,omitempty"` // transactions that have imported steps
	// Abandoned says that the run has succeeded without steps or units that it had begun.
	Abandoned bool `json:"abandoned,omitempty"`
	// Tail says that more steps follow the end of the run than one transaction has
	// changed: see tail.go.
	Tail   bool     `json:"tail,omitempty"`
	Result *payload `json:"result,omitempty"`
	Error  string   `json:"error,omitempty"` // of a failed run
	Hold   *hold    `json:"hold,omitempty"`  // why an operator has paused it
	// CanceledWith is the run that an operator has canceled, with this one as its child.
	CanceledWith string `json:"canceled_with,omitempty"`
	Operated     string `json:"operated,omitempty"` // the token of the last operation
}

// stepBody is the body of a step.
type stepBody struct {
	Name      string `json:"name"`
	Function  string `json:"function,omitempty"`  // StepPolicy.Function
	Arguments string `json:"arguments,omitempty"` // their digests: see [Arguments]
	Policy    string `json:"policy,omitempty"`    // its name
	PolicyAt  int    `json:"policy_at,omitempty"` // which settings of that name: an index in those of the run

	Call     retry.CallState `json:"call,omitzero"`
	Waited   time.Duration   `json:"waited,omitempty"` // before Call was last set to zero
	Attempts int             `json:"attempts"`         // the number of the last attempt
	Open     *openAttempt    `json:"open,omitempty"`   // whose end is not recorded
	Last     string          `json:"last,omitempty"`   // the token of the last end, or of a start that was refused
	First    time.Time       `json:"first,omitzero"`   // start of the first attempt
	Ended    time.Time       `json:"ended,omitzero"`

	NextAt  time.Time     `json:"next_at,omitzero"` // the next attempt, in StatusWaiting
	Delay   time.Duration `json:"delay,omitempty"`  // the wait that was decided
	Granted int           `json:"granted,omitempty"`
	// Interrupted is the number of interrupted attempts since one that ended by itself.
	Interrupted int `json:"interrupted,omitempty"`
	Grant       int `json:"grant,omitempty"` // the attempt for which the last grant was taken

	// Refusal is that of a breaker which has refused the start of the next attempt.
	Refusal *retry.Refusal `json:"refusal,omitempty"`

	Child       string         `json:"child,omitempty"`       // the run that the step has started
	Imported    bool           `json:"imported,omitempty"`    // its arguments are not known
	Limit       int            `json:"limit,omitempty"`       // of attempts, in the system from which it was imported
	Correlation string         `json:"correlation,omitempty"` // since the first failure
	Keys        int            `json:"keys,omitempty"`        // idempotency keys that were replaced
	Result      *payload       `json:"result,omitempty"`
	Error       *recordedError `json:"error,omitempty"` // of the last attempt
	Reason      retry.Reason   `json:"reason,omitempty"`
	Escalated   bool           `json:"escalated,omitempty"`
	Dead        time.Time      `json:"dead,omitzero"`        // since when it is a dead letter, also if it was requeued
	Resolved    bool           `json:"resolved,omitempty"`   // by an operator, who may correct it
	Operations  int            `json:"operations,omitempty"` // of operators
	Operated    string         `json:"operated,omitempty"`   // the token of the last one
	Unit        *unitBody      `json:"unit,omitempty"`       // of a unit of a group
	Signal      string         `json:"signal,omitempty"`     // the digest of the value that was sent to it
	Before      Status         `json:"before,omitempty"`     // the state of an abandoned step to which a call returns
}

// openAttempt is an attempt that has started.
type openAttempt struct {
	Token   string        `json:"token"` // random: distinguishes a repeated start from another one
	Fence   uint64        `json:"fence"`
	Owner   string        `json:"owner"`
	Started time.Time     `json:"started"`
	Permit  *retry.Permit `json:"permit,omitempty"` // of a shared breaker
}

// recordedError is what is kept of an error.
type recordedError struct {
	Class   retry.Class `json:"class,omitempty"`
	Text    string      `json:"text"`
	Targets []string    `json:"targets,omitempty"` // texts of the errors in StepPolicy.Errors that it matches
}

// budgetBody is the body of a count budget.
type budgetBody struct {
	Name     string `json:"name,omitempty"`    // of the policy of a count budget
	Retries  int    `json:"retries,omitempty"` // the limits stay those of the first engine
	PerUnit  int    `json:"per_unit,omitempty"`
	Consumed int    `json:"consumed,omitempty"`
	Refused  int    `json:"refused,omitempty"`
}

// ratioBody is the body of a ratio budget. Its capacity, the burst of the policy,
// is divided between the budget itself and the leases.
type ratioBody struct {
	Tokens   float64               `json:"tokens"` // that are not leased
	Refilled time.Time             `json:"refilled,omitzero"`
	Full     bool                  `json:"full,omitempty"`   // an operator has filled it
	Leases   map[string]tokenLease `json:"leases,omitempty"` // by the process
}

// A tokenLease is the part of a ratio budget that a process may use without the
// store until a time.
type tokenLease struct {
	Capacity float64   `json:"capacity"` // the process has no more tokens than this
	Until    time.Time `json:"until"`
}

// entryBody is the body of an entry of the history.
type entryBody struct {
	Outcome     Outcome       `json:"outcome"`
	Started     time.Time     `json:"started,omitzero"`
	Duration    time.Duration `json:"duration,omitempty"`
	Class       retry.Class   `json:"class,omitempty"`
	Error       string        `json:"error,omitempty"`
	Wait        time.Duration `json:"wait,omitempty"` // applied before the next attempt
	Reason      retry.Reason  `json:"reason,omitempty"`
	Owner       string        `json:"owner,omitempty"`
	Fence       uint64        `json:"fence,omitempty"`
	Correlation string        `json:"correlation,omitempty"`
	// Timeouts are the rows of those that were captured during the attempt.
	Timeouts []json.RawMessage `json:"timeouts,omitempty"`
	// Refused marks evidence: an end that came after another engine had claimed the
	// run.
	Refused bool     `json:"refused,omitempty"`
	By      Operator `json:"by,omitzero"`
}

// resultPart is the Part of the entry that holds a large result, next to that
// of its attempt. The parts of refused ends follow it.
const resultPart = 1

// open decodes the body of a record. A body with an unknown field was written by
// a newer version: what it means would be lost.
func open[B any](r Record) (b B, err error) {
	if r.Version == 0 {
		return b, nil
	}
	if err := decodeJSON(r.Body, &b); err != nil {
		return b, fmt.Errorf("%w: %s: %w: use the version of this module that wrote it", ErrFormat, r.Key, err)
	}
	return b, nil
}

// write encodes the body of a record.
func write[B any](r *Record, body *B) error {
	data, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("%s: %w", r.Key, err)
	}
	r.Body = data
	return nil
}

// writeStep encodes the body of a step, and sets the fields of its record by which
// queries find it.
func writeStep(r *Record, body *stepBody) error {
	r.Attention = attention(r.Status)
	if r.Status != StatusAbandoned {
		body.Before = 0
	}
	r.Label = labelOf(r, body)
	return write(r, body)
}

// labelOf returns the Label of a step: that of a dead letter, or "".
func labelOf(r *Record, body *stepBody) string {
	switch {
	case !r.Attention || body.Dead.IsZero():
		return ""
	case body.Error == nil:
		return deadLabel("")
	}
	return deadLabel(body.Error.Class)
}

// maxLabel is how much of a class is in the label of a dead letter, in bytes.
const maxLabel = 100

// deadLabel returns the label of the dead letters with a class. Long classes may have
// the same.
func deadLabel(class retry.Class) string {
	return "dead letter: " + clip(string(class[:min(len(class), maxLabel)]))
}

// finished reports whether a step needs no further attempt.
func finished(s Status) bool {
	switch s {
	case StatusSucceeded, StatusFailed, StatusDead, StatusDiscarded, StatusCanceled:
		return true
	}
	return false
}

// attention reports whether somebody has to look at a step: a person, or the run
// when it is executed again.
func attention(s Status) bool { return !finished(s) && s != StatusAbandoned || s == StatusDead }

// blocked reports whether a step waits for a person.
func blocked(s Status) bool { return s == StatusInDoubt || s == StatusPaused }

// recordError returns what is kept of the error of a step.
func recordError(s *StepPolicy, class retry.Class, err error) *recordedError {
	r := &recordedError{Class: class, Text: clip(errorText(err))}
	for _, target := range s.Errors {
		if errors.Is(err, target) {
			r.Targets = append(r.Targets, target.Error())
		}
	}
	return r
}

// errorText returns the text of an error. An error that panics, such as a nil
// pointer in an interface, must not take the process down.
func errorText(err error) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("%T", err)
		}
	}()
	return err.Error()
}

// An Outcome is how an attempt ended.
type Outcome string

// The outcomes.
const (
	OutcomeSucceeded Outcome = "succeeded"
	OutcomeFailed    Outcome = "failed"
	OutcomeTimedOut  Outcome = "timed_out" // by the limit of the attempt
	// OutcomeInterrupted is that of an attempt which was ended by the end of its
	// context, by a shutdown, or by the panic of another run: it may have taken effect.
	OutcomeInterrupted Outcome = "interrupted"
	OutcomeLost        Outcome = "lost"      // its process died, or lost the run: it may have taken effect
	OutcomeWithdrawn   Outcome = "withdrawn" // before the call: it was not executed
	OutcomeRefused     Outcome = "refused"   // by a breaker: it was not executed
	OutcomeResolved    Outcome = "resolved"  // by an operator, who knew: see [Engine.Resolve]
	OutcomeRequeued    Outcome = "requeued"  // by an operator: see [Engine.Requeue]
	OutcomeDiscarded   Outcome = "discarded" // by an operator: see [Engine.Discard]
	OutcomeSignaled    Outcome = "signaled"  // no attempt: a value was sent: see [Engine.Signal]
)
