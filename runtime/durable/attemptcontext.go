package durable

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
)

// An attempt is the context of an attempt of a step. Most functions rarely use their context.
// Information about the attempt is therefore computed, and the cancelable context is created,
// only on first use.
type attempt struct {
	runContext
	policy *genapi.StepPolicy
	number int32
	keys   int32         // the number of replaced idempotency keys
	step   string        // the id of the step; "" if it is computed from id
	id     genapi.StepID // used with the name of the policy if step is ""
	lapses uint64        // the lapses of the execution when the attempt began

	info     atomic.Pointer[Info]
	captures atomic.Pointer[captures]

	ended atomic.Bool
	mu    sync.Mutex // held while cancelable is created
	// cancelable is derived from the caller's context. It ends with the attempt, or earlier if
	// another engine may repeat the attempt: see lapse.
	cancelable atomic.Pointer[cancelable]
}

// A cancelable is a context with its cancel function.
type cancelable struct {
	context.Context
	cancel context.CancelCauseFunc
}

// Info returns the same as [Current].
func (a *attempt) Info() *Info {
	if i := a.info.Load(); i != nil {
		return i
	}
	i := &Info{Run: a.x.id, Step: a.step, Attempt: int(a.number), Version: a.x.run.Version, Fence: a.x.fence}
	var err error
	if i.Step == "" {
		i.Step, err = a.id.Path(scopes(a.Context), a.policy.Name)
	}
	if err != nil {
		i.Key = record.Token(16) // no failure of this attempt can be recorded, so there will be no other attempt
	} else {
		i.Key = record.IdempotencyKey(a.x.e.ns.Space, a.x.id, i.Step, int(a.keys))
	}
	if !a.info.CompareAndSwap(nil, i) {
		i = a.info.Load()
	}
	return i
}

// IdempotencyKey implements idempotent.Keyed.
func (a *attempt) IdempotencyKey() string { return a.Info().Key }

// Done implements context.Context.
func (a *attempt) Done() <-chan struct{} { return a.derived().Done() }

// Err implements context.Context.
func (a *attempt) Err() error { return a.base().Err() }

// Value implements context.Context.
func (a *attempt) Value(key any) any {
	if v := a.own(key); v != nil {
		return v
	}
	return a.base().Value(key)
}

// base returns the caller's context if nothing else has canceled the attempt and no cancelable
// context was created. Otherwise it returns that context.
func (a *attempt) base() context.Context {
	if a.cancelable.Load() == nil && !a.ended.Load() && !a.lapsed() {
		return a.Context
	}
	return a.derived()
}

// derived returns the context that ends with the attempt.
func (a *attempt) derived() context.Context {
	if c := a.cancelable.Load(); c != nil {
		return c
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.cancelable.Load(); c != nil {
		return c
	}
	c := new(cancelable)
	c.Context, c.cancel = context.WithCancelCause(a.Context)
	a.x.attach(a, c)
	if a.ended.Load() { // the attempt may have ended before there was anything to cancel
		a.x.detach(a, c)
	}
	return c
}

// end ends the context of the attempt.
func (a *attempt) end() {
	a.ended.Store(true)
	if c := a.cancelable.Load(); c != nil {
		a.x.detach(a, c)
	}
}

// lapsed reports whether another engine may have repeated the attempt since it began.
func (a *attempt) lapsed() bool {
	return a.lapses != a.x.lapses.Load() && onLost(a.policy) == genapi.OnLostRetry
}

// attach registers an attempt, so that lapse cancels it.
func (x *execution) attach(a *attempt, c *cancelable) {
	x.mu.Lock()
	defer x.mu.Unlock()
	a.cancelable.Store(c)
	x.attempts[a] = struct{}{}
	if a.lapsed() {
		c.cancel(ErrFenced)
	}
}

// detach removes an attempt that has ended, and cancels its context.
func (x *execution) detach(a *attempt, c *cancelable) {
	x.mu.Lock()
	delete(x.attempts, a)
	x.mu.Unlock()
	c.cancel(nil)
}

// lapse cancels the attempts that another engine may repeat from now on. Other attempts
// continue: if their step is not repeated automatically, the other engine pauses the run, and
// as long as no engine claims the run, the end of the attempt can be recorded.
func (x *execution) lapse() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.lapses.Add(1)
	for a := range x.attempts {
		if a.lapsed() {
			a.cancelable.Load().cancel(ErrFenced)
		}
	}
}
