package durable

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/namespace"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// An execution is one call of Run, or of a handler by a worker. It owns its run under a fence.
type execution struct {
	e      *Engine
	owner  *owner
	id     string // the id of the run
	parent string // the id of the run in which it was called, or ""
	fence  uint64
	run    record.Run     // the run when it was claimed
	known  storage.Record // the record of the run as stored by a worker; Version 0: unknown
	latest atomic.Pointer[runView]

	settings sync.Map // settings of policies: *retry.Policy to retry.Settings

	awaited atomic.Bool // the record says that the run has waited for other runs

	handler string   // the name of the handler that a worker calls, or ""
	job     *jobCall // the step of a job, if the claim has started it, or nil
	awaits  []string // the runs for whose ends the execution is parked

	holds    bool                        // ends of attempts may be deferred: see Hold
	deferred atomic.Pointer[deferredEnd] // the deferred end, or nil

	claimed atomic.Bool   // fence and run are set
	gaps    atomic.Uint64 // the number of gaps in the owner's lease at the last time the run was known to be owned

	ctx    context.Context // the context of the caller, until it is canceled
	cancel context.CancelCauseFunc
	stop   chan struct{} // closed when the execution is halted

	mu       sync.Mutex
	halted   error                         // why no further step starts
	flights  map[string]*flight            // steps that are executing, by id
	gate     *gate                         // counts the flights and the first attempts without a flight
	steps    *ledger                       // the steps outside groups
	created  bool                          // the run did not exist before this execution
	untidy   bool                          // a group has ended without some steps of its units
	attempts map[*attempt]struct{}         // the attempts with a cancelable context
	firsts   atomic.Pointer[firstAttempts] // the first attempts for the next steps
	lapses   atomic.Uint64                 // the number of calls of lapse
}

func newExecution(ctx context.Context, e *Engine, o *owner, id string) *execution {
	// The steps of a run do not depend on the context in which the run is called.
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, scopeKey{}, ""))
	return &execution{
		e: e, owner: o, id: id, ctx: ctx, cancel: cancel, stop: make(chan struct{}),
		flights: map[string]*flight{}, gate: newGate(), steps: newLedger(readAhead), attempts: map[*attempt]struct{}{},
	}
}

// halt ends the execution: no further attempt starts. Attempts that are executing may end and
// are recorded, unless the run has another owner by then.
func (x *execution) halt(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.halted == nil {
		x.halted = err
		x.stopSteps()
	}
	if errors.Is(err, ErrFenced) || errors.Is(err, ErrCanceled) {
		x.cancel(err)
	}
}

// stopSteps prevents further steps from starting, after halted was set.
func (x *execution) stopSteps() {
	close(x.stop)
	x.gate.close()
}

// failed returns the error for the caller of a step whose records could not be read or changed.
// After such an error, nothing more is executed, even if the function of the run ignores the
// error.
func (x *execution) failed(ctx context.Context, err error) error {
	switch {
	case unsent(ctx, err):
		return context.Cause(ctx)
	case unusable(err) || errors.Is(err, ErrFenced) || errors.Is(err, ErrCanceled) || isHeld(err):
		x.halt(err)
	}
	return err
}

// isHeld reports whether err means that an operator has paused the run.
func isHeld(err error) bool {
	paused, ok := errors.AsType[*PausedError](err)
	return ok && paused.Held
}

// parked returns the error for a run that is parked until a given time.
func (x *execution) parked(until time.Time) *ParkedError {
	return &ParkedError{Run: x.id, Until: until, Worker: x.handler != ""}
}

// park halts the execution because of a wait until a given time.
func (x *execution) park(until time.Time) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	parked, ok := errors.AsType[*ParkedError](x.halted)
	switch {
	case x.halted == nil:
		parked = x.parked(until)
		x.halted = parked
		x.stopSteps()
	case !ok:
		return x.halted
	case record.Earlier(until, parked.Until):
		parked = x.parked(until)
		x.halted = parked
	}
	return parked
}

// parkCaller parks the run until a given time, or until other runs have ended. For a unit of a
// group, it parks only the unit, and other units continue.
func (x *execution) parkCaller(u *unitCall, until time.Time, awaits ...string) error {
	x.mu.Lock()
	list := &x.awaits
	if u != nil {
		list = &u.awaits
	}
	for _, run := range awaits {
		if !slices.Contains(*list, run) {
			*list = append(*list, run)
		}
	}
	if u == nil || x.halted != nil {
		x.mu.Unlock()
		return x.park(until)
	}
	defer x.mu.Unlock()
	if !u.isParked || record.Earlier(until, u.until) {
		u.until = until
	}
	u.isParked = true
	return x.parked(until)
}

// err returns why no further attempt starts, or nil.
func (x *execution) err() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.halted
}

// execute calls the function of the run and records how the function ended. ctx is the context
// of the caller.
func (x *execution) execute(
	ctx context.Context, fn func(context.Context) (record.Payload, error),
) (result record.Payload, err error) {
	inner, end := x.startRun(x.ctx)
	err = errPanicked // replaced if the function returns
	defer func() { end(err) }()
	if !x.run.Deadline.IsZero() {
		// The deadline refers to the clock of the store.
		var stop context.CancelFunc
		inner, stop = context.WithTimeoutCause(inner, x.run.Deadline.Sub(x.run.Claimed), ErrTimedOut)
		defer stop()
	}
	result, err = x.call(inner, fn)
	x.halt(errReturned)
	x.gate.wait()
	if err == nil && result.Refuse != "" {
		err = resultError(x.id, "", result.Refused())
	}
	patient, done := namespace.WithGrace(x.ctx) // the grace period begins now if the context has already ended
	defer done()
	return x.finish(ctx, patient, inner, result, err)
}

// errReturned halts an execution whose function has returned.
var errReturned = fmt.Errorf("the function of the run has returned: %w", ErrNoRun)

// call calls the function of the run, unless its context has ended or its steps cannot be read.
// If the function panics, the panic continues after the steps have returned, the run stays
// open, and the crash is counted.
func (x *execution) call(
	ctx context.Context, fn func(context.Context) (record.Payload, error),
) (p record.Payload, err error) {
	if ctx.Err() != nil {
		return record.Payload{}, context.Cause(ctx)
	}
	if err := x.err(); err != nil {
		return record.Payload{}, err
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		value := recover()
		ev := events.Event{
			Kind: events.EventPanicked, Run: x.id, Fence: x.fence,
			Err: errors.New(panicText(value)), Stack: string(debug.Stack()),
		}
		x.cancel(errReturned)
		x.halt(errReturned)
		x.gate.wait()
		err := x.crashed(ctx, value)
		x.e.ns.Event(ctx, ev)
		if err != nil { // the next renewal releases the run
			x.e.leave(x)
			x.e.ns.Event(ctx, events.Event{Kind: events.EventStoreError, Run: x.id, Err: err})
		}
		if value != nil {
			panic(value)
		}
	}()
	p, err = fn(&runContext{Context: ctx, x: x})
	returned = true
	return p, err
}

// An ending describes how an execution of a run ended.
type ending struct {
	status storage.Status
	due    time.Time
	awaits []string // for StatusParked: the runs that have to end first
	result *record.Payload
	leaves bool   // for StatusSucceeded: there are unfinished steps, which are abandoned
	tail   bool   // the transaction that ends the run does not abandon all of them
	text   string // the text of the function's error
	err    error  // the error for the caller
}

// finish records the end of an execution. outer is the caller's context, ctx is the context for
// recording, and inner is the context of the function.
func (x *execution) finish(
	outer, ctx, inner context.Context, result record.Payload, fnErr error,
) (record.Payload, error) {
	defer func() { _ = x.flush(ctx) }() // in case no transaction below has recorded the deferred end
	end := x.ending(outer, inner, result, fnErr)
	if end.status == 0 { // nothing more is recorded for this execution
		x.settled(ctx, 0)
		x.e.ns.Event(inner, events.Event{Kind: events.EventFenced, Run: x.id, Fence: x.fence})
		return record.Payload{}, end.err
	}
	var left []storage.Key
	var err error
	if end.status == storage.StatusSucceeded {
		left, end.tail, err = x.left(ctx)
		end.leaves = len(left) > 0
	} else {
		left, err = x.memberLetters(ctx, end)
	}
	var answer ending
	var member groupAnswer
	var abandoned []string
	settle := func() error {
		return x.withOthers(ctx, end.awaits, left, func(tx storage.Tx) (w storage.Writes, err error) {
			w, answer, err = x.decideFinish(tx, end, &member)
			if abandoned = nil; err == nil && len(w.Put) > 0 && answer.status == storage.StatusSucceeded {
				abandoned, err = namespace.Abandon(x.id, tx.Records, &w)
			}
			return w, err
		})
	}
	if err == nil {
		if err = settle(); errors.Is(err, errUnfold) {
			if err = x.unfoldEnd(ctx); err == nil {
				err = settle()
			}
		}
	}
	if err != nil {
		// The next renewal releases the run.
		x.e.leave(x)
		return record.Payload{}, errors.Join(end.err, err)
	}
	x.settled(ctx, answer.status)
	x.e.ns.Event(inner, events.Event{Kind: endEvents[answer.status], Run: x.id, Fence: x.fence, Err: answer.err})
	x.e.ns.Notify(x.id)
	x.reportMember(inner, answer, &member)
	x.e.ns.ReportAbandoned(ctx, x.id, abandoned)
	if answer.tail {
		x.endTail(ctx)
	}
	return result, answer.err
}

// endEvents maps the status after an execution to the event that reports its end. Zero is not a
// status: it means that another engine has claimed the run.
var endEvents = map[storage.Status]events.Kind{
	0:                       events.EventFenced,
	storage.StatusSucceeded: events.EventCompleted, storage.StatusFailed: events.EventRunFailed,
	storage.StatusParked: events.EventParked, storage.StatusPaused: events.EventPaused,
	storage.StatusCanceled: events.EventRunCanceled, storage.StatusTimedOut: events.EventTimedOut,
	storage.StatusOpen: events.EventReleased,
}

// ending returns how the execution ended.
func (x *execution) ending(outer, inner context.Context, result record.Payload, fnErr error) ending {
	x.mu.Lock()
	defer x.mu.Unlock()
	var unfinished, paused []string
	for id, status := range x.steps.called {
		if unfinished = append(unfinished, id); record.Blocked(status) {
			paused = append(paused, id)
		}
	}
	slices.Sort(unfinished)
	slices.Sort(paused)
	parked, isParked := errors.AsType[*ParkedError](x.halted)
	switch {
	case errors.Is(x.halted, ErrFenced):
		return ending{err: x.halted}
	case errors.Is(x.halted, ErrCanceled):
		return ending{status: storage.StatusCanceled, err: ErrCanceled}
	case unusable(x.halted):
		return ending{status: storage.StatusOpen, err: x.halted}
	case fnErr == nil && len(unfinished) == 0 && !isParked && !isHeld(x.halted):
		return ending{status: storage.StatusSucceeded, result: &result}
	case outer.Err() != nil: // possibly with the timeout of an outer run
		return ending{status: storage.StatusOpen, err: context.Cause(outer)}
	case context.Cause(inner) == ErrTimedOut:
		return ending{status: storage.StatusTimedOut, err: ErrTimedOut}
	case context.Cause(inner) == ErrClosed:
		return ending{status: storage.StatusOpen, err: ErrClosed}
	case isHeld(x.halted):
		return ending{status: storage.StatusPaused, err: x.halted}
	case len(paused) > 0:
		return ending{status: storage.StatusPaused, err: &PausedError{Run: x.id, Steps: paused}}
	case isParked && record.Earlier(x.run.Deadline, parked.Until):
		err := x.parked(x.run.Deadline)
		return ending{status: storage.StatusParked, due: parked.Until, awaits: x.awaits, err: err}
	case isParked:
		return ending{status: storage.StatusParked, due: parked.Until, awaits: x.awaits, err: parked}
	case fnErr == nil:
		return ending{status: storage.StatusOpen, err: &UnfinishedError{Run: x.id, Steps: unfinished}}
	}
	return ending{status: storage.StatusFailed, text: record.Clip(record.ErrorText(fnErr)), err: fnErr}
}

// decideFinish decides on the end of an execution.
func (x *execution) decideFinish(tx storage.Tx, end ending, member *groupAnswer) (storage.Writes, ending, error) {
	r := tx.Record(x.e.ns.Key(storage.KindRun, x.id, ""))
	b, err := record.Decode[record.Run](r)
	if err != nil {
		return storage.Writes{}, end, err
	}
	end = end.operated(r, &b)
	if r.Owner != x.owner.id || r.Fence != x.fence {
		if r.Fence == x.fence && r.Owner == "" && r.Status == end.status {
			return storage.Writes{}, end, nil // the same end was already recorded
		}
		return storage.Writes{}, ending{err: ErrFenced}, nil
	}
	if err := x.settle(&r, &b, end.status); err != nil {
		return storage.Writes{}, end, err
	}
	r.Owner, r.Status, r.Due, r.Attention = "", end.status, end.due, end.status == storage.StatusPaused
	switch {
	case end.status.EndsRun():
		b.End(&r, end.status, tx.Now)
	case end.status == storage.StatusPaused:
		b.Ended = tx.Now
	}
	b.Error, b.Result = end.text, end.result
	if end.status != storage.StatusPaused {
		b.Hold = nil
	}
	w, err := x.link(tx, &r, &b, end)
	if err != nil {
		return storage.Writes{}, end, err
	}
	unit, err := x.endMember(tx, end, member)
	if err != nil {
		return storage.Writes{}, end, err
	}
	for _, put := range unit.Put {
		both := slices.ContainsFunc(w.Put, func(r storage.Record) bool { return r.Key == put.Key })
		if !both { // otherwise, the record is due for both reasons
			w.Put = append(w.Put, put)
		}
	}
	w.Add = append(w.Add, unit.Add...)
	if end.status == storage.StatusParked {
		if b.Woken {
			record.DueNow(&r, tx.Now) // a unit has ended, or a signal has arrived, in the meantime
		}
		if record.Earlier(b.Deadline, r.Due) {
			r.Due = b.Deadline
		}
	}
	b.Woken = false
	if end.status == storage.StatusSucceeded {
		b.Recoveries, b.Panic = 0, ""
	}
	b.Abandoned = b.Abandoned || end.leaves
	if b.Tail = end.tail; b.Tail {
		r.Due = tx.Now
	}
	if err := record.Encode(&r, &b); err != nil {
		return storage.Writes{}, end, err
	}
	w.Put = append(w.Put, r)
	return w, end, nil
}

// operated returns how the execution ended if operators have changed the run in the meantime.
func (end ending) operated(r storage.Record, b *record.Run) ending {
	switch {
	case r.Status == storage.StatusCanceled:
		return ending{status: storage.StatusCanceled, err: ErrCanceled}
	case b.Hold == nil && end.status == storage.StatusPaused && isHeld(end.err):
		end.status = storage.StatusOpen // the run was resumed
	case b.Hold == nil || end.status.EndsRun() && end.status != storage.StatusFailed:
	case end.status == storage.StatusOpen: // the caller is gone
		end.status = storage.StatusPaused
	default:
		return ending{status: storage.StatusPaused, err: held(r.Key.Run, b.Hold), text: end.text}
	}
	return end
}
