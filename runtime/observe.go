package retry

import (
	"context"
	"log/slog"
	"time"
)

// An Event tells what a policy decided after one failed attempt.
type Event struct {
	Policy     string        // name of the policy
	Call       uint64        // the same for all events of one call
	Attempt    int           // number of the attempt that failed, from 1; 0: none was made
	Err        error         // its error
	Class      Class         // of the error, or empty
	Delay      time.Duration // the wait before the next attempt, when Reason is empty
	RetryAfter time.Duration // the part of it that the error asked for
	Waited     time.Duration // the sum of the waits before this one
	Reason     Reason        // why there is no next attempt, or empty

	Breaker      string       // name of the breaker, or empty
	BreakerState BreakerState // after the attempt
	BudgetLeft   float64      // retries left in the shared budget; −1: none is shared

	// Clamped is the timeout that was asked for by [WithTimeout], where it was
	// above the hard limit. Such an event comes before the first attempt.
	Clamped time.Duration
}

type observerKey struct{}

// WithObserver returns a context under which f is told of every failed attempt
// of every wrapped call, before the wait. f is called in the goroutine of the
// call, which may be any number at once; an attempt that succeeds is never
// observed and costs nothing.
//
// The observer travels in the context, as net/http/httptrace's does, so that
// it needs neither a registry nor a change of any wrapper.
func WithObserver(ctx context.Context, f func(Event)) context.Context {
	return context.WithValue(ctx, observerKey{}, f)
}

// observer returns the context's observer, or nil.
func observer(ctx context.Context) func(Event) {
	f, _ := ctx.Value(observerKey{}).(func(Event))
	return f
}

// Log returns an observer for [WithObserver] that writes each event to l: at
// level Info before a retry, at level Warn where there is none.
func Log(l *slog.Logger) func(Event) {
	return func(e Event) {
		level, text := slog.LevelInfo, "retry"
		attrs := []slog.Attr{slog.String("policy", e.Policy), slog.Uint64("call", e.Call), slog.Int("attempt", e.Attempt)}
		switch {
		case e.Clamped > 0:
			level, text = slog.LevelWarn, "timeout clamped to the hard limit"
			attrs = append(attrs, slog.Duration("timeout", e.Clamped))
		case e.Reason != "":
			level, text = slog.LevelWarn, "gave up"
			attrs = append(attrs, slog.String("reason", string(e.Reason)))
		default:
			attrs = append(attrs, slog.Duration("delay", e.Delay))
		}
		if e.Class != "" {
			attrs = append(attrs, slog.String("class", string(e.Class)))
		}
		if e.Breaker != "" {
			attrs = append(attrs, slog.String("breaker", e.Breaker), slog.String("breaker_state", e.BreakerState.String()))
		}
		if e.BudgetLeft >= 0 {
			attrs = append(attrs, slog.Float64("budget_left", e.BudgetLeft))
		}
		if e.Err != nil {
			attrs = append(attrs, slog.Any("err", e.Err))
		}
		l.LogAttrs(context.Background(), level, text, attrs...)
	}
}
