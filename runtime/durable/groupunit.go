package durable

import (
	"context"
	"errors"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// A unitState describes how an execution of a unit has returned.
type unitState uint8

const (
	unitEnded   unitState = iota // its end is recorded, or the group had already ended
	unitParked                   // it continues at a given time, or after other runs have ended
	unitBlocked                  // a step waits for a person, or is unfinished although op has returned
	unitStopped                  // the execution of the run ends
)

// A unitCall is the execution of a unit of a group.
type unitCall struct {
	g      *groupCall
	name   string
	member record.Member
	steps  *ledger

	// These fields are protected by the mutex of the execution while the unit is executed.
	isParked bool
	until    time.Time // when the unit continues, by the clock of the store; zero: after awaits have ended
	awaits   []string  // the runs that the unit waits for

	panicked bool // op has panicked: the process ends, and the group must not continue before

	// These fields belong to the goroutine of the group after the unit has returned.
	state  unitState
	err    error // for unitStopped
	answer groupAnswer
}

func newUnitCall(g *groupCall, name string) *unitCall {
	u := &unitCall{g: g, name: name, member: g.member(name), steps: newLedger(unitReadAhead)}
	u.steps.complete = g.fresh
	return u
}

// member returns the information about a unit that its steps need.
func (g *groupCall) member(unit string) record.Member {
	return record.Member{
		Run: g.x.id, Group: g.ids.Group, Step: g.ids.Unit(unit), Unit: unit, Name: g.policy.Name, JobID: g.group.JobID(),
		Budget: g.body.Budget,
	}
}

// run executes the unit, and then passes it to the goroutine of the group, unless op panics.
func (u *unitCall) run(ctx context.Context) {
	defer func() {
		if u.panicked {
			return
		}
		select {
		case u.g.ends <- u:
		case <-u.g.over:
		}
	}()
	u.isParked, u.until, u.awaits = false, time.Time{}, nil
	prefix := u.g.ids.Steps(u.name)
	if !u.steps.complete {
		u.steps.complete = true
		err := u.g.x.e.readAhead(ctx, storage.Query{
			Kind: storage.KindStep, Space: u.g.x.e.ns.Space, Run: u.g.x.id, FromID: prefix, BeforeID: record.Following(prefix),
		}, u.steps)
		if err != nil {
			u.state, u.err = unitStopped, u.g.x.failed(ctx, err)
			return
		}
	}
	inner := &runContext{Context: context.WithValue(ctx, scopeKey{}, prefix), x: u.g.x, unit: u}
	result, err := u.call(inner)
	u.finish(ctx, result, err)
}

// call calls op. A panic continues, and nothing is recorded.
func (u *unitCall) call(ctx context.Context) (result record.Payload, err error) {
	returned := false
	defer func() {
		if !returned {
			if value := recover(); value != nil {
				u.g.x.panics(ctx, value)
				u.panicked = true
				panic(value)
			}
			u.finish(ctx, record.Payload{}, job.ErrGoexit)
		}
	}()
	result, err = u.g.op(ctx, u.name)
	returned = true
	return result, err
}

// finish records the end of the unit, if it has ended.
func (u *unitCall) finish(ctx context.Context, result record.Payload, err error) {
	x := u.g.x
	x.mu.Lock()
	parked, halted, unfinished, waits := u.isParked, x.halted != nil, u.steps.hasUnfinished(), false
	for _, status := range u.steps.called {
		waits = waits || record.Blocked(status)
	}
	x.mu.Unlock()
	switch {
	case context.Cause(ctx) == errGroupEnded:
		u.late(ctx, err)
	case err != nil && (halted || ctx.Err() != nil || expired(ctx)):
		u.state, u.err = unitStopped, err
	case parked:
		u.state = unitParked
	case waits || err == nil && unfinished:
		u.state = unitBlocked
	default:
		u.record(ctx, result, err)
	}
}

// expired reports whether the deadline of a context has passed, even if Err does not report it
// yet.
func expired(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && !time.Now().Before(deadline)
}

// late reports the result of a unit that the group did not wait for.
func (u *unitCall) late(ctx context.Context, err error) {
	u.g.notify(ctx, job.Event{Kind: job.EventLateResult, Unit: u.name, Reason: job.ReasonLogged, Err: err})
}

// record records the end of the unit, together with the counters of the group, in one
// transaction.
func (u *unitCall) record(ctx context.Context, result record.Payload, err error) {
	g, x := u.g, u.g.x
	end := &unitEnd{token: record.Token(8), unit: u.name, status: job.UnitSucceeded, result: result}
	if err != nil {
		end.status, end.err = job.UnitFailed, newUnitError(&u.member, err)
	}
	key := x.e.ns.Key(storage.KindStep, x.id, u.member.Step)
	var letters []storage.Key
	var failed error
	if err != nil {
		letters, failed = x.e.lettersOf(ctx, x.id, g.ids.Steps(u.name))
	}
	if failed == nil {
		failed = x.insist(ctx, key, g.unitKeys(key, letters), func(tx storage.Tx) (storage.Writes, error) {
			return g.decideUnit(tx, key, end, &u.answer)
		})
	}
	switch {
	case failed != nil:
		x.halt(failed)
		u.state, u.err = unitStopped, failed
	case u.answer.late:
		u.late(ctx, err)
	default:
		if u.answer.updated {
			u.answer.event = &job.Event{Kind: job.EventLateResult, Unit: u.name, Reason: job.ReasonUpdated, Err: err}
		}
		x.e.ns.Event(ctx, events.Event{
			Kind: u.answer.kind(end), Run: x.id, Step: u.member.Step, Name: g.policy.Name, Fence: x.fence, Err: err,
		})
	}
}

// kind returns the kind of the event for the end of a unit.
func (a *groupAnswer) kind(e *unitEnd) events.Kind {
	switch {
	case a.dead:
		return events.EventDeadLetter
	case e.status == job.UnitFailed:
		return events.EventUnitFailed
	}
	return events.EventUnitSucceeded
}

// A unitEnd describes the end of a unit, in the form in which it is recorded.
type unitEnd struct {
	token  string
	unit   string
	run    string // the run that the unit is, or ""
	status job.UnitStatus
	result record.Payload
	err    *UnitError
}

// unitKeys returns the keys of the records that change at the end of a unit: the run, the
// group, the unit, and its dead letters.
func (g *groupCall) unitKeys(unit storage.Key, letters []storage.Key) []storage.Key {
	return append([]storage.Key{g.x.e.ns.Key(storage.KindRun, g.x.id, ""), g.key(), unit}, letters...)
}

// decideUnit decides on the end of a unit that the execution of a run has executed. It uses the
// records of unitKeys.
func (g *groupCall) decideUnit(tx storage.Tx, unit storage.Key, e *unitEnd, a *groupAnswer) (storage.Writes, error) {
	x := g.x
	run := tx.Record(x.e.ns.Key(storage.KindRun, x.id, ""))
	if run.Owner != x.owner.id || run.Fence != x.fence {
		return storage.Writes{}, ErrFenced
	}
	w, err := decideUnitEnd(tx, tx.Record(g.key()), tx.Record(unit), e, a)
	if err != nil || a.late || a.repeated {
		return w, err
	}
	b, err := x.openRun(run)
	if err != nil {
		return storage.Writes{}, err
	}
	if b.Recoveries > 0 { // there was progress
		b.Recoveries = 0
		err = record.Encode(&run, &b)
		w.Put = append(w.Put, run)
	}
	return w, err
}

// decideUnitEnd decides on the end of a unit. The end is counted only once. After the group has
// ended, it is counted only if the unit was requeued. If the unit is a dead letter, the other
// steps in tx are no longer listed separately.
func decideUnitEnd(tx storage.Tx, group, unit storage.Record, e *unitEnd, a *groupAnswer) (storage.Writes, error) {
	b, err := record.Decode[record.Group](group)
	if err != nil {
		return storage.Writes{}, err
	}
	s, err := record.Decode[record.Step](unit)
	switch {
	case err != nil:
		return storage.Writes{}, err
	case s.Last == e.token: // the reply was lost
		a.repeated = true
		return storage.Writes{}, nil
	case s.Child != e.run || unit.Status == storage.StatusAbandoned:
		*a = groupAnswer{late: true}
		return storage.Writes{}, nil
	case e.run != "" && s.Unit.Counted != job.UnitPending: // its run was executed again
		unit.Status, s.Unit.Requeued = storage.StatusOpen, true
	}
	if unit.Status != storage.StatusOpen || b.End != nil && !s.Unit.Requeued {
		*a = groupAnswer{late: true}
		return storage.Writes{}, nil
	}
	*a = groupAnswer{updated: b.Progress.Released > 0, now: tx.Now}
	v := stepView{now: tx.Now, step: unit, run: unit, body: s} // the unit and its run have the same bucket
	v.endUnit(e, b.Policy.OnUnitFailure)
	if e.status == job.UnitFailed {
		a.batch = b.KeepFailure(e.unit)
	}
	a.decision = b.Report(&v.body, e.status, tx.Now)
	a.body, a.dead = b, v.step.Status == storage.StatusDead
	err = errors.Join(record.Encode(&group, &b), record.EncodeStep(&v.step, &v.body))
	v.w.Put = append(v.w.Put, group, v.step)
	if a.dead {
		err = errors.Join(err, v.coverLetters(tx))
	}
	return v.w, err
}

// endUnit sets the fields in the record of a unit that describe its end.
func (v *stepView) endUnit(e *unitEnd, action job.FailureAction) {
	s := &v.body
	s.Attempts++
	s.Last, s.Ended = e.token, v.now
	if s.First.IsZero() {
		s.First = v.now
	}
	if e.status == job.UnitSucceeded {
		v.step.Status, s.Error, s.Reason, s.Escalated, s.Dead = storage.StatusSucceeded, nil, "", false, time.Time{}
		v.keepResult(e.result)
		return
	}
	v.step.Status = storage.StatusFailed
	if action == job.FailureDeadLetter || !s.Dead.IsZero() { // a requeued unit stays a dead letter until it has succeeded
		v.step.Status, s.Dead = storage.StatusDead, v.now
	}
	s.Error = &record.Error{Class: e.err.Class, Text: e.err.Text, Targets: e.err.targets}
	s.Reason, s.Escalated = e.err.Reason, e.err.Escalated
	v.w.Add = append(v.w.Add, v.newEntry(s.Attempts, 0, record.Entry{
		Outcome: events.OutcomeFailed, Started: v.now, Class: e.err.Class, Error: e.err.Text, Reason: e.err.Reason,
	}))
}

// A UnitError is the recorded error of a unit that has failed. The call to [Group] in
// which the unit failed and calls after a restart return equal errors.
type UnitError struct {
	Run, Group, Unit string
	// If the unit returned the error of a step, Reason is why that step was not retried
	// further. Otherwise it is "". errors.Is finds it.
	Reason    retry.Reason
	Escalated bool        // the error matches retry.ErrEscalated
	Class     retry.Class // class of the error, if a step returned it
	Text      string      // at most 4 KiB

	targets []string // texts of the errors in StepPolicy.Errors that it matches
}

// newUnitError returns the part of a unit's error that is recorded.
func newUnitError(m *record.Member, err error) *UnitError {
	e := &UnitError{Run: m.Run, Group: m.Group, Unit: m.Unit, Text: record.Clip(record.ErrorText(err))}
	if step, ok := errors.AsType[*StepError](err); ok {
		e.Reason, e.Escalated, e.Class, e.targets = step.Reason, step.Escalated, step.Class, step.targets
	} else if stopped, ok := errors.AsType[*retry.Error](err); ok {
		e.Reason, e.Escalated = stopped.Reason, stopped.Escalated
	}
	for _, target := range [...]error{ErrCanceled, ErrTimedOut} { // errors of a run
		if errors.Is(err, target) {
			e.targets = append(e.targets, target.Error())
		}
	}
	return e
}

// Error returns a message with the unit and the error.
func (e *UnitError) Error() string { return "unit " + e.Unit + " of group " + e.Group + ": " + e.Text }

// Is reports whether target is the reason, an error in genapi.StepPolicy.Errors that the
// step's error matched, or [ErrCanceled] or [ErrTimedOut] if the run has ended with it.
// Errors are compared by their text.
func (e *UnitError) Is(target error) bool {
	if reason, ok := target.(retry.Reason); ok {
		return reason == e.Reason || reason == retry.ErrEscalated && e.Escalated
	}
	for _, text := range e.targets {
		if text == target.Error() {
			return true
		}
	}
	return false
}
