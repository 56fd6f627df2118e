package breaker

import (
	"context"
	"log/slog"
	"time"
)

// A Change is a change in a breaker's state: see [Breaker.Observe].
type Change struct {
	Breaker   string // name of the breaker
	From, To  State
	Why       ChangeReason
	When      time.Time
	Failures  int       // consecutive, including half-open attempts; 0 if To is Closed
	OpenUntil time.Time // end of the open state; zero unless To is Open
}

// A ChangeReason is the reason why a breaker's state changed.
type ChangeReason string

// The reasons of a [Change].
const (
	ChangeFailures        ChangeReason = "consecutive failures" // Failures or EscalateAfter was reached
	ChangeFailureRate     ChangeReason = "failure rate"         // FailureRate was reached
	ChangeSlowRate        ChangeReason = "slow rate"            // SlowRate was reached
	ChangeOpenForPassed   ChangeReason = "open time passed"     // an open breaker became half-open
	ChangeProbeFailed     ChangeReason = "probe failed"         // an attempt of a half-open breaker failed
	ChangeProbeSlow       ChangeReason = "probe slow"           // a probe succeeded, but took longer than SlowCall
	ChangeProbesSucceeded ChangeReason = "probes succeeded"     // Successes attempts of a half-open breaker succeeded
	ChangeForced          ChangeReason = "forced open"          // Breaker.ForceOpen was called
	ChangeReset           ChangeReason = "reset"                // Breaker.Reset was called
	ChangeRestored        ChangeReason = "restored"             // Breaker.Restore was called
	ChangeHeld            ChangeReason = "held"                 // Breaker.HoldOpen or Breaker.HoldClosed was called
	ChangeHoldEnded       ChangeReason = "hold ended"           // the hold expired or was ended by Breaker.EndHold
	ChangeShared          ChangeReason = "shared store"         // by another process or an operator: see Breaker.Share
)

// watching is the part of a Breaker that reports changes.
type watching struct {
	observers []func(Change)
	seen      State    // the state after the last change
	changes   []Change // that are not reported yet
	notifying bool     // a goroutine reports them
}

// Observe adds a function that is called for each later state change. The state changes
// when the breaker opens, becomes half-open, closes or escalates, for whatever reason.
// The function is not called if nothing changes, for example if Reset is called on a
// closed breaker.
//
// Changes are reported in order and one at a time, by a goroutine that uses the breaker.
// f delays that goroutine's call. f may use the breaker. A breaker has no timer, so it
// becomes half-open only when it is used or its state is read after OpenUntil. If several
// processes share a breaker, each process reports the changes that it notices. Observe
// panics if f is nil.
func (b *Breaker) Observe(f func(Change)) {
	if f == nil {
		panic("breaker: Observe of a nil function")
	}
	b.lock()
	defer b.unlock()
	b.observers = append(b.observers, f)
}

// noteChange keeps a change of the state for the observers, and returns whether
// the caller has to call notify once it has unlocked the breaker.
func (b *Breaker) noteChange() bool {
	if state, until := b.shown(); state != b.seen {
		if len(b.observers) > 0 {
			b.changes = append(b.changes, Change{
				Breaker: b.limits.Name, From: b.seen, To: state, Why: b.why, When: b.when,
				Failures: b.s.Failures, OpenUntil: until,
			})
		}
		b.seen = state
	}
	return len(b.changes) > 0 && !b.notifying
}

// notify reports changes until there are no more. If another goroutine does that,
// or an observer has caused the change, it leaves them to that call of notify.
func (b *Breaker) notify() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.notifying {
		return
	}
	b.notifying = true
	defer func() { b.notifying = false }() // an observer may panic
	for len(b.changes) > 0 {
		change := b.changes[0]
		b.changes = b.changes[1:]
		b.report(change)
	}
}

// report calls the observers, and unlocks the breaker meanwhile.
func (b *Breaker) report(c Change) {
	observers := b.observers
	b.mu.Unlock()
	defer b.mu.Lock()
	for _, f := range observers {
		f(c)
	}
}

// Log returns an observer for [Breaker.Observe] that writes each change to l. The level
// is Warn if the breaker refuses attempts afterwards, and Info otherwise.
func Log(l *slog.Logger) func(Change) {
	return func(c Change) {
		level := slog.LevelWarn
		if c.To == Closed || c.To == HalfOpen {
			level = slog.LevelInfo
		}
		attrs := []slog.Attr{
			slog.String("breaker", c.Breaker), slog.String("from", c.From.String()), slog.String("to", c.To.String()),
			slog.String("reason", string(c.Why)), slog.Int("failures", c.Failures),
		}
		if !c.OpenUntil.IsZero() {
			attrs = append(attrs, slog.Time("open_until", c.OpenUntil))
		}
		l.LogAttrs(context.Background(), level, "breaker changed", attrs...)
	}
}
