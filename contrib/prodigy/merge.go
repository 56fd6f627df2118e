package prodigy

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/retrygen/retrygen/runtime/breaker"
)

var errMerge = errors.New("prodigy: no checkpoint to merge")

// Merge combines the checkpoints of a job's agents. For a command that is in several
// checkpoints
//
//   - the number of attempts is the largest number in any checkpoint, never the sum, and
//     the limit is the smallest one;
//   - the latest next attempt, with its wait, and the earliest end of a budget apply;
//   - a success of one agent counts as a success;
//   - the last attempt is lost unless an agent has recorded its end.
//
// [Import] reports contradictions. It can also import the checkpoints one after another,
// with the same result.
//
// The order of the checkpoints does not matter. Merging a checkpoint twice changes
// nothing. Set [Command.Step] and [Command.Result] afterwards. Merge returns an error
// only if no checkpoint was given.
func Merge(checkpoints ...*Checkpoint) (*Checkpoint, error) {
	if len(checkpoints) == 0 {
		return nil, errMerge
	}
	sorted := slices.SortedFunc(slices.Values(checkpoints), newestFirst)
	newest := sorted[0]
	d := decoder{reader: &reader{}, commands: map[string]Command{}, c: Checkpoint{
		File: newest.File, Workflow: newest.Workflow, Name: newest.Name, Taken: newest.Taken,
		breakers: map[string]circuit{},
	}}
	for _, c := range sorted {
		if d.c.global == nil {
			d.c.global = c.global
		}
		for _, command := range c.Commands {
			command.Step = Step{}
			command.Result = output(command.Output)
			d.add(command)
		}
		for id, b := range c.breakers {
			d.addBreaker(id, b)
		}
		d.notes = append(d.notes, c.Notes...)
		d.c.workflows = union(d.c.workflows, c.workflows)
	}
	slices.SortStableFunc(d.notes, func(a, b Note) int { return strings.Compare(a.String(), b.String()) })
	d.notes = slices.Compact(d.notes)
	return d.checkpoint(), nil
}

func newestFirst(a, b *Checkpoint) int {
	return cmp.Or(b.Taken.Compare(a.Taken), cmp.Compare(a.File, b.File), cmp.Compare(a.Workflow, b.Workflow))
}

// join returns what two sources say about one command. It is commutative,
// associative and idempotent.
func join(a, b Command) Command {
	a.configured = newerConfig(a.configured, b.configured, a.Attempts, b.Attempts)
	a.backoff = newerConfig(a.backoff, b.backoff, a.Attempts, b.Attempts)
	a.Text, a.Output = max(a.Text, b.Text), max(a.Output, b.Output)
	a.Result = output(a.Output)
	a.outputs = union(a.outputs, b.outputs)
	a.correlations = union(a.correlations, b.correlations)
	ended := max(a.ended(), b.ended())
	a.Attempts = max(a.Attempts, b.Attempts)
	a.Lost = ended < a.Attempts
	a.MaxAttempts = leastLimit(a.MaxAttempts, b.MaxAttempts)
	a.Succeeded, a.DeadLetter = a.Succeeded || b.Succeeded, a.DeadLetter || b.DeadLetter
	switch c := a.NextAttempt.Compare(b.NextAttempt); {
	case c < 0:
		a.NextAttempt, a.Delay = b.NextAttempt, b.Delay
	case c == 0 && (a.Delay == 0 || b.Delay > 0 && b.Delay < a.Delay): // 0 is not known
		a.Delay = b.Delay
	}
	a.LastAttempt, a.Waited = later(a.LastAttempt, b.LastAttempt), max(a.Waited, b.Waited)
	a.BudgetExpires, a.expires = earlier(a.BudgetExpires, b.BudgetExpires), earlier(a.expires, b.expires)
	a.failedAt = earlier(a.failedAt, b.failedAt)
	if a.Correlation == "" || b.Correlation != "" && b.Correlation < a.Correlation {
		a.Correlation = b.Correlation
	}
	a.History = slices.Concat(a.History, b.History)
	sortHistory(a.History)
	a.History = slices.Compact(a.History)
	return a
}

// union returns the texts of two sorted lists.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// output returns the output of a command as a result, which is nil if it is not
// known.
func output(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func sortHistory(history []Attempt) {
	slices.SortFunc(history, func(a, b Attempt) int {
		success := 0
		if a.Success != b.Success {
			success = 1
			if b.Success {
				success = -1
			}
		}
		return cmp.Or(
			cmp.Compare(a.Number, b.Number), a.Started.Compare(b.Started), success,
			cmp.Compare(a.Duration, b.Duration), cmp.Compare(a.Error, b.Error), cmp.Compare(a.Waited, b.Waited),
		)
	})
}

// newerConfig returns the configuration of the source that has seen more
// attempts.
func newerConfig(a, b *config, attemptsOfA, attemptsOfB int) *config {
	switch {
	case a == nil:
		return b
	case b == nil || cmp.Or(cmp.Compare(attemptsOfA, attemptsOfB), cmp.Compare(a.source, b.source)) >= 0:
		return a
	}
	return b
}

// leastLimit returns the lesser of two limits, of which 0 is none.
func leastLimit(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// severity orders the states of breakers.
var severity = map[breaker.State]int{breaker.Closed: 0, breaker.HalfOpen: 1, breaker.Open: 2}

// addBreaker adds what one source says about a breaker to what others say: it is
// open if it is open for one of them.
func (d *decoder) addBreaker(id string, b circuit) {
	known, ok := d.c.breakers[id]
	if !ok {
		d.c.breakers[id] = b
		return
	}
	known.policy.Failures = min(known.policy.Failures, b.policy.Failures)
	known.policy.OpenFor = max(known.policy.OpenFor, b.policy.OpenFor)
	known.policy.HalfOpenCalls = min(known.policy.HalfOpenCalls, b.policy.HalfOpenCalls)
	known.policy.Successes = max(known.policy.Successes, b.policy.Successes)
	if severity[b.snapshot.State] > severity[known.snapshot.State] {
		known.snapshot.State = b.snapshot.State
	}
	known.snapshot.Failures = max(known.snapshot.Failures, b.snapshot.Failures)
	known.snapshot.OpenUntil = later(known.snapshot.OpenUntil, b.snapshot.OpenUntil)
	d.c.breakers[id] = known
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// earlier returns the earlier of two times, of which a zero one is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
