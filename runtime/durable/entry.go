package durable

import (
	"encoding/json"
	"strings"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// This file has the histories of steps.

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

// newEntry returns an entry of the history of a step, whose bucket is known.
func newEntry(step Record, now time.Time, attempt, part int, body entryBody) Entry {
	data, _ := json.Marshal(body) // of strings and numbers
	return Entry{Step: step.Key, Attempt: attempt, Part: part, At: now, Bucket: step.Bucket, Body: data}
}

// keepResult records a result in the body of a step. The entry that it returns holds
// one that is large.
func (s *stepBody) keepResult(step Record, now time.Time, result payload) []Entry {
	s.Result = &result
	data := result.data()
	if len(data) <= maxInline {
		return nil
	}
	s.Result = &payload{Entry: s.Attempts}
	return []Entry{{
		Step: step.Key, Attempt: s.Attempts, Part: resultPart, At: now, Bucket: step.Bucket,
		Body: json.RawMessage("{}"), Result: data,
	}}
}

// lines returns rows as the lines of a file.
func lines(rows []json.RawMessage) string {
	var b strings.Builder
	for _, row := range rows {
		b.Write(row)
		b.WriteByte('\n')
	}
	return b.String()
}

// The functions whose calls are steps that only wait, as [StepPolicy.Function].
const (
	sleepFunction = "durable.Sleep"
	untilFunction = "durable.SleepUntil"
	waitFunction  = "durable.Wait"
)

// A Pause is what a step waits for that calls no function.
type Pause string

// The pauses.
const (
	PauseSleep  Pause = "sleep"  // a time: see [Sleep] and [SleepUntil]
	PauseSignal Pause = "signal" // see [Wait]
)

// pauses are the pauses by the functions that are called.
var pauses = map[string]Pause{sleepFunction: PauseSleep, untilFunction: PauseSleep, waitFunction: PauseSignal}
