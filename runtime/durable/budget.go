package durable

import (
	"time"

	"github.com/retrygen/retrygen/runtime/job"
)

// A budgetRecord is the count budget of a run in a transaction.
type budgetRecord struct {
	record Record
	body   budgetBody
	dirty  bool
}

func openBudget(r Record) (*budgetRecord, error) {
	body, err := open[budgetBody](r)
	if err != nil {
		return nil, err
	}
	return &budgetRecord{record: r, body: body}, nil
}

// put appends the record if it has changed.
func (b *budgetRecord) put(w *Writes) error {
	if b == nil || !b.dirty {
		return nil
	}
	err := write(&b.record, &b.body)
	w.Put = append(w.Put, b.record)
	return err
}

// newCountBudget returns the record of the budget of a new run.
func newCountBudget(r Record, p job.BudgetPolicy, bucket time.Time) (Record, error) {
	effective := job.NewBudget(p).Policy() // clamped to its ceilings
	r.Bucket = bucket
	body := budgetBody{
		Name: effective.Name, Retries: max(effective.Retries, 0), PerUnit: max(effective.PerUnit, 0),
	}
	return r, write(&r, &body)
}

// refuses returns the event of a count budget that refuses a retry of a step,
// which has taken used ones, or nil: the run is asked first, then the step.
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

// consume takes one retry of a step from a count budget, and returns the event.
func (b *budgetRecord) consume(step string) *job.Event {
	b.body.Consumed++
	b.dirty = true
	return b.event(job.Event{Kind: job.EventBudgetConsumed, Unit: step, Reason: job.ReasonAllowed})
}

// event returns an event about a retry, with the names of the budget and its run.
func (b *budgetRecord) event(e job.Event) *job.Event {
	e.Group, e.JobID = b.body.Name, b.record.Key.Run
	return &e
}
