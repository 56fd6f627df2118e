package capacity

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// A Rate limits how many attempts start in a period. In any period of length T, at most
// Burst + Events·T/Per attempts start, however many goroutines use the rate. While no
// attempt waits, an attempt costs a clock reading and an atomic operation.
//
// An attempt that comes too early waits for a slot, for up to MaxWait. Attempts get slots
// in the order of their arrival. An attempt takes its slot when it starts, not when it
// begins to wait. So an attempt that stops waiting takes no slot, and the attempts after
// it move up.
//
// A Rate must be created with [NewRate], and must not be copied after first use. It
// starts only short-lived goroutines, which give slots to waiting attempts.
type Rate struct {
	state   atomic.Int64 // see RatePolicy.Take; in nanoseconds since begun
	crowded atomic.Bool  // attempts wait; changed only under mu
	rule    atomic.Pointer[rateRule]
	begun   time.Time
	refused atomic.Uint64

	reserved atomic.Int64 // attempts that wait for the slots that a remote has reserved

	mu     sync.Mutex
	remote Remote // nil: the rate belongs to this process alone
	queue  queue
	grant  func() // r.grantSlots
}

// A rateRule is a policy with its defaults, and its numbers.
type rateRule struct {
	RatePolicy
	spacing
}

// NewRate returns a rate with all slots of its burst free. It panics if a field of p is
// negative (except [NoWait]) or if Events is not set.
func NewRate(p RatePolicy) *Rate {
	p = p.Effective()
	if err := p.validate(); err != nil {
		panic("capacity: " + err.Error())
	}
	r := &Rate{begun: time.Now()}
	r.rule.Store(&rateRule{p, p.spacing()})
	r.grant = r.grantSlots
	return r
}

// A Remote is the stored state of a rate that several processes share: see
// [NewSharedRate]. Its method may be called by multiple goroutines simultaneously.
type Remote interface {
	// Reserve takes the next slot with [RatePolicy.Reserve]. It returns how long the
	// attempt has to wait for the slot, and whether it was taken. The error is ctx.Err()
	// if ctx has ended, and otherwise the error of the store.
	Reserve(ctx context.Context) (wait time.Duration, ok bool, err error)
}

// ErrUnconnected means that a shared rate was never connected to a store, or is no longer
// connected.
var ErrUnconnected = errors.New("not connected to a store: call Link.Connect")

// unconnected is the remote of a rate that is not connected.
type unconnected struct{}

// Reserve returns ErrUnconnected.
func (unconnected) Reserve(context.Context) (time.Duration, bool, error) {
	return 0, false, ErrUnconnected
}

// NewSharedRate returns a rate that several processes share through a store, once
// [Rate.Share] has been called. Before that, it refuses every attempt. Together, the
// processes admit at most as many attempts as a single rate with this policy.
//
// Each attempt asks the store once to reserve a slot. If the context of the attempt ends
// during the wait, the slot is lost. If the store does not respond, the attempt is
// refused. Attempts that must not wait, such as hedges, are not admitted.
//
// All processes should have the same policy. If a process has a shorter MaxWait than
// others, it treats slots that others have reserved as the result of a clock error, and
// assigns them again.
func NewSharedRate(p RatePolicy) *Rate {
	r := NewRate(p)
	r.Share(nil)
	return r
}

// Share connects a rate that was returned by [NewSharedRate]. If remote is nil, Share
// disconnects the rate. Share is for packages that store rates. Programs call the Connect
// method of a shared.Link.
func (r *Rate) Share(remote Remote) {
	if remote == nil {
		remote = unconnected{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remote = remote
	r.crowded.Store(true) // so that each attempt comes to wait
}

// reserve is wait for a rate that processes share.
func (r *Rate) reserve(ctx context.Context, deadline time.Time, remote Remote) error {
	wait, ok, err := remote.Reserve(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil, !ok:
		r.refused.Add(1)
		return Refusal{By: ByRate, Name: r.Policy().Name, AdmitsIn: wait, Cause: err}
	case !deadline.IsZero() && wait >= time.Until(deadline):
		return context.DeadlineExceeded
	case wait == 0:
		return nil
	}
	r.reserved.Add(1)
	defer r.reserved.Add(-1)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// validate returns an error if an effective policy is not one of a rate.
func (p *RatePolicy) validate() error {
	switch {
	case p.Events < 0, p.Per < 0, p.Burst < 0, p.MaxWait < 0 && p.MaxWait != NoWait:
		return errors.New("negative field of the RatePolicy " + p.Name)
	case p.Events == 0:
		return errors.New("Events of the RatePolicy " + p.Name + " is not set")
	}
	return nil
}

// Policy returns the rate's policy with its defaults.
func (r *Rate) Policy() RatePolicy { return r.rule.Load().RatePolicy }

// Queued returns the number of attempts that are waiting for a slot.
func (r *Rate) Queued() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.queue.len + int(r.reserved.Load())
}

// Refused returns the number of attempts that were refused because their wait would have
// exceeded MaxWait.
func (r *Rate) Refused() uint64 { return r.refused.Load() }

// Save returns the state of the rate. [Rate.Restore] accepts this state in another
// process: see [RatePolicy.Take].
func (r *Rate) Save() time.Time { return r.begun.Add(time.Duration(r.state.Load())) }

// Restore sets the rate to a state that [Rate.Save] returned. If the state's clock was
// ahead, all slots of the burst count as taken, but no more.
func (r *Rate) Restore(state time.Time) {
	r.mu.Lock()
	r.state.Store(int64(min(max(state.Sub(r.begun), 0), math.MaxInt64/2)))
	r.mu.Unlock()
	if r.crowded.Load() && !r.isShared() {
		r.grantSlots()
	}
}

// Allow takes a slot if one is free now and no attempt is waiting, and reports whether it
// did.
func (r *Rate) Allow() bool {
	_, ok := r.allow()
	return ok
}

func (r *Rate) allow() (slot int64, ok bool) {
	if r.crowded.Load() {
		return 0, false
	}
	slot, wait := r.take()
	return slot, wait == 0
}

// Wait takes a slot, and waits for it if necessary. If the wait would exceed MaxWait, it
// returns a [Refusal] at once. If the wait would reach the deadline of ctx, it returns
// context.DeadlineExceeded at once. If ctx ends during the wait, it returns ctx.Err().
func (r *Rate) Wait(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.Allow() {
		return nil
	}
	deadline, _ := ctx.Deadline()
	_, err := r.wait(ctx, deadline)
	return err
}

// take takes a slot, or returns how long it takes until one is free.
func (r *Rate) take() (slot int64, wait time.Duration) {
	now, rule := int64(time.Since(r.begun)), r.rule.Load()
	for {
		state := r.state.Load()
		next, wait := rule.take(state, now)
		if next == state {
			return next, wait
		}
		if wait > 0 { // the state is too late for now
			// It is the one of another goroutine, which has read the clock later, or of
			// another clock.
			now = int64(time.Since(r.begun))
			next, wait = rule.take(state, now)
		}
		if next == state || r.state.CompareAndSwap(state, next) {
			return next, wait
		}
	}
}

// wait is Wait after allow has failed. The deadline may be zero.
//
//go:noinline
func (r *Rate) wait(ctx context.Context, deadline time.Time) (slot int64, err error) {
	r.mu.Lock()
	if remote := r.remote; remote != nil {
		r.mu.Unlock()
		return 0, r.reserve(ctx, deadline, remote)
	}
	rule := r.rule.Load()
	var wait time.Duration
	if r.queue.len == 0 {
		if slot, wait = r.take(); wait == 0 {
			r.mu.Unlock()
			return slot, nil
		}
	} else {
		_, wait = rule.take(r.state.Load(), int64(time.Since(r.begun)))
		wait += time.Duration(int64(r.queue.len) * rule.interval)
	}
	switch {
	case wait > rule.MaxWait:
		r.mu.Unlock()
		r.refused.Add(1)
		return 0, Refusal{By: ByRate, Name: rule.Name, AdmitsIn: wait}
	case !deadline.IsZero() && wait >= time.Until(deadline):
		r.mu.Unlock()
		return 0, context.DeadlineExceeded
	}
	w := r.queue.push(0)
	if r.queue.len == 1 {
		r.crowded.Store(true)
		r.queue.wake(wait, r.grant)
	}
	r.mu.Unlock()

	select {
	case <-w.answer:
		if err := ctx.Err(); err != nil { // the slot came at the same time
			r.giveBack(w.slot)
			return 0, err
		}
		return w.slot, nil
	case <-ctx.Done():
		r.abandon(w)
		return 0, ctx.Err()
	}
}

// abandon ends the wait of an attempt whose context has ended.
func (r *Rate) abandon(w *waiter) {
	r.mu.Lock()
	waits := r.queue.remove(w)
	if r.queue.len == 0 {
		r.crowded.Store(false)
	}
	r.mu.Unlock()
	if !waits { // the slot came first
		<-w.answer
		r.giveBack(w.slot)
	}
}

// grantSlots gives the slots that are free now to the attempts that wait.
func (r *Rate) grantSlots() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.queue.len > 0 {
		slot, wait := r.take()
		if wait > 0 {
			r.queue.wake(wait, r.grant)
			return
		}
		r.queue.first.slot = slot
		r.queue.pop(true)
	}
	r.crowded.Store(false)
}

// isShared reports whether processes share the rate.
func (r *Rate) isShared() bool {
	if !r.crowded.Load() { // a rate that is shared always is
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.remote != nil
}

// giveBack returns the slot of an attempt that does not start. If a later slot has been
// taken, it is spent: the next attempt would be too close to the one of that slot.
func (r *Rate) giveBack(slot int64) {
	if r.isShared() {
		return // the slot is spent
	}
	if r.state.CompareAndSwap(slot, slot-r.rule.Load().interval) && r.crowded.Load() {
		r.grantSlots()
	}
}
