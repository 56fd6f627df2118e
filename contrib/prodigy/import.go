package prodigy

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A Step is the step of a run that continues a command.
type Step struct {
	Name  string        // name of the step; "" means the command's ID
	ID    genapi.StepID // distinguishes calls to the step: see [genapi.ID]
	Scope []string      // names of its scopes, starting with the outermost one: see durable.Scope
}

// A Report describes what an import has recorded and what it has left out.
type Report struct {
	Run   string
	Steps []Imported // the recorded steps in the order of the commands
	// Notes contains the notes of the checkpoint, and the facts in it that a run does not
	// record.
	Notes []Note
	// Conflicts describes contradictions between checkpoints, or with what was imported
	// before, and which value is used.
	Conflicts []Note

	Added, Changed, Unchanged int // numbers of steps that the import added, changed, and left unchanged
}

// An Imported is a command that has become a step.
type Imported struct {
	Command  string // ID of the command
	Step     string // name of the step
	Status   storage.Status
	Attempts int       // number of attempts made; the next attempt gets the next number
	NextAt   time.Time // time of the next attempt; zero means at once, or that there is none
}

// Import records the commands of a checkpoint as steps of a run. When durable.Engine.Run
// is called, the run continues these steps with their next attempts, after the rest of
// their waits. An overdue attempt is made at once, subject to the step's ResumeSpread. An
// exhausted command becomes a failed step, and an item in the dead letter queue becomes a
// dead letter. Both remain in this state until [admin.Client.Requeue] is called.
//
// A step's name is the command's ID unless the caller sets [Command.Step]. If the command
// has succeeded, the step's result is [Command.Result]. The limits of the policy in the
// code apply: compare it with [Checkpoint.Policy]. A circuit breaker is recorded in the
// store, for policies whose breaker has the name in [Command.Breaker].
// [Checkpoint.Breaker] returns a breaker to restore in a process.
//
// If a command's agent died during an attempt, the command becomes a step in doubt, and
// its policy decides what happens when the run is executed. The attempt is lost, and the
// next attempt has the next number.
//
// The checkpoints of several agents of a job may be merged first (see [Merge]), or
// imported one after another in any order. Unless the checkpoints contradict each other,
// the result is the same either way. Importing a checkpoint twice changes nothing. The
// error matches durable.ErrConflict if the run exists and was not imported, or if the
// import would change a run that has ended or is being executed.
func Import(
	ctx context.Context, e *admin.Client, run string, c *Checkpoint, by ...events.Operator,
) (Report, error) {
	r := Report{Run: run, Notes: c.Notes[:len(c.Notes):len(c.Notes)]}
	if len(c.workflows) > 1 {
		text := fmt.Sprintf("is merged with %d others: are they one job?", len(c.workflows)-1)
		r.conflict(c.File, "workflow", c.Workflow, strings.Replace(text, " 1 others", " 1 other", 1))
	}
	steps := make([]admin.ImportedStep, len(c.Commands))
	for i := range c.Commands {
		cmd := &c.Commands[i]
		steps[i] = cmd.imported()
		note := func(text string) { r.note(c.File, "command", cmd.ID, text) }
		if n := len(cmd.outputs); n > 1 {
			text := fmt.Sprintf("has succeeded with %d different outputs: %q counts", n, short(cmd.Output))
			r.conflict(c.File, "command", cmd.ID, text)
		}
		if n := len(cmd.correlations); n > 1 {
			r.conflict(c.File, "command", cmd.ID, fmt.Sprintf("has %d correlation ids: %q counts, not %q", n,
				short(cmd.Correlation), short(cmd.correlations[n-1])))
		}
		s := &steps[i]
		s.History = cmd.history(note, func(text string) { r.conflict(c.File, "command", cmd.ID, text) })
		r.Steps = append(r.Steps, Imported{
			Command: cmd.ID, Step: s.Name, Status: s.Status, Attempts: s.Attempts, NextAt: s.NextAt,
		})
		if cmd.Succeeded && cmd.Result == nil {
			note("has succeeded with a result that is not known: set Command.Result, or requeue it with admin.Repeat")
		}
	}
	done, err := e.Import(ctx, run, steps, by...)
	if err != nil {
		return Report{}, fmt.Errorf("%s: %w", c.File, err)
	}
	r.Added, r.Changed, r.Unchanged = done.Added, done.Changed, done.Unchanged
	for _, conflict := range done.Conflicts {
		r.conflict(c.File, "step", conflict.Step, conflict.Text)
	}
	return r, r.breakers(ctx, e, c, by)
}

// breakers records the circuit breakers of the checkpoint that the store does not
// have. The breakers of several commands are merged if they have one name.
func (r *Report) breakers(ctx context.Context, e *admin.Client, c *Checkpoint, by []events.Operator) error {
	named := decoder{c: Checkpoint{breakers: map[string]circuit{}}}
	for _, id := range slices.Sorted(maps.Keys(c.breakers)) {
		name := id
		if cmd := c.Command(id); cmd != nil {
			name = cmp.Or(cmd.Breaker, id)
		}
		named.addBreaker(name, c.breakers[id])
	}
	for _, name := range slices.Sorted(maps.Keys(named.c.breakers)) {
		added, err := e.ImportBreaker(ctx, name, named.c.breakers[name].snapshot, by...)
		switch {
		case err != nil:
			return fmt.Errorf("%s: circuit breaker %q: %w", c.File, short(name), err)
		case !added:
			r.note(c.File, "circuit breaker", name, "is in the store already: that one counts")
		}
	}
	return nil
}

func (r *Report) note(file, kind, id, text string) {
	r.Notes = append(r.Notes, newNote(file, kind, id, text))
}

func (r *Report) conflict(file, kind, id, text string) {
	r.Conflicts = append(r.Conflicts, newNote(file, kind, id, text))
}

func newNote(file, kind, id, text string) Note {
	return Note{File: file, Path: kind + " " + strconv.Quote(short(id)), Text: text}
}

// imported returns the step of a command, without its history.
func (c *Command) imported() admin.ImportedStep {
	s := admin.ImportedStep{
		Name: cmp.Or(c.Step.Name, c.ID), ID: c.Step.ID, Scope: c.Step.Scope,
		Status: storage.StatusOpen, State: c.state(), Attempts: c.Attempts, MaxAttempts: c.MaxAttempts,
		Correlation: c.Correlation,
	}
	switch {
	case c.Succeeded:
		s.Status, s.Result = storage.StatusSucceeded, c.Result
	case c.DeadLetter:
		s.Status, s.Reason = storage.StatusDead, retry.ErrAttempts
	case c.Exhausted():
		s.Status, s.Reason = storage.StatusFailed, retry.ErrAttempts
	case c.Lost:
		s.Status, s.Started = storage.StatusExecuting, c.LastAttempt
	case !c.NextAttempt.IsZero():
		s.Status, s.NextAt, s.Delay = storage.StatusWaiting, c.NextAttempt, c.Delay
	}
	return s
}

// state returns what the policy of the step decides from.
func (c *Command) state() retry.CallState {
	return retry.CallState{Attempts: c.failures(), Waited: c.Waited, FailedAt: c.failedAt, Expires: c.expires}
}

// failures returns the number of attempts that have failed.
func (c *Command) failures() int {
	if c.Succeeded {
		return max(c.ended()-1, 0)
	}
	return c.ended()
}

// clocks sets failedAt and expires as the configuration says.
func (c *Command) clocks(global *config) {
	c.expires = c.BudgetExpires
	if c.failures() == 0 {
		return
	}
	var budget time.Duration
	if configured := c.config(global); configured != nil {
		budget = configured.budget
	}
	switch failed := c.firstFailure(); {
	case !failed.IsZero():
		c.failedAt = failed
	case budget > 0 && !c.expires.IsZero():
		c.failedAt = c.expires.Add(-budget)
	default:
		c.failedAt = c.LastAttempt
	}
	if budget > 0 && c.expires.IsZero() && !c.failedAt.IsZero() {
		c.expires = c.failedAt.Add(budget)
	}
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
func (c *Command) history(note, conflict func(string)) []admin.AttemptInfo {
	var infos []admin.AttemptInfo
	for _, a := range c.History {
		switch last := len(infos) - 1; {
		case a.Number < 1:
			note("has an attempt without a number in its history: not imported")
		case last >= 0 && infos[last].Attempt == a.Number:
			conflict(fmt.Sprintf("has two records of attempt %d: one is imported", a.Number))
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
func (c *Command) info(a Attempt) admin.AttemptInfo {
	info := admin.AttemptInfo{
		Attempt: a.Number, Outcome: events.OutcomeFailed, Started: a.Started, Duration: a.Duration,
		Error: a.Error, Correlation: c.Correlation,
	}
	if a.Success {
		info.Outcome = events.OutcomeSucceeded
	}
	return info
}
