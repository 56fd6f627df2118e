package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// Owner is the body of the record of an owner, which is an engine that is or was running.
type Owner struct {
	Until   time.Time     `json:"until"` // the end of the lease
	Lease   time.Duration `json:"lease"` // the maximum length of the lease, even if the clock is set back
	Host    string        `json:"host,omitempty"`
	PID     int           `json:"pid,omitempty"`
	Started time.Time     `json:"started"`
	// Panicked is the run whose function has panicked since the last renewal. If the process
	// dies now, this panic is the reason.
	Panicked string `json:"panicked,omitempty"`
	Panic    string `json:"panic,omitempty"`    // the text of this panic
	Stopping bool   `json:"stopping,omitempty"` // its worker claims no more runs, and drains
	// Handlers lists the handlers that its worker calls, for display only.
	Handlers []string `json:"handlers,omitempty"`
}

// Step is the body of the record of a step.
type Step struct {
	Name      string `json:"name"`
	Function  string `json:"function,omitempty"`  // StepPolicy.Function
	Arguments string `json:"arguments,omitempty"` // the digests of the arguments: see [genapi.Arguments]
	Policy    string `json:"policy,omitempty"`    // the name of the policy
	PolicyAt  int    `json:"policy_at,omitempty"` // the index, in the run's Policies of that name, of the settings of the policy

	Call     retry.CallState `json:"call,omitzero"`
	Waited   time.Duration   `json:"waited,omitempty"` // waits before Call was last reset
	Attempts int             `json:"attempts"`         // the number of the last attempt
	Open     *OpenAttempt    `json:"open,omitempty"`   // the attempt whose end is not recorded
	Last     string          `json:"last,omitempty"`   // the token of the last end, or of a start that was refused
	First    time.Time       `json:"first,omitzero"`   // start of the first attempt
	Ended    time.Time       `json:"ended,omitzero"`

	NextAt  time.Time     `json:"next_at,omitzero"` // time of the next attempt, in StatusWaiting
	Delay   time.Duration `json:"delay,omitempty"`  // the wait that was decided on
	Granted int           `json:"granted,omitempty"`
	// Interrupted is the number of interrupted attempts since the last attempt that ended by
	// itself.
	Interrupted int `json:"interrupted,omitempty"`
	Grant       int `json:"grant,omitempty"` // the attempt for which the last grant was used

	// Refusal describes how a breaker has refused the start of the next attempt.
	Refusal *retry.Refusal `json:"refusal,omitempty"`

	Child       string         `json:"child,omitempty"`       // the run that the step has started
	Imported    bool           `json:"imported,omitempty"`    // its arguments are unknown
	NoID        bool           `json:"no_id,omitempty"`       // its id is unknown; only in views
	Limit       int            `json:"limit,omitempty"`       // the maximum number of attempts in the system from which it was imported
	Correlation string         `json:"correlation,omitempty"` // set after the first failure
	Keys        int            `json:"keys,omitempty"`        // number of idempotency keys that were replaced
	Result      *Payload       `json:"result,omitempty"`
	Error       *Error         `json:"error,omitempty"` // the error of the last attempt
	Reason      retry.Reason   `json:"reason,omitempty"`
	Escalated   bool           `json:"escalated,omitempty"`
	Dead        time.Time      `json:"dead,omitzero"`        // since when it has been a dead letter, even if it was requeued
	Resolved    bool           `json:"resolved,omitempty"`   // an operator has set the result, and may correct it
	Operations  int            `json:"operations,omitempty"` // number of operations by operators
	Operated    string         `json:"operated,omitempty"`   // the token of the last operation
	Unit        *Unit          `json:"unit,omitempty"`       // set for a unit of a group
	Signal      string         `json:"signal,omitempty"`     // the digest of the value that was sent to it
	Before      storage.Status `json:"before,omitempty"`     // the state to which a call returns an abandoned step
}

// OpenAttempt is an attempt that has started and not ended.
type OpenAttempt struct {
	Token   string          `json:"token"` // random, to distinguish a repeated start from another start
	Fence   uint64          `json:"fence"`
	Owner   string          `json:"owner"`
	Started time.Time       `json:"started"`
	Permit  *breaker.Permit `json:"permit,omitempty"` // the permit of a shared breaker
}

// Error is the recorded form of an error.
type Error struct {
	Class   retry.Class `json:"class,omitempty"`
	Text    string      `json:"text"`
	Targets []string    `json:"targets,omitempty"` // texts of those errors in StepPolicy.Errors that it matches
}

// Decode decodes the body of a record. A body with an unknown field was written by a newer
// version, and the meaning of the field would be lost, so Decode refuses it.
func Decode[B any](r storage.Record) (b B, err error) {
	if r.Version == 0 {
		return b, nil
	}
	c, hasColumns := any(&b).(columns)
	if hasColumns {
		if c.load(&r); r.Body == nil {
			return b, nil
		}
	}
	if err := decodeJSON(r.Body, &b); err != nil {
		return b, fmt.Errorf("%w: %s: %w: use the version of this module that wrote it", storage.ErrFormat, r.Key, err)
	}
	return b, nil
}

// Encode encodes the body of a record.
func Encode[B any](r *storage.Record, body *B) error {
	data, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("%s: %w", r.Key, err)
	}
	r.Body = data
	if c, hasColumns := any(body).(columns); hasColumns {
		if c.store(r); string(data) == "{}" {
			r.Body = nil
		}
	}
	return nil
}

// columns is implemented by a body that stores some of its values in fields of its record.
type columns interface {
	load(*storage.Record)
	store(*storage.Record)
}

// EncodeStep encodes the body of a step, and sets the fields of its record that queries use.
func EncodeStep(r *storage.Record, body *Step) error {
	r.Attention = Attention(r.Status)
	if r.Status != storage.StatusAbandoned {
		body.Before = 0
	}
	r.Label = StepLabel(r, body)
	return Encode(r, body)
}

// StepLabel returns the Label of a step. Only dead letters have one.
func StepLabel(r *storage.Record, body *Step) string {
	switch {
	case !r.Attention || body.Dead.IsZero():
		return ""
	case body.Error == nil:
		return DeadLabel("")
	}
	return DeadLabel(body.Error.Class)
}

// maxLabel is the maximum length, in bytes, of a class in the label of a dead letter.
const maxLabel = 100

// DeadLabel returns the label of the dead letters with a class. Long classes may have the same
// label.
func DeadLabel(class retry.Class) string {
	return "dead letter: " + Clip(string(class[:min(len(class), maxLabel)]))
}

// Finished reports whether a step needs no further attempt.
func Finished(s storage.Status) bool {
	switch s {
	case storage.StatusSucceeded, storage.StatusFailed, storage.StatusDead, storage.StatusDiscarded,
		storage.StatusCanceled:
		return true
	}
	return false
}

// Attention reports whether a step needs attention from a person or from the run when it
// is executed again.
func Attention(s storage.Status) bool {
	return !Finished(s) && s != storage.StatusAbandoned || s == storage.StatusDead
}

// Blocked reports whether a step waits for a person.
func Blocked(s storage.Status) bool { return s == storage.StatusInDoubt || s == storage.StatusPaused }

// ErrorOf returns the recorded form of a step's error. known lists the errors that errors.Is
// must recognize in it later.
func ErrorOf(known []error, class retry.Class, err error) *Error {
	r := &Error{Class: class, Text: Clip(ErrorText(err))}
	for _, target := range known {
		if errors.Is(err, target) {
			r.Targets = append(r.Targets, target.Error())
		}
	}
	return r
}

// ErrorText returns the text of an error. An error whose method panics, such as a nil pointer
// in an interface, must not end the process.
func ErrorText(err error) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("%T", err)
		}
	}()
	return err.Error()
}
