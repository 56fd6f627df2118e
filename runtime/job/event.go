package job

import (
	"context"
	"log/slog"
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
)

var eventNames = [...]string{
	EventBudgetConsumed:  "RetryBudgetConsumed",
	EventBudgetExhausted: "RetryBudgetExhausted",
	EventCompletion:      "BestEffortCompletion",
	EventRatio:           "BestEffortRatio",
	EventLateResult:      "LateDatacenterResult",
}

// String returns the name of the event in AD-44, such as "BestEffortCompletion".
func (k EventKind) String() string {
	if int(k) < len(eventNames) {
		return eventNames[k]
	}
	return "unknown"
}

// An Event is something that happened in a [Group].
type Event struct {
	Kind     EventKind
	Group    string   // name of its policy
	JobID    string   // of the group
	Unit     string   // empty for EventCompletion and EventRatio
	Reason   Reason   // why it happened
	Decision Decision // set for EventCompletion and EventRatio
	Err      error    // the [*BudgetError] of EventBudgetExhausted, or the error of a late result
}

// Text returns the reason in AD-44's words, with its counts.
func (e Event) Text() string {
	switch e.Kind {
	case EventBudgetExhausted:
		return e.Err.Error()
	case EventCompletion, EventRatio:
		return e.Decision.String()
	}
	return e.Reason.String()
}

// Log returns an observer for [Group.Observe] that writes refusals, completions
// and late results to l. The message is the name of the event's kind. A refusal
// for ReasonNoBudget is not written, as in AD-44.
func Log(l *slog.Logger) func(context.Context, Event) {
	return func(ctx context.Context, e Event) {
		level := slog.LevelInfo
		switch {
		case e.Kind == EventBudgetConsumed, e.Kind == EventRatio, e.Reason == ReasonNoBudget:
			return
		case e.Kind == EventBudgetExhausted:
			level = slog.LevelWarn
		}
		attrs := []slog.Attr{
			slog.String("group", e.Group), slog.String("job_id", e.JobID), slog.String("reason", e.Text()),
		}
		if e.Unit != "" {
			attrs = append(attrs, slog.String("unit", e.Unit))
		}
		if e.Kind == EventCompletion {
			attrs = append(attrs, slog.Float64("ratio", e.Decision.Ratio))
		}
		if e.Kind == EventLateResult && e.Err != nil {
			attrs = append(attrs, slog.Any("err", e.Err))
		}
		l.LogAttrs(ctx, level, e.Kind.String(), attrs...)
	}
}
