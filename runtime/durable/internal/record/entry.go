package record

import (
	"encoding/json"
	"strings"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// Entry is the body of an entry in the history of a step.
type Entry struct {
	Outcome     events.Outcome `json:"outcome"`
	Started     time.Time      `json:"started,omitzero"`
	Duration    time.Duration  `json:"duration,omitempty"`
	Class       retry.Class    `json:"class,omitempty"`
	Error       string         `json:"error,omitempty"`
	Wait        time.Duration  `json:"wait,omitempty"` // the wait before the next attempt
	Reason      retry.Reason   `json:"reason,omitempty"`
	Owner       string         `json:"owner,omitempty"`
	Fence       uint64         `json:"fence,omitempty"`
	Correlation string         `json:"correlation,omitempty"`
	// Timeouts contains the rows of the timeouts that were captured during the attempt.
	Timeouts []json.RawMessage `json:"timeouts,omitempty"`
	// Refused marks an end that came after another engine had claimed the run. It is only
	// evidence.
	Refused bool            `json:"refused,omitempty"`
	By      events.Operator `json:"by,omitzero"`
}

// ResultPart is the Part of the entry that holds a large result, in addition to the entry of
// its attempt. The parts of refused ends follow it.
const ResultPart = 1

// NewEntry returns an entry in the history of a step whose bucket is known.
func NewEntry(step storage.Record, now time.Time, attempt, part int, body Entry) storage.Entry {
	data, _ := json.Marshal(body) // strings and numbers only, so there is no error
	return storage.Entry{Step: step.Key, Attempt: attempt, Part: part, At: now, Bucket: step.Bucket, Body: data}
}

// KeepResult records a result in the body of a step. If the result is large, the returned
// entry holds it.
func (s *Step) KeepResult(step storage.Record, now time.Time, result Payload) []storage.Entry {
	s.Result = &result
	data := result.Data()
	if len(data) <= maxInline {
		return nil
	}
	s.Result = &Payload{Entry: s.Attempts}
	return []storage.Entry{{
		Step: step.Key, Attempt: s.Attempts, Part: ResultPart, At: now, Bucket: step.Bucket,
		Body: json.RawMessage("{}"), Result: data,
	}}
}

// JSONLines returns rows as the lines of a file.
func JSONLines(rows []json.RawMessage) string {
	var b strings.Builder
	for _, row := range rows {
		b.Write(row)
		b.WriteByte('\n')
	}
	return b.String()
}

// The functions whose calls are steps that only wait, as in genapi.StepPolicy.Function.
const (
	SleepFunction = "durable.Sleep"
	UntilFunction = "durable.SleepUntil"
	WaitFunction  = "durable.Wait"
)

// SettingsAt returns the settings at an index, or "" if they are unknown.
func SettingsAt(list []retry.Settings, at int) retry.Settings {
	if at < len(list) && list[at].Known() {
		return list[at]
	}
	return ""
}

// ErrNoSignal is the reason why a wait for a signal has ended when its timeout has passed.
const ErrNoSignal retry.Reason = "no signal before the timeout"
