package durable

import (
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/job"
)

// A budgetRecord is a budget in a transaction: a count budget of a run, or a
// ratio budget that engines share.
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
func (b *budgetRecord) put(w *Writes, bucket time.Time) error {
	if b == nil || !b.dirty {
		return nil
	}
	if b.record.Bucket.IsZero() {
		b.record.Bucket = bucket
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

// refill adds the tokens of the time since the last refill to a ratio budget. A
// new one is full.
func (b *budgetRecord) refill(p *retry.BudgetPolicy, now time.Time) retry.BudgetPolicy {
	e := p.Effective()
	burst := 0.0
	if e.Burst > 0 { // and not NaN
		burst = e.Burst
	}
	switch elapsed := now.Sub(b.body.Refilled); {
	case b.body.Full, b.record.Version == 0 && b.body.Refilled.IsZero():
		b.body.Tokens, b.body.Refilled, b.body.Full, b.dirty = burst, now, false, true
	case elapsed < 0:
		b.body.Refilled, b.dirty = now, true // the clock was set back
	case e.MinPerSecond > 0 && b.body.Tokens < burst:
		b.body.Tokens, b.dirty = min(b.body.Tokens+elapsed.Seconds()*e.MinPerSecond, burst), true
		b.body.Refilled = now
	}
	return e
}

// withdraw takes one retry from a ratio budget, or returns retry.ErrBudget.
func (b *budgetRecord) withdraw(p *retry.BudgetPolicy, now time.Time) error {
	b.refill(p, now)
	if !(b.body.Tokens >= 1) {
		return retry.ErrBudget
	}
	b.body.Tokens--
	b.dirty = true
	return nil
}

// deposit adds the share of a success to a ratio budget. A full one is not
// written.
func (b *budgetRecord) deposit(p *retry.BudgetPolicy, now time.Time) {
	if b.record.Version == 0 {
		return // full
	}
	e := b.refill(p, now)
	if e.Ratio > 0 && b.body.Tokens < e.Burst {
		b.body.Tokens, b.dirty = min(b.body.Tokens+e.Ratio, e.Burst), true
	}
}
