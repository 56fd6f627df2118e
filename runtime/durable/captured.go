package durable

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/retrygen/retrygen/internal/captured"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
)

// This file stores the timeouts that package recovery captures during an attempt in the history
// of the step.

// maxCaptured is the maximum number of timeouts in the entry of an attempt.
const maxCaptured = 100

// captures holds the timeouts that were captured during one attempt. Goroutines of the attempt
// may use it concurrently, and may outlive the attempt.
type captures struct {
	mu   sync.Mutex
	rows []json.RawMessage
}

// Keep implements captured.Keeper.
func (c *captures) Keep(row []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.rows) < maxCaptured {
		c.rows = append(c.rows, row)
	}
}

// captured returns the captures of an attempt, and creates them if necessary.
func (a *attempt) captured() *captures {
	if c := a.captures.Load(); c != nil {
		return c
	}
	a.captures.CompareAndSwap(nil, new(captures))
	return a.captures.Load()
}

// timeouts returns the rows that were captured so far.
func (a *attempt) timeouts() []json.RawMessage {
	c := a.captures.Load()
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rows[:len(c.rows):len(c.rows)]
}

// capture captures the state of an attempt that has timed out, before the end of the attempt is
// recorded. If the process dies in between, the next process finds the captured state. Budgets
// and breakers in the store may later refuse a retry that v allows.
func (c *stepCall) capture(ctx context.Context, call *retry.Call, f retry.Failure, in retry.Inputs, v retry.Verdict) {
	if c.policy.OnExhausted == genapi.ExhaustedEscalate || c.policy.OnExhausted == genapi.ExhaustedPause {
		v.Escalate = true
	}
	call.Capture(captured.With(ctx, c.attempt.captured()), f, in, v)
}

// captureDoubt captures the state of an attempt that was ended by the caller's deadline, and
// that may have taken effect.
func (c *stepCall) captureDoubt(ctx context.Context, call *retry.Call, f retry.Failure, in retry.Inputs) {
	if !c.policy.Policy.Capture || in.Ended != retry.ErrDeadline {
		return
	}
	state, v := c.policy.Policy.Decide(call.State(), f, in)
	call.Restore(state)
	switch onLost(c.policy) {
	case genapi.OnLostRetry:
		v.Reason = "" // the next execution of the run decides
	case genapi.OnLostPause:
		v.Escalate = true
	}
	c.capture(ctx, call, f, in, v)
}
