package prodigy

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
)

// A Checkpoint is the retry state in a Prodigy checkpoint.
type Checkpoint struct {
	File     string    // name of the file, as given to Read
	Workflow string    // id of the workflow, or ""
	Name     string    // name of the workflow, or ""
	Taken    time.Time // when the checkpoint was written, or zero
	Commands []Command // the commands in the order of their ids
	Notes    []Note    // what was interpreted differently from what the file says, and what was not read

	global    *config // or nil
	breakers  map[string]circuit
	workflows []string // the ids in the checkpoints that were merged, sorted
}

// A Command is a command of a workflow, a step of an older checkpoint, or an item
// of a job, with the attempts that Prodigy has made.
type Command struct {
	// ID is the key of the command in command_retry_states. Steps that are known only by
	// their positions have the IDs step-0, step-1 and so on.
	ID string
	// Text describes what a step executes, as in "shell: make test". It may be "".
	Text string

	Attempts    int // number of attempts made
	MaxAttempts int // Prodigy's limit on attempts, including the first one; 0 if unknown
	Succeeded   bool
	DeadLetter  bool // whether Prodigy has moved the item to its dead letter queue
	// Lost reports whether the last attempt began, but its end was not recorded because
	// its agent died.
	Lost   bool   `json:",omitempty"`
	Output string // output of a successful step, or ""

	LastAttempt   time.Time     // time of the last attempt, or zero
	NextAttempt   time.Time     // zero means at once; a time in the past means that the attempt is overdue
	Delay         time.Duration // wait before the next attempt, as Prodigy computed it
	Waited        time.Duration // sum of the waits before the attempts made
	BudgetExpires time.Time     // the time after which no retry is made, or zero

	Correlation string // correlation id, or ""
	History     []Attempt

	// Step is the step that continues the command, for [Import].
	Step Step
	// Breaker is the name of the breaker in the step's policy. This breaker continues the
	// command's circuit breaker. If Breaker is "", the name is the command's ID.
	Breaker string `json:",omitempty"`
	// Result is the step's result if the command has succeeded. It has the type that the
	// step returns, or is struct{}{} if the step returns only an error. Read sets it to
	// the command's output, or to nil if the output is unknown.
	Result any

	configured *config // of the command, or nil
	backoff    *config // what its backoff state says, or nil

	// These depend on the configuration that was in force for the agent.
	failedAt time.Time // end of the first failure, or zero
	expires  time.Time // no retry after it, or zero
	outputs  []string  // the different ones, sorted

	correlations []string // the different ids, sorted
}

// An Attempt is an attempt recorded by Prodigy.
type Attempt struct {
	Number   int       // number of the attempt, starting at 1
	Started  time.Time // start of the attempt; zero in older checkpoints
	Duration time.Duration
	Success  bool
	Error    string // includes the command's exit code, if known
	Waited   time.Duration
}

// Exhausted reports whether the command has failed and has no attempts left. A command
// with more attempts than its limit is exhausted, and so is a dead letter. A lost attempt
// does not count.
func (c *Command) Exhausted() bool {
	return !c.Succeeded && (c.DeadLetter || c.MaxAttempts > 0 && c.ended() >= c.MaxAttempts)
}

// ended returns the number of the last attempt whose end is known.
func (c *Command) ended() int {
	if c.Lost {
		return c.Attempts - 1
	}
	return c.Attempts
}

// Command returns the command with an id, or nil if there is none.
func (c *Checkpoint) Command(id string) *Command {
	i, ok := slices.BinarySearchFunc(c.Commands, id, func(c Command, id string) int { return cmp.Compare(c.ID, id) })
	if !ok {
		return nil
	}
	return &c.Commands[i]
}

// Policy converts Prodigy's configuration for a command, or for all commands, to a policy
// with the same strategy, delays, limits, jitter, delay budget and error classes. If
// there is no configuration, or if a policy cannot express it, the error is an [*Error].
//
// The jitter is the range that Prodigy documents, which is the delay ± factor × delay.
// Prodigy's code uses only half of this range.
func (c *Checkpoint) Policy(command string) (*retry.Policy, error) {
	found, attempts := c.global, 0
	if cmd := c.Command(command); cmd != nil {
		found, attempts = cmd.config(c.global), cmd.MaxAttempts
	}
	switch {
	case found == nil:
		return nil, &Error{File: c.File, Text: fmt.Sprintf(
			"has no retry configuration of command %q: write a policy for it", short(command))}
	case found.unmapped != nil:
		return nil, found.unmapped
	}
	return found.policy(command, attempts), nil
}

// config returns the configuration of a command: its own, or that of all
// commands with the delays of its backoff state.
func (c *Command) config(global *config) *config {
	switch {
	case c.configured != nil:
		return c.configured
	case c.backoff == nil || global == nil:
		return cmp.Or(c.backoff, global)
	}
	both := *global
	both.schedule = c.backoff.schedule
	both.unmapped = cmp.Or(c.backoff.unmapped, global.unmapped)
	return &both
}

// A circuit is a circuit breaker of Prodigy.
type circuit struct {
	policy   breaker.Policy
	snapshot breaker.Snapshot
}

// Breaker returns a command's circuit breaker, for [breaker.New] and
// [breaker.Breaker.Restore], and reports whether the checkpoint contains one.
func (c *Checkpoint) Breaker(command string) (breaker.Policy, breaker.Snapshot, bool) {
	b, ok := c.breakers[command]
	return b.policy, b.snapshot, ok
}
