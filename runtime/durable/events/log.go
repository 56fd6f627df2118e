package events

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/retrygen/retrygen/runtime/job"
)

// levels are the levels of events that are not at level Info.
var levels = map[Kind]slog.Level{
	EventStarted: slog.LevelDebug, EventSucceeded: slog.LevelDebug, EventWaiting: slog.LevelDebug,
	EventUnitSucceeded: slog.LevelDebug,
	EventRunFailed:     slog.LevelWarn, EventPaused: slog.LevelWarn, EventTimedOut: slog.LevelWarn,
	EventLost: slog.LevelWarn, EventRefused: slog.LevelWarn, EventAbandoned: slog.LevelWarn, EventChanged: slog.LevelWarn,
	EventFenced: slog.LevelWarn, EventPolicyChanged: slog.LevelWarn, EventUnitFailed: slog.LevelWarn,
	EventUnitRemoved: slog.LevelWarn,
	EventPanicked:    slog.LevelError,
	EventExhausted:   slog.LevelError, EventDeadLetter: slog.LevelError, EventInDoubt: slog.LevelError,
	EventStoreError: slog.LevelError,
}

// Log returns a function for durable.OnEvent that writes each event to l. Starts and
// successes of attempts are logged at level Debug. Events that may need attention are
// logged at level Warn. Events that need attention are logged at level Error. Job events
// are written as [job.Log] writes them. As in package retry's logs, an error without a
// class is logged with the class none.
func Log(l *slog.Logger) func(context.Context, Event) {
	jobs := job.Log(l)
	return func(ctx context.Context, e Event) {
		if e.Kind == EventJob {
			jobs(ctx, e.Job)
			return
		}
		level := levels[e.Kind] // Info is zero
		attrs := make([]slog.Attr, 0, 8)
		text := func(key, value string) {
			if value != "" {
				attrs = append(attrs, slog.String(key, value))
			}
		}
		text("run", e.Run)
		text("step", e.Step)
		if e.Step == "" {
			text("name", e.Name) // of a breaker or a budget
		}
		if e.Attempt > 0 {
			attrs = append(attrs, slog.Int("attempt", e.Attempt))
		}
		if e.Wait > 0 {
			attrs = append(attrs, slog.Duration("wait", e.Wait))
		}
		text("reason", string(e.Reason))
		switch e.Kind {
		case EventFailed, EventExhausted, EventDeadLetter:
			if e.Err != nil { // of an attempt
				e.Class = cmp.Or(e.Class, "none")
			}
		}
		text("class", string(e.Class))
		text("outcome", string(e.Outcome))
		text("correlation", e.Correlation)
		text("by", e.By.Name)
		text("why", e.By.Reason)
		if e.Err != nil {
			attrs = append(attrs, slog.Any("err", e.Err))
		}
		text("stack", e.Stack)
		l.LogAttrs(ctx, level, e.Kind.String(), attrs...)
	}
}
