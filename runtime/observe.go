package retry

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/retrygen/retrygen/runtime/breaker"
)

// An EventKind is the kind of an [Event].
type EventKind uint8

// The kinds of events.
const (
	EventRetry          EventKind = iota // an attempt failed; another one follows after Wait
	EventStop                            // an attempt failed or was refused, and none follows; Reason says why
	EventTimeoutClamped                  // a timeout exceeded the hard limit; reported before the first attempt
	EventCapture                         // a timeout was captured; Err describes what was not captured
	EventHedge                           // a second request of an attempt has returned, with Err or a result
)

var eventKinds = [...]string{"retry", "stop", "timeout clamped", "capture", "hedge"}

// String returns the name of the kind.
func (k EventKind) String() string {
	if int(k) < len(eventKinds) {
		return eventKinds[k]
	}
	return "unknown"
}

// An Event reports what a policy decided after a failed attempt.
type Event struct {
	Kind       EventKind
	Policy     string        // name of the policy
	Call       uint64        // a random number that identifies the call
	Attempt    int           // number of the failed attempt, starting at 1; 0 if none was made
	Err        error         // error of that attempt; EventCapture: what could not be captured, or nil
	Class      Class         // class of Err, or empty
	Wait       time.Duration // EventRetry: the wait before the next attempt
	RetryAfter time.Duration // the wait that the error asked for; EventRetry: only the part that is allowed
	Waited     time.Duration // sum of the waits before this one
	Queued     time.Duration // sum of the waits for the limiter's permits and the rate's slots
	Reason     Reason        // EventStop: why no attempt follows

	Breaker      string        // name of the breaker, or empty
	BreakerState breaker.State // state of the breaker after the attempt
	// AdmitsIn is the time after which an open breaker may admit attempts. It is set if
	// the breaker has refused this attempt or is the reason why no further attempt
	// follows.
	AdmitsIn   time.Duration
	BudgetLeft float64 // retries left in the shared budget; −1 without a budget

	Won bool // EventHedge: the attempt used the result of the second request

	// Timeout is the value passed to [WithScopeTimeout] (EventTimeoutClamped), or the
	// time limit that ended the attempt or the call (EventCapture).
	Timeout time.Duration
}

type observerKey struct{}

// WithObserver returns a copy of ctx with the observer f. Wrapped calls that use this
// context, or one derived from it, call f for each of their events and pass it the
// context of the call. If ctx already has an observer, that observer is called after f.
// Both are called in the goroutine of the call, before its wait. If several goroutines
// make calls, the observers may be called concurrently. A successful attempt causes no
// event and costs nothing.
//
// Like a net/http/httptrace trace, the observer is part of the context. It needs no
// registry and no change to any wrapper.
func WithObserver(ctx context.Context, f func(context.Context, Event)) context.Context {
	observe := f
	if outer := observer(ctx); outer != nil {
		observe = func(ctx context.Context, e Event) {
			f(ctx, e)
			outer(ctx, e)
		}
	}
	return context.WithValue(ctx, observerKey{}, observe)
}

// observer returns the context's observer, or nil.
func observer(ctx context.Context) func(context.Context, Event) {
	f, _ := ctx.Value(observerKey{}).(func(context.Context, Event))
	return f
}

// Log returns an observer for [WithObserver] that writes each event to l. It writes
// [EventRetry] and [EventHedge] at level Info, and the others at level Warn. If an error
// is known but has no class, such as an error with status 404, the logged class is none.
func Log(l *slog.Logger) func(context.Context, Event) {
	return func(ctx context.Context, e Event) {
		level, text := slog.LevelWarn, "retries stopped"
		attrs := []slog.Attr{slog.String("policy", e.Policy)}
		switch e.Kind {
		case EventTimeoutClamped:
			text = "timeout clamped to the hard limit"
			attrs = append(attrs, slog.Duration("timeout", e.Timeout))
			l.LogAttrs(ctx, level, text, attrs...)
			return
		case EventCapture:
			text = "timeout captured"
			if e.Err != nil {
				text = "timeout not captured"
			}
			attrs = append(attrs, slog.Duration("timeout", e.Timeout))
		case EventHedge:
			level, text = slog.LevelInfo, "hedge lost"
			if e.Won {
				text = "hedge won"
			}
		case EventRetry:
			level, text = slog.LevelInfo, "retry"
			attrs = append(attrs, slog.Duration("wait", e.Wait))
		default:
			attrs = append(attrs, slog.String("reason", string(e.Reason)))
			if e.RetryAfter > 0 {
				attrs = append(attrs, slog.Duration("retry_after", e.RetryAfter))
			}
		}
		attrs = append(attrs, slog.Uint64("call", e.Call), slog.Int("attempt", e.Attempt))
		if e.Queued > 0 {
			attrs = append(attrs, slog.Duration("queued", rounded(e.Queued)))
		}
		if e.Err != nil {
			attrs = append(attrs, slog.String("class", cmp.Or(string(e.Class), "none")))
		}
		if e.Breaker != "" {
			attrs = append(attrs, slog.String("breaker", e.Breaker), slog.String("breaker_state", e.BreakerState.String()))
		}
		if e.AdmitsIn > 0 {
			attrs = append(attrs, slog.Duration("admits_in", rounded(e.AdmitsIn)))
		}
		if e.BudgetLeft >= 0 {
			attrs = append(attrs, slog.Float64("budget_left", e.BudgetLeft))
		}
		if e.Err != nil {
			attrs = append(attrs, slog.Any("err", e.Err))
		}
		l.LogAttrs(ctx, level, text, attrs...)
	}
}
