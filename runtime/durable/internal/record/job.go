package record

import (
	"cmp"
	"fmt"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A Job is the step that a run is, as long as the step has no record of its own. It is in
// the body of the run, and stands for attempt 1 of the step, in two states:
//
//   - The run has Fence 1 or more and has not succeeded: the attempt has started, with the
//     claim that gave the run Fence 1.
//   - The run has succeeded: so has the attempt, with the result of the run.
//
// In all other cases the step has a record, and the run has no Job. The bytes of a Job
// are the same for all runs of a handler until they end, so that a store can write them
// without decoding anything.
type Job struct {
	Step string `json:"step,omitempty"` // its id; "": it depends on the input
	// Owner has made the attempt, which began at Started. They are set when the run may
	// get another owner: before, they are the Owner and the Claimed of the run.
	Owner   string        `json:"owner,omitempty"`
	Started time.Time     `json:"started,omitzero"`
	Took    time.Duration `json:"took,omitempty"` // of an attempt that has succeeded

	// What follows is the same from the claim to the end, and so are the last bytes of the
	// body: a store may write only what differs.
	Name     string `json:"name"`
	Function string `json:"function,omitempty"`
	Policy   string `json:"policy"` // its name
}

// JobToken is the token of attempt 1 of a step that its run stands for.
const JobToken = "job"

// StepID returns the id of the step, or its name while the id is not known.
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

// StandsFor reports whether a run stands for a step, which has no record then.
func StandsFor(run storage.Record, step storage.Key) bool {
	b, err := Decode[Run](run)
	return err == nil && b.Job != nil && b.Job.StepID() == step.ID
}

// LeaveJob notes who has made the attempt that a run stands for, before the run gets
// another owner.
func (b *Run) LeaveJob(r *storage.Record) {
	if b.Job != nil && b.Job.Owner == "" {
		j := *b.Job
		j.Owner, j.Started = r.Owner, b.Claimed
		b.Job = &j
	}
}

// Unfold removes the Job of a run. It makes the record of the step what it would be if it
// had always had one, and returns its body and the end of the attempt in its history, if
// that has ended. Both records are then to be written.
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
