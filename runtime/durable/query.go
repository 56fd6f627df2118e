package durable

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// A RunInfo describes a run.
type RunInfo struct {
	ID         string
	Status     Status
	Owner      string // the engine that executes it, or ""
	Fence      uint64 // the number of claims so far
	Version    int
	Parent     string // the run within which it was called, or ""
	Created    time.Time
	Claimed    time.Time // by its last owner
	Ended      time.Time
	Deadline   time.Time
	Due        time.Time // the end of a parked run's wait, or when the results of a succeeded one are deleted
	Recoveries int       // since a step made progress
	Error      string    // of a failed run
}

// A StepInfo describes a step.
type StepInfo struct {
	Run, Step   string // Step is the id
	Name        string
	Policy      string // its name
	Status      Status
	Attempts    int // made, lost ones included
	Failures    int
	Lost        int
	Waited      time.Duration
	NextAt      time.Time // of the next attempt, if it waits
	First       time.Time // start of the first attempt
	Started     time.Time // of the attempt that is executing, as far as is recorded
	Ended       time.Time
	Reason      retry.Reason // why it failed
	Class       retry.Class  // of the last error
	Error       string
	Correlation string
	Key         string // the idempotency key
}

// An AttemptInfo is an entry of the history of a step.
type AttemptInfo struct {
	Run, Step   string
	Attempt     int // its number, from 1
	Outcome     Outcome
	Started     time.Time
	Duration    time.Duration
	Class       retry.Class
	Error       string
	Wait        time.Duration // before the next attempt, as it was decided
	Reason      retry.Reason  // why there was no next one
	Owner       string        // the engine
	Fence       uint64
	Correlation string
	// Late reports an end that was not accepted, since another engine had claimed
	// the run: evidence for [Engine.Resolve].
	Late bool
}

// A Filter selects runs, steps and attempts. A zero field selects all.
type Filter struct {
	Run       string
	Status    []Status      // any of these
	Class     []retry.Class // of the last error, or of that of an attempt: any of these
	Attention bool          // only what a person, or a resumed run, has to look at
	Since     time.Time     // that ended, or began if it has not, at this time or later
	Until     time.Time     // and earlier than this
}

// within reports whether a time is selected.
func (f *Filter) within(t time.Time) bool {
	return (f.Since.IsZero() || !t.Before(f.Since)) && (f.Until.IsZero() || t.Before(f.Until))
}

func (f *Filter) class(c retry.Class) bool { return len(f.Class) == 0 || slices.Contains(f.Class, c) }

// later returns the end, or the beginning of what has not ended.
func later(ended, began time.Time) time.Time {
	if ended.IsZero() {
		return began
	}
	return ended
}

// List returns the runs that a query selects, by id. Kind and Space of the query
// are set by the engine. An error ends the sequence.
func (e *Engine) List(ctx context.Context, q Query) iter.Seq2[RunInfo, error] {
	q.Kind, q.Space = KindRun, e.space
	return sequence(e, ctx, q, func(r Record) (RunInfo, bool, error) {
		b, err := open[runBody](r)
		return RunInfo{
			ID: r.Key.Run, Status: r.Status, Owner: r.Owner, Fence: r.Fence, Version: b.Version, Parent: b.Parent,
			Created: b.Created, Claimed: b.Claimed, Ended: b.Ended, Deadline: b.Deadline, Due: r.Due,
			Recoveries: b.Recoveries, Error: b.Error,
		}, true, err
	})
}

// Steps returns the steps that a filter selects, by run and id.
func (e *Engine) Steps(ctx context.Context, f Filter) iter.Seq2[StepInfo, error] {
	q := Query{Kind: KindStep, Space: e.space, Run: f.Run, Status: f.Status, Attention: f.Attention}
	return sequence(e, ctx, q, func(r Record) (StepInfo, bool, error) {
		s, err := e.stepInfo(r)
		return s, f.class(s.Class) && f.within(later(s.Ended, s.First)), err
	})
}

func (e *Engine) stepInfo(r Record) (StepInfo, error) {
	b, err := open[stepBody](r)
	s := StepInfo{
		Run: r.Key.Run, Step: r.Key.ID, Name: b.Name, Policy: b.Policy, Status: r.Status, Attempts: b.Attempts,
		Failures: b.Call.Attempts, Lost: b.Call.Lost, Waited: b.Call.Waited, NextAt: b.NextAt, First: b.First,
		Ended: b.Ended, Reason: b.Reason, Correlation: b.Correlation,
		Key: idempotencyKey(e.space, r.Key.Run, r.Key.ID, b.Keys),
	}
	if b.Open != nil {
		s.Started = b.Open.Started
	}
	if b.Error != nil {
		s.Class, s.Error = b.Error.Class, b.Error.Text
	}
	return s, err
}

// History returns the attempts of the steps that a filter selects, by run, step
// and number. Status selects steps; Class, Since and Until select attempts.
func (e *Engine) History(ctx context.Context, f Filter) iter.Seq2[AttemptInfo, error] {
	q := Query{Kind: KindStep, Space: e.space, Run: f.Run, Status: f.Status, Attention: f.Attention}
	return func(yield func(AttemptInfo, error) bool) {
		steps := sequence(e, ctx, q, func(r Record) (Key, bool, error) { return r.Key, true, nil })
		for key, err := range steps {
			if err != nil {
				yield(AttemptInfo{}, err)
				return
			}
			for a, err := range e.history(ctx, key) {
				if err == nil && !(f.class(a.Class) && f.within(a.Started.Add(a.Duration))) {
					continue
				}
				if !yield(a, err) || err != nil {
					return
				}
			}
		}
	}
}

// Attempts returns the attempts of one step, by number.
func (e *Engine) Attempts(ctx context.Context, run, step string) iter.Seq2[AttemptInfo, error] {
	return e.history(ctx, e.key(KindStep, run, step))
}

// history returns the attempts of a step.
func (e *Engine) history(ctx context.Context, step Key) iter.Seq2[AttemptInfo, error] {
	return func(yield func(AttemptInfo, error) bool) {
		for from := Cursor(""); ; {
			entries, next, err := e.store.History(ctx, step, from)
			if err != nil {
				yield(AttemptInfo{}, err)
				return
			}
			for _, entry := range entries {
				if entry.Part == resultPart {
					continue
				}
				a, err := attemptInfo(entry)
				if !yield(a, err) || err != nil {
					return
				}
			}
			if from = next; next == "" {
				return
			}
		}
	}
}

func attemptInfo(entry Entry) (AttemptInfo, error) {
	var b entryBody
	if err := json.Unmarshal(entry.Body, &b); err != nil {
		return AttemptInfo{}, fmt.Errorf("%w: attempt %d of %s: %w", ErrFormat, entry.Attempt, entry.Step, err)
	}
	return AttemptInfo{
		Run: entry.Step.Run, Step: entry.Step.ID, Attempt: entry.Attempt, Outcome: b.Outcome, Started: b.Started,
		Duration: b.Duration, Class: b.Class, Error: b.Error, Wait: b.Wait, Reason: b.Reason, Owner: b.Owner,
		Fence: b.Fence, Correlation: b.Correlation, Late: b.Refused,
	}, nil
}

// sequence returns the records of a query, converted, without those for which
// convert reports false.
func sequence[T any](
	e *Engine, ctx context.Context, q Query, convert func(Record) (T, bool, error),
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		stopped := false
		err := e.each(ctx, q, func(r Record) error {
			value, selected, err := convert(r)
			if err == nil && selected && !yield(value, nil) {
				stopped = true
				return errStopped
			}
			return err
		})
		if err != nil && !stopped {
			var zero T
			yield(zero, err)
		}
	}
}

var errStopped = fmt.Errorf("stopped")

// blockedSteps returns the ids of the steps of a run that wait for a person.
func (e *Engine) blockedSteps(ctx context.Context, run string) (ids []string, err error) {
	q := Query{Kind: KindStep, Space: e.space, Run: run, Attention: true, Status: []Status{StatusInDoubt, StatusPaused}}
	err = e.each(ctx, q, func(r Record) error {
		ids = append(ids, r.Key.ID)
		return nil
	})
	return ids, err
}
