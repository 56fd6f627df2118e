package durable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// Step executes fn as a step of the run in ctx, or returns its recorded result. The name
// identifies the step within the run. For a step in a loop, use [Scope]. Results are
// recorded as JSON and may be at most 1 MiB long.
//
// With a policy, fn is retried under the policy, within and across executions of the run.
// If an attempt may have taken effect, the run pauses. Generated code for a binding with
// idempotent: true makes another attempt instead: see [genapi.StepPolicy]. The error of
// an exhausted step is a [*StepError].
//
// With a nil policy, only a success of fn is recorded. An error of fn is returned
// unchanged, and the next execution of the run calls fn again. The same happens after a
// crash. Use such steps for reads, clocks and random numbers.
//
// If the same step is called again in the same execution of the run after the first call
// has succeeded, the error matches [ErrRepeated]. With [genapi.StepPolicy.Repeat], the
// second call returns a copy of the result. If Step is called within another step, it is
// part of that step: fn is called with retries under p, and nothing is recorded. Without
// a run in ctx, the error matches [ErrNoRun], and fn is not called.
func Step[T any](ctx context.Context, name string, p *retry.Policy, fn func(context.Context) (T, error)) (T, error) {
	return genapi.Call(ctx, &genapi.StepPolicy{Name: name, Policy: p}, genapi.StepID{}, genapi.Digest{}, fn)
}

// InStep reports whether the context belongs to an attempt of a step.
func (c *runContext) InStep() bool { return c.attempt != nil }

// CallStep executes a step of the run.
func (c *runContext) CallStep(
	ctx context.Context, s *genapi.StepPolicy, id genapi.StepID, args genapi.Digest, first genapi.FirstAttempt,
	fn func(context.Context) (any, error), into any,
) error {
	f, _ := first.(*firstAttempt)
	call, err := c.x.newCall(ctx, c.unit, s, id, args)
	if err != nil {
		return f.abandon(err)
	}
	call.fn, call.first = fn, f
	result, err := c.x.step(ctx, call)
	if err != nil {
		return err
	}
	return resultError(c.x.id, call.key.ID, result.Decode(c.x.e.ns.Codec, into))
}

// A stepCall is one call of a step.
type stepCall struct {
	policy   *genapi.StepPolicy // the policy in force when the call began
	declared *genapi.StepPolicy // the policy that the caller has passed
	key      storage.Key
	digest   string
	fn       func(context.Context) (any, error)
	first    *firstAttempt  // the first attempt if it has failed and is not recorded yet, or nil
	call     *retry.Call    // the call of the attempt that is executing
	ledger   *ledger        // the ledger of the run or of the unit
	unit     *unitCall      // the unit of a group, or nil
	former   bool           // key contains a name from StepPolicy.Formerly
	reported bool           // EventChanged was reported
	again    bool           // the step was called earlier in this execution, and has returned
	kept     record.Payload // the result, if nothing else of the step is kept
	lapsed   bool           // the attempt was canceled because another engine may repeat it
	attempt  *attempt       // the latest attempt
	pause    *pausing       // set for a step that only waits
	returned bool           // the result is not recorded
}

func (x *execution) newCall(
	ctx context.Context, u *unitCall, s *genapi.StepPolicy, id genapi.StepID, args genapi.Digest,
) (*stepCall, error) {
	digest, err := args.Text()
	if err != nil {
		return nil, fmt.Errorf("step %q: %w", s.Name, err)
	}
	if err := x.e.checkStep(s); err != nil {
		return nil, err
	}
	name, err := id.Path(scopes(ctx), s.Name)
	if err != nil {
		return nil, err
	}
	c := &stepCall{
		policy: s.InForce(), declared: s,
		key: x.e.ns.Key(storage.KindStep, x.id, name), digest: digest, ledger: x.steps, unit: u,
	}
	if u != nil {
		c.ledger = u.steps
	}
	if len(s.Formerly) > 0 {
		err = x.findFormer(ctx, c, id)
	}
	return c, err
}

// findFormer lets the call use the record under an earlier name, if there is one and there is
// none under the current name.
func (x *execution) findFormer(ctx context.Context, c *stepCall, id genapi.StepID) error {
	keys, ids := []storage.Key{c.key}, []string{c.key.ID}
	for _, name := range c.policy.Formerly {
		former, err := id.Path(scopes(ctx), name)
		if err != nil {
			return err
		}
		keys, ids = append(keys, x.e.ns.Key(storage.KindStep, x.id, former)), append(ids, former)
	}
	if x.isComplete(c.ledger) && !x.knowsAny(c.ledger, ids) {
		return nil
	}
	records, err := x.e.ns.Store.Get(ctx, keys)
	if err != nil {
		return x.failed(ctx, err)
	}
	for i, r := range records {
		if r.Version != 0 {
			c.key, c.former = keys[i], i > 0
			return nil
		}
	}
	return nil
}

// A flight is the execution of a step for which several callers may wait.
type flight struct {
	done   chan struct{}
	policy *genapi.StepPolicy
	result *record.Payload
	err    error
	again  bool // the context of the caller that executed it has ended, and other callers continue
}

// step returns the result of a step. It executes the step if necessary.
func (x *execution) step(ctx context.Context, c *stepCall) (*record.Payload, error) {
	for {
		f, recorded, err := x.join(c)
		if f == nil || f.done != nil {
			c.dropFirst()
		}
		switch {
		case err != nil:
			return nil, err
		case recorded != nil:
			x.recalled(ctx, c)
			return x.answer(ctx, c, recorded)
		case f.done == nil:
			return x.fly(ctx, c)
		}
		select {
		case <-f.done:
			if shared := f.err != nil || c.policy.Repeat || c.policy.Record == genapi.RecordFailures; shared && !f.again {
				return f.result, f.err
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// join returns the recorded step, or the flight of another caller, or a flight without a
// channel if the caller has to execute the step.
func (x *execution) join(c *stepCall) (*flight, *finishedStep, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if f := c.ledger.finished[c.key.ID]; f != nil {
		c.again, f.returned = f.returned, true
		return nil, f, nil
	}
	if f := x.flights[c.key.ID]; f != nil {
		return f, nil, x.mistaken(c, f.policy.Function)
	}
	if c.first == nil { // otherwise, it has already entered, and its failure is being recorded
		if x.halted != nil {
			return nil, nil, x.halted
		}
		x.gate.enter() // the gate is open until the execution is halted
	}
	c.ledger.calls(c.key.ID)
	if c.ledger.pending[c.key.ID] && c.ledger.called[c.key.ID] == 0 {
		c.ledger.called[c.key.ID] = storage.StatusOpen // whatever the result of this call will be
	}
	x.flights[c.key.ID] = &flight{done: make(chan struct{}), policy: c.policy}
	return &flight{}, nil, nil
}

// repeated returns the error for another call of a step that has already returned its result.
func (x *execution) repeated(c *stepCall) error {
	return fmt.Errorf("step %q of run %q: %w: tell its calls apart by their ids or durable.Scope, or set repeat: true",
		c.key.ID, x.id, ErrRepeated)
}

// fly executes a step for all callers that wait for it.
func (x *execution) fly(ctx context.Context, c *stepCall) (result *record.Payload, err error) {
	ctx, end := x.startStep(ctx, c)
	returned := false
	defer func() {
		if returned {
			end(err)
		} else {
			value := recover()
			end(errPanicked)
			x.panics(ctx, value)
			if value != nil {
				defer panic(value)
			}
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		f := x.flights[c.key.ID]
		delete(x.flights, c.key.ID)
		f.result, f.err = result, err
		f.again = !returned || err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx))
		close(f.done)
		if !c.returned {
			c.ledger.names[record.StepName(c.key.ID)] = true
		}
		x.gate.leave()
	}()
	result, err = x.lead(ctx, c)
	returned = true
	return result, err
}

// lead executes a step until it is finished or the execution of its run ends.
func (x *execution) lead(ctx context.Context, c *stepCall) (*record.Payload, error) {
	next, err := x.begin(ctx, c)
	if err == nil && next.kind == nextFinished && next.event.Kind == 0 {
		x.recalled(ctx, c)
	}
	for err == nil {
		x.emit(ctx, c, &next)
		switch next.kind {
		case nextFinished:
			f := finishedOf(next.record.Status, &next.body)
			x.remember(c, f)
			return x.answer(ctx, c, &f)
		case nextBlocked:
			x.note(c, next.record.Status)
			return nil, &PausedError{Run: x.id, Steps: []string{c.key.ID}}
		case nextWait:
			x.note(c, storage.StatusWaiting)
			if err = x.wait(ctx, c, next.wait, next.now); err == nil {
				next, err = x.start(ctx, c, true)
			}
		case nextDecide:
			next, err = x.start(ctx, c, false)
		case nextReturn:
			x.forget(c)
			c.returned = true
			return next.result, nil
		case nextCall:
			x.note(c, storage.StatusExecuting)
			next, err = x.attempt(ctx, c, next)
		}
	}
	if errors.Is(err, storage.ErrFormat) {
		x.halt(err)
	}
	return nil, err
}

// recalled reports that a step returns its recorded result.
func (x *execution) recalled(ctx context.Context, c *stepCall) {
	x.e.ns.Event(
		ctx, events.Event{Kind: events.EventRecalled, Run: x.id, Step: c.key.ID, Name: c.policy.Name, Fence: x.fence},
	)
}

// answer returns the recorded result or error of a finished step.
func (x *execution) answer(ctx context.Context, c *stepCall, f *finishedStep) (*record.Payload, error) {
	if err := x.changed(ctx, c, f); err != nil {
		return nil, err
	}
	if c.again && f.succeeded() && !c.policy.Repeat {
		return nil, x.repeated(c)
	}
	switch {
	case f.body == nil:
		c.kept = record.Payload{JSON: f.result}
		return &c.kept, nil
	case f.status != storage.StatusSucceeded:
		return nil, x.stepError(c, f.body)
	case f.body.Result == nil:
		return &record.Payload{}, nil
	case f.body.Result.Entry > 0:
		result, err := x.e.ns.Large(ctx, c.key, f.body.Result.Entry)
		if err != nil {
			return nil, x.failed(ctx, err)
		}
		return result, nil
	}
	return f.body.Result, nil
}

// mistaken returns the error for a call of a function other than the one that has recorded the
// step, or nil.
func (x *execution) mistaken(c *stepCall, recorded string) error {
	s := c.policy
	if recorded == s.Function || recorded == "" || c.former || slices.Contains(s.Formerly, recorded) {
		return nil
	}
	return &ChangedError{Run: x.id, Step: c.key.ID, Recorded: recorded, Called: s.Function}
}

// changed returns the error for a recorded step that is called with different arguments, or
// only reports it.
func (x *execution) changed(ctx context.Context, c *stepCall, f *finishedStep) error {
	if err := x.mistaken(c, f.function); err != nil {
		return err
	}
	if f.imported || string(f.arguments) == c.digest {
		return nil
	}
	names := record.OtherArguments(string(f.arguments), c.digest)
	if names == nil {
		return nil
	}
	if c.policy.OnChanged == genapi.ChangedReport {
		x.reportChange(ctx, c)
		return nil
	}
	return &ChangedError{Run: x.id, Step: c.key.ID, Arguments: names}
}

// reportChange reports, once per call, that a recorded step is called with different arguments.
func (x *execution) reportChange(ctx context.Context, c *stepCall) {
	if !c.reported {
		c.reported = true
		x.e.ns.Event(
			ctx, events.Event{Kind: events.EventChanged, Run: x.id, Step: c.key.ID, Name: c.policy.Name, Fence: x.fence},
		)
	}
}

// stepError returns the error of a finished step.
func (x *execution) stepError(c *stepCall, body *record.Step) error {
	e := &StepError{
		Run: x.id, Step: c.key.ID, Policy: body.Policy, Reason: body.Reason, Escalated: body.Escalated,
		Attempts: body.Attempts, Waited: body.Call.Waited, errors: c.policy.Errors,
	}
	if body.Error != nil {
		e.Class, e.Text, e.targets = body.Error.Class, body.Error.Text, body.Error.Targets
	}
	return e
}

// wait waits before an attempt, or parks the run if the wait is too long. now is the time of
// the store from which d is measured.
func (x *execution) wait(ctx context.Context, c *stepCall, d time.Duration, now time.Time) error {
	deadline, limited := ctx.Deadline()
	if limited && time.Until(deadline) <= d || c.policy.ParkAfter > 0 && d > c.policy.ParkAfter {
		return x.parkCaller(c.unit, now.Add(d))
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-x.stop:
		return x.park(now.Add(d)) // this wait continues if the others are parked
	}
}
