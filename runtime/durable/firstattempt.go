package durable

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// This file makes first attempts that are not recorded if they succeed. Such an attempt costs
// two atomic operations, a clock reading and a context. It is not registered under an id, and
// takes no lock.

// A firstAttempt is the first attempt, without a record, of a step with genapi.RecordFailures.
type firstAttempt struct {
	attempt
	ledger *ledger
	begun  time.Duration // the time since the lease began
	call   *firstCall    // the call, if its policy changes the context; or nil
	err    error         // the error with which the attempt has failed
}

// A firstCall is the call of a policy with time limits.
type firstCall struct {
	retry.Call
	inner context.Context
}

// First implements genapi.First.
func (c *runContext) First(
	ctx context.Context, s *genapi.StepPolicy, id genapi.StepID,
) genapi.FirstAttempt {
	x := c.x
	if c.attempt != nil || s.Live != nil || !x.gate.enter() {
		return nil
	}
	l := c.ledger()
	now := time.Since(x.owner.begun)
	if ctx.Err() != nil || x.deferred.Load() != nil || !x.safeAt(now) || !l.isUnrecorded(s) && !x.admits(ctx, l, s, id) {
		x.gate.leave()
		return nil
	}
	f := x.newFirst()
	f.ledger, f.begun = l, now
	a := &f.attempt
	a.Context, a.x, a.attempt, a.policy, a.number, a.id, a.lapses = ctx, x, a, s, 1, id, x.lapses.Load()
	if p := s.Policy; p.Timeout > 0 || p.AttemptTimeout > 0 || p.HardLimit > 0 || p.Nested {
		f.call = &firstCall{Call: p.Begin()}
		f.call.inner = f.call.Attempt(a)
	}
	if c.unit != nil {
		l.firsts.Add(1)
	}
	return f
}

// firstAttempts allocates several attempts together, because this is much faster.
type firstAttempts struct {
	used atomic.Int64
	all  [16]firstAttempt
}

// newFirst returns an attempt for one step.
func (x *execution) newFirst() *firstAttempt {
	for {
		a := x.firsts.Load()
		if a != nil {
			if i := int(a.used.Add(1)) - 1; i < len(a.all) {
				return &a.all[i]
			}
		}
		x.firsts.CompareAndSwap(a, new(firstAttempts))
	}
}

// ledger returns the ledger of the run, or of the unit.
func (c *runContext) ledger() *ledger {
	if c.unit != nil {
		return c.unit.steps
	}
	return c.x.steps
}

// Context implements genapi.FirstAttempt.
func (f *firstAttempt) Context() context.Context {
	if f.call != nil {
		return f.call.inner
	}
	return &f.attempt
}

// Succeeded implements genapi.FirstAttempt.
func (f *firstAttempt) Succeeded(err error) bool {
	if f.err = err; err == nil {
		f.drop()
	}
	return err == nil
}

// End implements genapi.FirstAttempt.
func (f *firstAttempt) End() {
	if f.ended.Load() {
		return
	}
	value := recover()
	f.x.panics(f.Context(), value)
	if id := f.Info().Step; id != "" {
		f.x.unfinished(f.ledger, id)
	}
	f.drop()
	if value != nil {
		panic(value)
	}
}

// unfinished records that a call of a step has not returned an answer. Unless the step is
// called again, the run must not succeed, even if its function recovers the panic.
func (x *execution) unfinished(l *ledger, id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	l.calls(id)
	l.names[record.StepName(id)] = true
	if l.called[id] == 0 {
		l.called[id] = storage.StatusExecuting
	}
}

// drop ends an attempt that is not recorded.
func (f *firstAttempt) drop() {
	f.close()
	f.x.gate.leave()
}

// close ends an attempt, but not the step.
func (f *firstAttempt) close() {
	f.end()
	if f.call != nil {
		f.call.End()
	}
	if f.ledger != f.x.steps {
		f.ledger.firsts.Add(-1)
	}
}

// admits reports whether nothing is recorded about a step, and nothing has to be recorded
// before its first attempt.
func (x *execution) admits(ctx context.Context, l *ledger, s *genapi.StepPolicy, id genapi.StepID) bool {
	switch {
	case s.Policy == nil || startsRecorded(s) || !s.Shared.IsZero():
		return false
	case s.Repeat: // concurrent calls share one execution
		return false
	case x.e.tracer != nil || x.e.checkStep(s) != nil:
		return false
	case x.noneRecorded(l, s):
		return true
	}
	var ids []string
	for _, name := range slices.Concat([]string{s.Name}, s.Formerly) {
		path, err := id.Path(scopes(ctx), name)
		if err != nil {
			return false
		}
		ids = append(ids, path)
	}
	return !x.knowsAny(l, ids) && x.isComplete(l)
}

// noneRecorded reports whether no call of a step is recorded. The ledger remembers this until a
// call is recorded.
func (x *execution) noneRecorded(l *ledger, s *genapi.StepPolicy) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !l.complete {
		return false
	}
	for _, name := range slices.Concat([]string{s.Name}, s.Formerly) {
		name = record.Escape(name)
		if l.names[name] {
			return false
		}
		for id := range x.flights {
			if record.StepName(id) == name {
				return false
			}
		}
	}
	l.setUnrecorded(append(l.unrecordedSteps(), s))
	return true
}

// maxUnrecorded is the maximum number of policies for which a ledger remembers that no call is
// recorded.
const maxUnrecorded = 64

// isUnrecorded reports whether the ledger remembers that no call of a step is recorded.
func (l *ledger) isUnrecorded(s *genapi.StepPolicy) bool {
	known := l.unrecorded.Load()
	return known != nil && slices.Contains(*known, s)
}

// unrecordedSteps returns a copy of the policies for which isUnrecorded is true.
func (l *ledger) unrecordedSteps() []*genapi.StepPolicy {
	if known := l.unrecorded.Load(); known != nil {
		return slices.Clone(*known)
	}
	return nil
}

func (l *ledger) setUnrecorded(steps []*genapi.StepPolicy) {
	if len(steps) <= maxUnrecorded {
		l.unrecorded.Store(&steps)
	}
}

// calls notes that a step is called whose record must not be missed by other calls.
func (l *ledger) calls(id string) {
	if known := l.unrecorded.Load(); known == nil || len(*known) == 0 {
		return
	}
	name := record.StepName(id)
	l.setUnrecorded(slices.DeleteFunc(l.unrecordedSteps(), func(s *genapi.StepPolicy) bool {
		return record.Escape(s.Name) == name ||
			slices.ContainsFunc(s.Formerly, func(former string) bool { return record.Escape(former) == name })
	}))
}

// dropFirst drops the first attempt, if there is one, because a concurrent call of the same
// step has recorded more.
func (c *stepCall) dropFirst() {
	if c.first != nil {
		c.first.drop()
		c.first = nil
	}
}

// firstFailed records the failure of the first attempt.
func (x *execution) firstFailed(ctx context.Context, c *stepCall) (next, error) {
	f := c.first
	c.first = nil
	if c.begin(); f.call != nil {
		c.call = &f.call.Call
	}
	begun := x.owner.begun.Add(f.begun)
	end := &attemptEnd{number: 1, begun: begun, duration: time.Since(begun), unstarted: true}
	c.attempt, c.lapsed = &f.attempt, f.lapsed()
	defer c.call.End()
	x.inspect(ctx, c, c.call, end, f.err)
	f.close()
	return x.ended(ctx, c, end)
}

// abandon ends a first attempt whose failure cannot be recorded because of an error in the
// call. f may be nil.
func (f *firstAttempt) abandon(err error) error {
	if f == nil {
		return err
	}
	f.drop()
	return fmt.Errorf("%w; the first attempt: %w", err, f.err)
}
