package console

import (
	"fmt"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// bars returns the bars of a step of a run: its attempts, and the waits between them.
func bars(run *admin.RunInfo, step *admin.StepInfo, attempts []admin.AttemptInfo, now time.Time) (list []timelineBar) {
	if len(attempts) > maxBars {
		attempts = attempts[len(attempts)-maxBars:]
	}
	for i, a := range attempts {
		if a.Late || a.Started.IsZero() || !executed(a.Outcome) {
			continue
		}
		next := nextStart(step, attempts[i+1:])
		end := a.Started.Add(a.Duration)
		if a.Outcome == events.OutcomeLost && a.Duration == 0 {
			end = lostUntil(next, run.Claimed, a.Started, now)
		}
		list = append(list, timelineBar{class: string(a.Outcome), from: a.Started, to: end, title: barTitle(&a)})
		wait := end.Add(a.Wait)
		if !next.IsZero() && next.After(wait) {
			wait = next // it came later than it was planned
		}
		if a.Wait > 0 {
			list = append(list, timelineBar{
				class: string(inkWait), from: end, to: wait,
				title: fmt.Sprintf("wait of %s before attempt %d", length(a.Wait), a.Attempt+1),
			})
		}
	}
	switch {
	case !step.Started.IsZero() && step.Status == storage.StatusExecuting:
		bar := timelineBar{class: string(inkOpen), from: step.Started, to: now}
		if bar.title = fmt.Sprintf("attempt %d is executing", step.Attempts); run.Owner == "" {
			bar.class = string(events.OutcomeLost) // the run was released without the end of the attempt
			bar.title = fmt.Sprintf("attempt %d: no engine executes it", step.Attempts)
		}
		list = append(list, bar)
	case len(list) == 0:
		list = append(list, timelineBar{class: tone(step.Status), from: step.First, to: later(step.Ended, step.First)})
	}
	return list
}

// executed reports whether an outcome is that of an attempt, not of an operation.
func executed(o events.Outcome) bool {
	switch o {
	case events.OutcomeResolved, events.OutcomeRequeued, events.OutcomeDiscarded:
		return false
	}
	return true
}

// nextStart returns the start of the attempt after another, or zero.
func nextStart(step *admin.StepInfo, rest []admin.AttemptInfo) time.Time {
	for _, a := range rest {
		if executed(a.Outcome) && !a.Late {
			return a.Started
		}
	}
	return step.Started
}

// lostUntil returns until when an attempt that was lost may have been executed: its
// loss was found by the engine that has claimed the run.
func lostUntil(next, claimed, started, now time.Time) time.Time {
	switch {
	case !next.IsZero() && (next.Before(claimed) || !claimed.After(started)):
		return next
	case claimed.After(started):
		return claimed
	}
	return now
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// barTitle describes an attempt.
func barTitle(a *admin.AttemptInfo) string {
	title := fmt.Sprintf("attempt %d %s", a.Attempt, a.Outcome)
	if a.Duration > 0 {
		title += " after " + length(a.Duration)
	}
	if a.Error != "" {
		title += ": " + clean(a.Error)
	}
	return title
}
