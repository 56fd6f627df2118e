package durable

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// A groupCall is one call of Group. It executes the units that have not ended. Its goroutine
// starts them, and passes on decisions. Each unit records its end in its own goroutine.
type groupCall struct {
	x      *execution
	outer  *unitCall // the unit in which the group is called, or nil
	ledger *ledger   // the ledger of the outer unit or of the run
	group  *job.Group
	policy job.GroupPolicy
	ids    record.GroupIDs
	units  []string

	op          func(ctx context.Context, unit string) (record.Payload, error)
	provisional func(context.Context, *record.Group, *record.GroupDecision) error // or nil

	body record.Group // as last read or written
	now  time.Time    // the time of the store when body was read or written
	at   time.Time    // the time of this process when body was read or written

	fresh   bool            // no unit was executed before this call
	forced  bool            // the group has ended, and only requeued units are executed
	todo    []string        // units that have not been started
	only    map[string]bool // the units of todo that have not ended; nil means all
	started []string        // ids of the units whose runs had not ended when they were last read
	starter *starter        // starts the runs of units, or nil if this process executes the units
	running int
	parked  []*unitCall // units that wait without a goroutine, and are started again later
	blocked []*unitCall // units that wait for a person, or that have dropped the error of a step
	ends    chan *unitCall
	over    chan struct{} // closed when nothing receives from ends any more
}

// errGroupEnded is the cause with which the contexts of units end if a group does not wait for
// them.
var errGroupEnded = errors.New("the group has ended without this unit")

func newGroupCall(ctx context.Context, c *runContext, g *job.Group, units []string) (*groupCall, error) {
	p := g.Policy()
	if c == nil {
		return nil, fmt.Errorf("group %q: %w", p.Name, ErrNoRun)
	}
	if p.Breaker != nil {
		breaker := *p.Breaker
		breaker.Count = nil // this has no effect, and is not plain data
		p.Breaker = &breaker
	}
	call := &groupCall{
		x: c.x, outer: c.unit, ledger: c.x.steps, group: g, policy: p, units: units,
		ids: record.NewGroupIDs(scopes(ctx), p.Name), ends: make(chan *unitCall), over: make(chan struct{}),
	}
	if c.unit != nil {
		call.ledger = c.unit.steps
	}
	return call, nil
}

// execute executes the group until it ends, and returns the decision, or the reason why the
// group continues later. With [retry.ErrTimeout], it returns both.
func (g *groupCall) execute(ctx context.Context) (*record.GroupDecision, error) {
	if err := g.enter(); err != nil {
		return nil, err
	}
	ended := false
	defer func() { g.leave(ended) }()
	if err := g.open(ctx); err != nil {
		return nil, g.x.failed(ctx, err)
	}
	execute := g.run
	if g.starter != nil {
		execute = g.await
	}
	if err := execute(ctx); err != nil {
		return nil, err
	}
	if err := g.close(ctx); err != nil {
		return nil, g.x.failed(ctx, err)
	}
	ended = true
	if g.body.End.TimedOut {
		return g.body.End, retry.ErrTimeout
	}
	return g.body.End, nil
}

// enter records that the group has not ended. Its run does not succeed before the group has
// ended.
func (g *groupCall) enter() error {
	if g.policy.Name == "" {
		return fmt.Errorf("%w: the name of the group is empty", ErrID)
	}
	g.x.mu.Lock()
	defer g.x.mu.Unlock()
	note := g.ids.Note()
	switch {
	case g.x.halted != nil:
		return g.x.halted
	case g.ledger.called[note] == storage.StatusExecuting:
		return fmt.Errorf("group %q is executed by another call: use Scope for a second group: %w",
			g.policy.Name, ErrConflict)
	}
	g.ledger.called[note] = storage.StatusExecuting
	return nil
}

// leave records whether the group has ended.
func (g *groupCall) leave(ended bool) {
	g.x.mu.Lock()
	defer g.x.mu.Unlock()
	note := g.ids.Note()
	if g.ledger.called[note] = storage.StatusOpen; ended {
		delete(g.ledger.called, note)
	}
}

// run starts units and waits for them until the group has ended or cannot continue. After the
// group has ended, run does not wait for the remaining units.
func (g *groupCall) run(ctx context.Context) error {
	inner, cancel := context.WithCancelCause(ctx)
	defer close(g.over)
	for {
		err := g.pass(ctx)
		if err == nil {
			g.launch(inner)
			if g.ended() {
				cancel(errGroupEnded)
				return nil
			}
			err = g.wait(ctx)
		}
		if err != nil {
			if g.x.err() == nil {
				cancel(err)
			} // otherwise, no attempt starts, and the attempts that are executing end
			for ; g.running > 0; g.running-- {
				if u := <-g.ends; u.state == unitEnded {
					if failed := g.passOn(ctx, &u.answer); failed != nil {
						err = errors.Join(err, failed)
					}
				}
			}
			cancel(err)
			return err
		}
	}
}

// ended reports whether there is no unit to wait for.
func (g *groupCall) ended() bool {
	left := g.running + len(g.todo) + len(g.only) + len(g.parked) + len(g.blocked)
	return g.body.End != nil && (!g.forced || left == 0)
}

// launch starts as many units as the policy allows.
func (g *groupCall) launch(ctx context.Context) {
	if g.body.End != nil && !g.forced {
		return
	}
	for g.policy.Workers <= 0 || g.running < g.policy.Workers {
		u := g.next()
		if u == nil {
			return
		}
		g.running++
		go u.run(ctx)
	}
}

// next returns a parked unit that is due, or a unit that has not been started, or nil.
func (g *groupCall) next() *unitCall {
	now := g.clock()
	for i, u := range g.parked {
		if !u.until.IsZero() && !u.until.After(now) {
			g.parked = slices.Delete(g.parked, i, i+1)
			return u
		}
	}
	if unit, ok := g.nextName(); ok {
		return newUnitCall(g, unit)
	}
	return nil
}

// nextName returns the next unit that has not been started: first the units of the list, and
// then requeued units that are no longer in the list.
func (g *groupCall) nextName() (unit string, ok bool) {
	for len(g.todo)+len(g.only) > 0 {
		if len(g.todo) == 0 {
			g.todo = slices.Sorted(maps.Keys(g.only))
		}
		unit := g.todo[0]
		if g.todo = g.todo[1:]; g.only == nil || g.only[unit] {
			delete(g.only, unit) // the unit may also be in the list
			return unit, true
		}
	}
	return "", false
}

// clock returns the time of the store, as estimated by this process.
func (g *groupCall) clock() time.Time { return g.now.Add(time.Since(g.at)) }

// wake returns the time at which to check again if nothing happens before: when a parked unit
// is due, or when the policy decides because of the time.
func (g *groupCall) wake() (at time.Time) {
	for _, u := range g.parked {
		if record.Earlier(u.until, at) {
			at = u.until
		}
	}
	if g.body.End == nil {
		if due := g.body.Due(); record.Earlier(due, at) {
			at = due
		}
	}
	return at
}

// wait waits until something has happened. If the group cannot continue, wait returns the
// reason.
func (g *groupCall) wait(ctx context.Context) error {
	var timer <-chan time.Time
	wake := g.wake()
	if g.running == 0 && !g.due(wake) {
		return g.rest(wake)
	}
	if !wake.IsZero() {
		t := time.NewTimer(wake.Sub(g.clock()))
		defer t.Stop()
		timer = t.C
	}
	select {
	case u := <-g.ends:
		g.running--
		return g.returned(ctx, u)
	case <-timer:
		return g.tick(ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-g.x.stop:
		return g.x.err()
	}
}

// due reports whether a time has come.
func (g *groupCall) due(at time.Time) bool { return !at.IsZero() && !at.After(g.clock()) }

// tick makes a decision that depends on the time, if that time has come.
func (g *groupCall) tick(ctx context.Context) error {
	if g.body.End != nil || !g.due(g.body.Due()) {
		return nil
	}
	var d *record.GroupDecision
	err := g.update(ctx, nil, func(t *groupTx) error {
		d = t.body.Decide(t.Now)
		return nil
	})
	if err != nil {
		return g.x.failed(ctx, err)
	}
	g.decided(ctx, d)
	return nil
}

// returned handles the return of a unit.
func (g *groupCall) returned(ctx context.Context, u *unitCall) error {
	switch u.state {
	case unitEnded:
		return g.passOn(ctx, &u.answer)
	case unitParked:
		g.parked = append(g.parked, u)
	case unitBlocked:
		g.blocked = append(g.blocked, u)
	case unitStopped:
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return errors.Join(u.err, g.x.err())
	}
	return nil
}

// rest ends a call in which no unit is executing. The group continues at a given time, after
// other runs have ended, or after a person has acted.
func (g *groupCall) rest(wake time.Time) error {
	x := g.x
	var awaits []string
	for _, u := range g.parked {
		awaits = append(awaits, u.awaits...)
	}
	if !wake.IsZero() || len(awaits) > 0 {
		return x.parkCaller(g.outer, wake, awaits...)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	var paused, dropped []string
	for _, u := range g.blocked {
		for id, status := range u.steps.called {
			g.ledger.called[id] = status
			if record.Blocked(status) {
				paused = append(paused, id)
			} else {
				dropped = append(dropped, id)
			}
		}
	}
	if len(paused) > 0 {
		slices.Sort(paused)
		return &PausedError{Run: x.id, Steps: paused}
	}
	slices.Sort(dropped)
	return &UnfinishedError{Run: x.id, Steps: dropped}
}

// A groupAnswer is the result of a transaction about the end of a unit.
type groupAnswer struct {
	late     bool // the group had already ended, and nothing is counted
	repeated bool // the transaction was already committed
	updated  bool // there was already a provisional result
	dead     bool // the unit is a dead letter
	now      time.Time
	body     record.Group
	decision *record.GroupDecision // the decision that completes the group, or nil
	batch    []string              // failed units to pass on
	event    *job.Event
}

// passOn passes on the decisions that were made with the end of a unit.
func (g *groupCall) passOn(ctx context.Context, a *groupAnswer) error {
	if a.late {
		return nil
	}
	if a.body.Seq > g.body.Seq {
		g.body, g.now, g.at = a.body, a.now, time.Now()
	}
	if len(a.batch) > 0 {
		failures, err := g.x.e.failures(ctx, g.x.id, g.ids.Group, a.batch)
		if err != nil {
			return g.x.failed(ctx, err)
		}
		g.notify(ctx, job.Event{Kind: job.EventFailures, Failures: failures})
	}
	if a.event != nil {
		g.notify(ctx, *a.event)
	}
	g.decided(ctx, a.decision)
	return nil
}

// decided reports a decision if it completes the group.
func (g *groupCall) decided(ctx context.Context, d *record.GroupDecision) {
	if ev, ok := completion(d, &g.body); ok {
		g.notify(ctx, ev)
	}
}

// notify passes an event to the observers of the group and of the engine.
func (g *groupCall) notify(ctx context.Context, e job.Event) {
	g.group.Notify(ctx, e)
	e.Group, e.JobID = g.policy.Name, g.group.JobID()
	g.x.e.ns.Event(ctx, events.Event{Kind: events.EventJob, Run: g.x.id, Name: g.policy.Name, Fence: g.x.fence, Job: e})
}

// pass passes on the provisional result, unless this was already done.
func (g *groupCall) pass(ctx context.Context) error {
	if g.body.Early == nil || g.body.Passed || g.body.End != nil || g.provisional == nil {
		return nil
	}
	if err := g.provisional(ctx, &g.body, g.body.Early); err != nil {
		return err
	}
	err := g.update(ctx, nil, func(t *groupTx) error {
		t.body.Passed = true
		return nil
	})
	if err != nil {
		return g.x.failed(ctx, err)
	}
	return nil
}
