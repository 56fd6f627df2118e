package record

import (
	"cmp"
	"fmt"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A Job is the only step of a run, in place of a record of its own. It is in the body of the
// run, and represents attempt 1 of the step, in one of two states:
//
//   - The run has Fence 1 or more and has not succeeded. The attempt has started, with the
//     claim that gave the run Fence 1.
//   - The run has succeeded. The attempt has succeeded, too, with the result of the run.
//
// In all other cases the step has a record, and the run has no Job. Until they end, all runs of
// a handler have the same bytes of the Job, so that a store can write them without decoding
// anything.
type Job struct {
	Step string `json:"step,omitempty"` // the id of the step; "": it depends on the input
	// Owner has made the attempt, which began at Started. They are set before the run may get
	// another owner. Until then, they are the Owner and Claimed of the run.
	Owner   string        `json:"owner,omitempty"`
	Started time.Time     `json:"started,omitzero"`
	Took    time.Duration `json:"took,omitempty"` // the duration of an attempt that has succeeded

	// The following fields do not change between the claim and the end of the run. The last
	// bytes of the body therefore do not change either, and a store may write only the bytes
	// that differ.
	Name     string `json:"name"`
	Function string `json:"function,omitempty"`
	Policy   string `json:"policy"` // the name of the policy
}

// JobToken is the token of attempt 1 of a step that is a Job.
const JobToken = "job"

// StepID returns the id of the step. If the id is unknown, it returns the name of the step.
func (j *Job) StepID() string { return cmp.Or(j.Step, Escape(j.Name)) }

// WrongJob describes what is wrong with the Job of a run, or returns "".
func WrongJob(r storage.Record, b *Run) string {
	switch {
	case b.Job == nil:
	case r.Fence == 0:
		return "an attempt of its step has started with its claim, but it was never claimed"
	case r.Status == storage.StatusFailed, r.Status == storage.StatusParked, r.Status == storage.StatusExpired:
		return fmt.Sprintf("it is %v, and its step should have a record", r.Status)
	}
	return ""
}

// StandsFor reports whether a step is the Job of a run. The step then has no record.
func StandsFor(run storage.Record, step storage.Key) bool {
	b, err := Decode[Run](run)
	return err == nil && b.Job != nil && b.Job.StepID() == step.ID
}

// LeaveJob records who has made the attempt of a Job, before the run gets another owner.
func (b *Run) LeaveJob(r *storage.Record) {
	if b.Job != nil && b.Job.Owner == "" {
		j := *b.Job
		j.Owner, j.Started = r.Owner, b.Claimed
		b.Job = &j
	}
}

// Unfold removes the Job of a run. It sets the fields of the step's record as if the step had
// always had one. It returns the body of that record and, if the attempt has ended, the entry
// of its end in the history. The caller must write both records.
func (b *Run) Unfold(run, step *storage.Record) (body Step, history []storage.Entry) {
	b.LeaveJob(run)
	j := b.Job
	b.Job = nil
	step.Status, step.Fence, step.Bucket = storage.StatusExecuting, 1, run.Bucket
	body = Step{
		Name: j.Name, Function: j.Function, Policy: j.Policy, Attempts: 1, First: j.Started,
		Open: &OpenAttempt{Token: JobToken, Fence: 1, Owner: j.Owner, Started: j.Started},
	}
	if run.Status != storage.StatusSucceeded {
		return body, nil
	}
	step.Status, body.Open, body.Last, body.Ended = storage.StatusSucceeded, nil, JobToken, b.Ended
	entry := NewEntry(*step, b.Ended, 1, 0, Entry{
		Outcome: events.OutcomeSucceeded, Started: j.Started, Duration: j.Took, Owner: j.Owner, Fence: 1,
	})
	if b.Result == nil {
		return body, []storage.Entry{entry}
	}
	return body, append(body.KeepResult(*step, b.Ended, *b.Result), entry)
}
