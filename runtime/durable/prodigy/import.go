package prodigy

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
)

// A Step is the step of a run that continues a command.
type Step struct {
	Name  string         // of the step; "" is the id of the command
	ID    durable.StepID // that tells the calls of the step apart: see [durable.ID]
	Scope []string       // the names of its scopes, the outermost first: see [durable.Scope]
}

// A Report is what an import has recorded, and what it has not.
type Report struct {
	Run   string
	Steps []Imported // in the order of the commands
	// Notes are those of the checkpoint, and what it says that a run does not
	// record.
	Notes []Note
}

// An Imported is a command that has become a step.
type Imported struct {
	Command  string // its id
	Step     string // the name of the step
	Status   durable.Status
	Attempts int       // that were made; the next one has the next number
	NextAt   time.Time // of the next attempt, or zero: at once, or none
}

// Import records the commands of a checkpoint as steps of a run, which continues
// them when [durable.Engine.Run] is called: with the next attempt, after what is
// left of its wait. An attempt that is overdue is made at once, as the spread of
// the step allows. An exhausted command is a failed step, an item in the dead
// letter queue a dead letter: both stay so until [durable.Engine.Requeue].
//
// A step has the name of its command unless the caller sets [Command.Step], and
// if the command has succeeded, the result in [Command.Result]. The limits are
// those of the policy in the code: compare it with [Checkpoint.Policy]. Breakers
// belong to processes: see [Checkpoint.Breaker].
//
// Importing a checkpoint twice changes nothing. The error matches
// [durable.ErrConflict] if the run exists and was not only imported.
func Import(ctx context.Context, e *durable.Engine, run string, c *Checkpoint) (Report, error) {
	r := Report{Run: run, Notes: c.Notes[:len(c.Notes):len(c.Notes)]}
	steps := make([]durable.ImportedStep, len(c.Commands))
	for i := range c.Commands {
		cmd := &c.Commands[i]
		steps[i] = cmd.imported(c.global)
		note := func(text string) { r.note(c.File, "command", cmd.ID, text) }
		s := &steps[i]
		s.History = cmd.history(note)
		r.Steps = append(r.Steps, Imported{
			Command: cmd.ID, Step: s.Name, Status: s.Status, Attempts: s.Attempts, NextAt: s.NextAt,
		})
		if cmd.Succeeded && cmd.Result == nil {
			note("has succeeded with a result that is not known: set Command.Result, or requeue it with durable.Repeat")
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.breakers)) {
		r.note(c.File, "circuit breaker", id, "is not recorded with a run: restore it with Checkpoint.Breaker")
	}
	if err := e.Import(ctx, run, steps); err != nil {
		return Report{}, fmt.Errorf("%s: %w", c.File, err)
	}
	return r, nil
}

func (r *Report) note(file, kind, id, text string) {
	r.Notes = append(r.Notes, Note{File: file, Path: kind + " " + strconv.Quote(short(id)), Text: text})
}

// imported returns the step of a command, without its history.
func (c *Command) imported(global *config) durable.ImportedStep {
	s := durable.ImportedStep{
		Name: cmp.Or(c.Step.Name, c.ID), ID: c.Step.ID, Scope: c.Step.Scope,
		Status: durable.StatusOpen, State: c.state(global), Attempts: c.Attempts, Correlation: c.Correlation,
	}
	switch {
	case c.Succeeded:
		s.Status, s.Result = durable.StatusSucceeded, c.Result
	case c.DeadLetter:
		s.Status, s.Reason = durable.StatusDead, retry.ErrAttempts
	case c.Exhausted():
		s.Status, s.Reason = durable.StatusFailed, retry.ErrAttempts
	case !c.NextAttempt.IsZero():
		s.Status, s.NextAt, s.Delay = durable.StatusWaiting, c.NextAttempt, c.Delay
	}
	return s
}

// state returns what the policy of the step decides from.
func (c *Command) state(global *config) retry.CallState {
	s := retry.CallState{Attempts: c.Attempts, Waited: c.Waited, Previous: c.Delay, Expires: c.BudgetExpires}
	if c.Succeeded {
		s.Attempts = max(s.Attempts-1, 0)
	} else if !c.NextAttempt.IsZero() {
		s.Waited += min(c.Delay, 1<<63-1-s.Waited)
	}
	if s.Attempts == 0 {
		return s
	}
	var budget time.Duration
	if configured := c.config(global); configured != nil {
		budget = configured.budget
	}
	switch failed := c.firstFailure(); {
	case !failed.IsZero():
		s.FailedAt = failed
	case budget > 0 && !s.Expires.IsZero():
		s.FailedAt = s.Expires.Add(-budget)
	default:
		s.FailedAt = c.LastAttempt
	}
	if budget > 0 && s.Expires.IsZero() && !s.FailedAt.IsZero() {
		s.Expires = s.FailedAt.Add(budget)
	}
	return s
}

// firstFailure returns when the first failed attempt ended, or zero.
func (c *Command) firstFailure() time.Time {
	for _, a := range c.History {
		if !a.Success && !a.Started.IsZero() {
			return a.Started.Add(a.Duration)
		}
	}
	return time.Time{}
}

// history returns the attempts of a command as those of a step: a number each,
// and each with the wait after it.
func (c *Command) history(note func(string)) []durable.AttemptInfo {
	var infos []durable.AttemptInfo
	for _, a := range c.History {
		switch last := len(infos) - 1; {
		case a.Number < 1:
			note("has an attempt without a number in its history: not imported")
		case last >= 0 && infos[last].Attempt == a.Number:
			note(fmt.Sprintf("has two records of attempt %d: one is imported", a.Number))
			if a.Success {
				infos[last] = c.info(a)
			}
		default:
			if last >= 0 {
				infos[last].Wait = a.Waited
			}
			infos = append(infos, c.info(a))
		}
	}
	switch last := len(infos) - 1; {
	case last < 0:
	case c.Exhausted():
		infos[last].Reason = retry.ErrAttempts
	case !c.Succeeded:
		infos[last].Wait = c.Delay
	}
	return infos
}

// info returns an attempt without the wait after it.
func (c *Command) info(a Attempt) durable.AttemptInfo {
	info := durable.AttemptInfo{
		Attempt: a.Number, Outcome: durable.OutcomeFailed, Started: a.Started, Duration: a.Duration,
		Error: a.Error, Correlation: c.Correlation,
	}
	if a.Success {
		info.Outcome = durable.OutcomeSucceeded
	}
	return info
}
