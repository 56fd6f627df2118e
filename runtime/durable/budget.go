package durable

import (
	"errors"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// A budgetRecord is the count budget of a run, within a transaction.
type budgetRecord struct {
	record storage.Record
	body   record.CountBudget
	dirty  bool
}

func openBudget(r storage.Record) (*budgetRecord, error) {
	body, err := record.Decode[record.CountBudget](r)
	if err != nil {
		return nil, err
	}
	return &budgetRecord{record: r, body: body}, nil
}

// put appends the record to w if it has changed.
func (b *budgetRecord) put(w *storage.Writes) error {
	if b == nil || !b.dirty {
		return nil
	}
	err := record.Encode(&b.record, &b.body)
	w.Put = append(w.Put, b.record)
	return err
}

// newCountBudget returns the record of the budget of a new run.
func newCountBudget(r storage.Record, p job.BudgetPolicy, bucket time.Time) (storage.Record, error) {
	effective := job.NewBudget(p).Policy() // reduced to its maximum values
	r.Bucket = bucket
	body := record.CountBudget{
		Name: effective.Name, Retries: max(effective.Retries, 0), PerUnit: max(effective.PerUnit, 0),
	}
	return r, record.Encode(&r, &body)
}

// refuses returns the event for a retry of a step that the budget refuses, or nil if it allows
// the retry. used is the number of retries that the step has used. The limit of the run is
// checked before the limit of the step.
func (b *budgetRecord) refuses(step string, used int) *job.Event {
	err := &job.BudgetError{Unit: step}
	switch {
	case b.body.Consumed >= b.body.Retries:
		err.Reason, err.Consumed, err.Limit = job.ReasonJobBudget, b.body.Consumed, b.body.Retries
	case used >= b.body.PerUnit:
		err.Reason, err.Consumed, err.Limit = job.ReasonUnitBudget, used, b.body.PerUnit
	default:
		return nil
	}
	b.body.Refused++
	b.dirty = true
	return b.event(job.Event{Kind: job.EventBudgetExhausted, Unit: step, Reason: err.Reason, Err: err})
}

// consume deducts one retry of a step from the budget, and returns the event.
func (b *budgetRecord) consume(step string) *job.Event {
	b.body.Consumed++
	b.dirty = true
	return b.event(job.Event{Kind: job.EventBudgetConsumed, Unit: step, Reason: job.ReasonAllowed})
}

// event adds the names of the budget and its run to an event about a retry.
func (b *budgetRecord) event(e job.Event) *job.Event {
	e.Group, e.JobID = b.body.Name, b.record.Key.Run
	return &e
}

// A unitBudget is the budget of a group, within a transaction about a step of one of its units.
type unitBudget struct {
	*budgetRecord
	member *record.Member
	unit   storage.Record
	body   record.Step // the body of the unit's record, whose Granted counts the retries of all steps of the unit
}

func openUnitBudget(m *record.Member, budget, unit storage.Record) (*unitBudget, error) {
	b, err := openBudget(budget)
	if err != nil {
		return nil, err
	}
	body, err := record.Decode[record.Step](unit)
	return &unitBudget{budgetRecord: b, member: m, unit: unit, body: body}, err
}

// refuses returns the event for a retry of the unit that the budget refuses, or nil.
func (b *unitBudget) refuses() *job.Event {
	return b.named(b.budgetRecord.refuses(b.member.Unit, b.body.Granted))
}

// consume deducts one retry of the unit, and returns the event.
func (b *unitBudget) consume() *job.Event {
	b.body.Granted++
	return b.named(b.budgetRecord.consume(b.member.Unit))
}

// named sets the names in an event, which may be nil.
func (b *unitBudget) named(e *job.Event) *job.Event {
	if e != nil {
		e.Group, e.JobID = b.member.Name, b.member.JobID
	}
	return e
}

// put appends the records to w if they have changed.
func (b *unitBudget) put(w *storage.Writes) error {
	if b == nil || !b.dirty {
		return nil
	}
	err := record.EncodeStep(&b.unit, &b.body)
	w.Put = append(w.Put, b.unit)
	return errors.Join(err, b.budgetRecord.put(w))
}

// budgeted returns the unit whose retries are limited by the budget of a group, or nil.
func (x *execution) budgeted(c *stepCall) *record.Member {
	m := x.run.Unit
	if c.unit != nil {
		m = &c.unit.member
	}
	if m == nil || !m.Budget {
		return nil
	}
	return m
}
