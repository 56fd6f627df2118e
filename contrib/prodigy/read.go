package prodigy

import (
	"fmt"
	"io"
	"maps"
	"slices"
)

// MaxSize is the maximum size of a checkpoint, in bytes.
const MaxSize = 64 << 20

// maxVersion is the version of checkpoints that this package knows.
const maxVersion = 1

// Read reads a checkpoint. path is its name in messages and in the result. The error is
// an [*Error] if the text is not a checkpoint, or if this package cannot read the
// checkpoint without losing a part of its retry state, because the checkpoint is corrupt,
// comes from a newer version, or uses an unknown strategy.
func Read(r io.Reader, path string) (*Checkpoint, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(text) > MaxSize {
		return nil, &Error{File: path, Text: fmt.Sprintf("is longer than %d MiB: it is not a checkpoint", MaxSize>>20)}
	}
	root, problem := parse(path, text)
	if problem != nil {
		return nil, problem
	}
	d := decoder{reader: &reader{file: path, text: text}, commands: map[string]Command{}}
	d.c = Checkpoint{File: path, breakers: map[string]circuit{}}
	d.document(root)
	if d.err != nil {
		return nil, d.err
	}
	for id, c := range d.commands {
		c.clocks(d.c.global)
		if c.Output != "" {
			c.outputs = []string{c.Output}
		}
		d.commands[id] = c
	}
	if d.c.Workflow != "" {
		d.c.workflows = []string{d.c.Workflow}
	}
	return d.checkpoint(), nil
}

// A decoder reads a document into a checkpoint.
type decoder struct {
	*reader
	c        Checkpoint
	commands map[string]Command
	broken   []*node // the flags of commands whose breaker is open
}

// checkpoint returns what was read.
func (d *decoder) checkpoint() *Checkpoint {
	for _, id := range slices.Sorted(maps.Keys(d.commands)) {
		d.c.Commands = append(d.c.Commands, d.commands[id])
	}
	d.c.Notes = d.notes
	return &d.c
}

// add adds what one part of the document says about a command to what other
// parts say.
func (d *decoder) add(c Command) {
	if known, ok := d.commands[c.ID]; ok {
		c = join(known, c)
	}
	d.commands[c.ID] = c
}

const noRetryState = "is not retry state: not imported"

// document distinguishes the forms.
func (d *decoder) document(root *node) {
	has := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(key string) bool { return root.find(key) != nil })
	}
	switch {
	case has("command_retry_states"):
		d.retryState(root)
	case has("job_id") && has("item_retry_counts", "failed_agents", "agent_results"):
		d.job(root)
	case has("item_id") && has("failure_count"):
		d.deadLetter(root)
	case has("workflow_id", "retry_checkpoint_state", "completed_steps"):
		d.workflow(root)
	case root.kind == '[' && len(root.members) > 0:
		for _, n := range root.members {
			d.deadLetter(n)
		}
	default:
		d.fail(root, "is not a checkpoint of Prodigy: want the file of a workflow, of the state of a job, or of its "+
			"dead letters")
	}
}

// checkVersion refuses the formats of newer versions of Prodigy.
func (d *decoder) checkVersion(n *node) {
	if version := d.count(n); version > maxVersion {
		d.fail(n, "is %d: versions up to %d are known; update this package", version, maxVersion)
	}
}

// workflow reads a WorkflowCheckpoint.
func (d *decoder) workflow(root *node) {
	o := d.object(root)
	d.checkVersion(o.get("version"))
	d.c.Workflow = d.string(o.get("workflow_id"))
	d.c.Name = d.string(o.get("workflow_name"))
	d.c.Taken = d.time(o.get("timestamp"))
	if n := o.get("retry_checkpoint_state"); n != nil {
		d.retryState(n)
	}
	for _, n := range d.list(o.get("completed_steps")) {
		d.step(n)
	}
	// These describe the workflow, and when it was executed.
	o.get("execution_state", "workflow_hash", "workflow_path", "total_steps")
	o.rest(noRetryState)
}

// step reads a CompletedStep, whose retry state is that of older versions.
func (d *decoder) step(n *node) {
	o := d.object(n)
	c := Command{
		ID: fmt.Sprintf("step-%d", d.count(o.need("step_index"))), Text: d.string(o.get("command")),
		Succeeded: d.succeeded(o),
	}
	if text := d.string(o.get("output")); c.Succeeded {
		c.Output, c.Result = text, output(text)
	}
	last := Attempt{Success: c.Succeeded, Duration: d.duration(o.get("duration"))}
	if completed := d.time(o.get("completed_at")); !completed.IsZero() {
		last.Started = completed.Add(-last.Duration)
		c.LastAttempt = last.Started
	}
	state := o.get("retry_state")
	if state != nil {
		d.stepState(state, &c, last)
	} else if d.commands[c.ID].Attempts == 0 {
		last.Number = 1
		c.Attempts, c.History = 1, []Attempt{last}
	}
	o.get("captured_variables") // of the workflow, as its outputs
	o.rest(unknownKey)
	d.add(c)
}

// succeeded reads the outcome of a step, in both of its spellings.
func (d *decoder) succeeded(o object) bool {
	if status := o.get("status"); status != nil {
		return lowerCase(d.string(status)) == "success"
	}
	return d.flag(o.need("success"))
}

// stepState reads the RetryState of a step.
func (d *decoder) stepState(n *node, c *Command, last Attempt) {
	o := d.object(n)
	c.Attempts = d.count(o.need("current_attempt"))
	c.MaxAttempts = max(d.count(o.need("max_attempts")), 1)
	for i, text := range d.list(o.get("failure_history")) {
		c.History = append(c.History, Attempt{Number: i + 1, Error: d.string(text)})
	}
	if c.Attempts < len(c.History) {
		d.note(n, "counts %d of its %d failures: all of them are counted", c.Attempts, len(c.History))
		c.Attempts = len(c.History)
	}
	switch {
	case c.Succeeded:
		c.Attempts = max(c.Attempts, len(c.History)+1)
		last.Number = c.Attempts
		c.History = append(c.History, last)
	case len(c.History) < c.Attempts:
		d.note(n, "counts %d attempts and has %d failures: the others are counted as failed", c.Attempts, len(c.History))
	}
	d.flag(o.get("in_retry_loop")) // as the counts say
	o.rest(unknownKey)
}
