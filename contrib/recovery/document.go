package recovery

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// StatusTimeout is the Status of each receipt.
const StatusTimeout = "timeout"

// A Receipt contains the state captured at one timeout.
type Receipt struct {
	Status string `json:"status"` // StatusTimeout; empty for an event without a receipt
	Event
}

// An Event describes a timeout and the state of the interrupted work.
type Event struct {
	Timeout   TimeoutEvent   `json:"timeout_event"`
	State     LastKnownState `json:"last_known_state"`
	Artifacts []Artifact     `json:"partial_artifacts"`
	Context   ResumeContext  `json:"context_for_resume"`
}

// A TimeoutEvent describes the time limit that has passed.
type TimeoutEvent struct {
	Timestamp Timestamp `json:"timestamp"`
	Scope     string    `json:"scope"`      // scope as in the policy file, for example step, flow, llm_call or tool
	TimeoutMS int64     `json:"timeout_ms"` // the limit, in milliseconds
	ElapsedMS int64     `json:"elapsed_ms"` // duration of the attempt or the call, in milliseconds
}

// A LastKnownState describes the step that was interrupted.
type LastKnownState struct {
	StepID   string `json:"step_id"`
	AgentKey string `json:"agent_key"`
	Phase    Phase  `json:"phase"`
	Progress string `json:"progress_indicator,omitempty"`
}

// A Phase is a part of a step.
type Phase string

// The phases of a step.
const (
	PhaseWork     Phase = "work"
	PhaseFinalize Phase = "finalize"
	PhaseRoute    Phase = "route"
)

// An Artifact is a file that the step has begun to write.
type Artifact struct {
	Path         string `json:"path"`
	Complete     bool   `json:"complete"`
	BytesWritten int64  `json:"bytes_written"`
}

// A ResumeContext contains the information that a later run needs in order to continue.
type ResumeContext struct {
	// Checkpoint is the last step that has succeeded, or "" if none has.
	Checkpoint string `json:"last_successful_checkpoint"`
	// Changes lists the paths of files with uncommitted changes. Nil, which is null in
	// JSON, means that the changes are unknown. Either the process ended before it could
	// list the changes, or listing them failed.
	Changes    []string `json:"uncommitted_changes"`
	Transcript string   `json:"transcript_path"` // path of the transcript, or ""
}

// A Row is one line of timeouts.jsonl.
type Row struct {
	Timestamp Timestamp `json:"timestamp"`
	RunID     string    `json:"run_id"`
	FlowKey   string    `json:"flow_key"`
	StepID    string    `json:"step_id"`
	Scope     string    `json:"scope"`
	TimeoutMS int64     `json:"timeout_ms"`
	ElapsedMS int64     `json:"elapsed_ms"`
	Retries   int       `json:"retry_count"`   // retries made before the timeout
	Action    Action    `json:"final_action"`  // decision of the policy
	Path      string    `json:"recovery_path"` // path of the receipt, see [Locate]; "" if it was not written
}

// An Action is what a policy decided after a timeout.
type Action string

// The actions.
const (
	ActionRetry    Action = "retry"    // another attempt follows
	ActionFail     Action = "fail"     // the call fails
	ActionEscalate Action = "escalate" // the call fails, and a person has to deal with it
)

// A Timestamp is a time that is written as RFC 3339 in UTC. The malformed suffix
// "+00:00Z", which other programs write after a time in UTC, is also accepted.
type Timestamp struct{ time.Time }

// MarshalJSON implements [json.Marshaler].
func (t Timestamp) MarshalJSON() ([]byte, error) { return t.UTC().MarshalJSON() }

// UnmarshalJSON implements [json.Unmarshaler].
func (t *Timestamp) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	if utc, malformed := strings.CutSuffix(text, "+00:00Z"); malformed {
		text = utc + "Z"
	}
	var err error
	if t.Time, err = time.Parse(time.RFC3339, text); err != nil {
		return err
	}
	if year := t.UTC().Year(); year < 0 || year > 9999 {
		return fmt.Errorf("the time %s has the year %d in UTC", text, year)
	}
	return nil
}

// Errors for documents that cannot be read.
var (
	ErrVersion = errors.New("the document has a newer version than this package can read: use a newer release of it")
	ErrFormat  = errors.New("the document is not what a timeout has written")
)

// version is the newest version of the documents that this package reads. It is
// that of documents without a version, which are those that it writes.
const version = 1

// decode decodes a document. Unknown fields are ignored: other writers add some.
func decode(data []byte, to any) error {
	var head struct{ Version *int }
	if err := json.Unmarshal(data, &head); err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if head.Version != nil && *head.Version > version {
		return fmt.Errorf("version %d: %w", *head.Version, ErrVersion)
	}
	if err := json.Unmarshal(data, to); err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return nil
}

// parseReceipt decodes a receipt, or an event without a receipt.
func parseReceipt(data []byte) (*Receipt, error) {
	r := new(Receipt)
	if err := decode(data, r); err != nil {
		return nil, err
	}
	switch {
	case r.Status != StatusTimeout && r.Status != "":
		return nil, fmt.Errorf("%w: its status is %q, not %q", ErrFormat, r.Status, StatusTimeout)
	case r.Timeout.Timestamp.IsZero():
		return nil, fmt.Errorf("%w: it has no timeout_event.timestamp", ErrFormat)
	case r.State.StepID == "":
		return nil, fmt.Errorf("%w: it has no last_known_state.step_id", ErrFormat)
	}
	return r, nil
}

// parseRow decodes a line of timeouts.jsonl.
func parseRow(line []byte) (Row, error) {
	var r Row
	if err := decode(line, &r); err != nil {
		return Row{}, err
	}
	if r.Timestamp.IsZero() || r.StepID == "" {
		return Row{}, fmt.Errorf("%w: it has no timestamp or no step_id", ErrFormat)
	}
	return r, nil
}
