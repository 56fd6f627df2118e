package job

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
)

// An EventKind is the kind of an [Event].
type EventKind uint8

// The kinds of events.
const (
	EventBudgetConsumed  EventKind = iota // a unit has taken a retry
	EventBudgetExhausted                  // a unit was refused a retry
	EventCompletion                       // the group has ended, or has a provisional result
	EventRatio                            // the group has ended after a provisional result
	EventLateResult                       // a unit has reported after enough had succeeded
	EventFailures                         // units have failed; with [Collect], a batch of them
)

var eventNames = [...]string{
	EventBudgetConsumed:  "RetryBudgetConsumed",
	EventBudgetExhausted: "RetryBudgetExhausted",
	EventCompletion:      "BestEffortCompletion",
	EventRatio:           "BestEffortRatio",
	EventLateResult:      "LateDatacenterResult",
	EventFailures:        "UnitFailures",
}

// String returns the name of the event, such as "BestEffortCompletion". It is the name in
// AD-44, if there is one.
func (k EventKind) String() string {
	if int(k) < len(eventNames) {
		return eventNames[k]
	}
	return "unknown"
}

// An Event is something that happened in a [Group].
type Event struct {
	Kind     EventKind
	Group    string    // name of the group's policy
	JobID    string    // name of the job
	Unit     string    // unit of EventBudgetConsumed, EventBudgetExhausted and EventLateResult
	Reason   Reason    // why it happened; not set for EventFailures
	Decision Decision  // set for EventCompletion and EventRatio
	Err      error     // the [*BudgetError] of EventBudgetExhausted, or the error of a late result
	Failures []Failure // set for EventFailures, in the order in which the units failed
}

// A Failure is a unit that has failed, with its error.
type Failure struct {
	Unit string
	Err  error
}

// Text returns the reason with its counts, in AD-44's words if there are any. For
// EventFailures, it returns the number of units, as in "failed: 10".
func (e Event) Text() string {
	switch e.Kind {
	case EventBudgetExhausted:
		return e.Err.Error()
	case EventCompletion, EventRatio:
		return e.Decision.String()
	case EventFailures:
		return fmt.Sprintf("failed: %d", len(e.Failures))
	}
	return e.Reason.String()
}

// Log returns an observer for [Group.Observe] that writes refusals, completions, late
// results and unit failures to l. The message is the name of the event's kind. Each
// failure is a separate record. Refusals and failures are warnings, and so is a
// completion if the error policy has stopped the group. As in AD-44, a refusal with
// ReasonNoBudget is not written.
func Log(l *slog.Logger) func(context.Context, Event) {
	return func(ctx context.Context, e Event) {
		if e.Kind == EventBudgetConsumed || e.Kind == EventRatio || e.Reason == ReasonNoBudget {
			return
		}
		attrs := []slog.Attr{slog.String("group", e.Group), slog.String("job_id", e.JobID)}
		write := func(more ...slog.Attr) {
			l.LogAttrs(ctx, e.level(), e.Kind.String(), append(slices.Clip(attrs), more...)...)
		}
		for _, f := range e.Failures {
			write(slog.String("unit", f.Unit), slog.Any("err", f.Err))
		}
		if e.Kind == EventFailures {
			return
		}
		attrs = append(attrs, slog.String("reason", e.Text()))
		if e.Unit != "" {
			attrs = append(attrs, slog.String("unit", e.Unit))
		}
		if e.Kind == EventCompletion {
			attrs = append(attrs, slog.Float64("ratio", e.Decision.Ratio))
		}
		if e.Kind == EventLateResult && e.Err != nil {
			attrs = append(attrs, slog.Any("err", e.Err))
		}
		write()
	}
}

// level returns the level of an event in a log.
func (e *Event) level() slog.Level {
	if e.Kind == EventBudgetExhausted || e.Kind == EventFailures || e.Reason.stops() {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}
