package recovery

import (
	"fmt"
	"slices"
)

// An Option is something that a run can do with an interrupted step.
type Option string

// The options.
const (
	RetryStep       Option = "retry_step"        // execute the step again on top of its uncommitted changes
	DiscardAndRetry Option = "discard_and_retry" // discard the uncommitted changes and execute the step again
	Escalate        Option = "escalate"          // leave the changes to a person
)

// A Resumption describes how a run may continue after a timeout. It contains either
// Options, from which a person or a program chooses, or only the point from which to
// resume.
type Resumption struct {
	Options        []Option `json:"options,omitempty"`
	Recommendation Option   `json:"recommendation,omitempty"`
	Reason         string   `json:"reason,omitempty"`
	// ResumeFrom is the last step that has succeeded. The run continues with the step
	// after it. If there are no options and ResumeFrom is empty, the run starts with its
	// first step.
	ResumeFrom string `json:"resume_from,omitempty"`
}

// Resume describes how a run may continue after a timeout. If it is unknown whether there
// are uncommitted changes, Resume assumes that there are.
func Resume(e Event) Resumption {
	switch {
	case e.Context.Changes == nil:
		return choice("Partial work may exist: the uncommitted changes are not known")
	case len(e.Context.Changes) > 0:
		return choice("Partial work exists that may be salvageable")
	}
	return Resumption{ResumeFrom: e.Context.Checkpoint}
}

func choice(reason string) Resumption {
	return Resumption{
		Options: []Option{RetryStep, DiscardAndRetry, Escalate}, Recommendation: RetryStep, Reason: reason,
	}
}

// StepsAfter returns the steps after a checkpoint, in order. A run that resumes executes
// these steps. An empty checkpoint means that no step has succeeded yet.
func StepsAfter(steps []string, checkpoint string) ([]string, error) {
	if checkpoint == "" {
		return steps, nil
	}
	i := slices.Index(steps, checkpoint)
	if i < 0 {
		return nil, fmt.Errorf("the checkpoint %q is not a step of this flow: start the run again, or restore the step",
			checkpoint)
	}
	return steps[i+1:], nil
}
