package durable

import (
	"errors"
	"time"

	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/shared"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// This file decodes and encodes the records of a transaction about a step.

// A stepView contains the decoded records of one transaction about a step.
type stepView struct {
	x   *execution
	c   *stepCall
	now time.Time

	run     storage.Record
	runBody record.Run
	step    storage.Record
	body    record.Step

	count *budgetRecord       // the budget of the run, or nil
	group *unitBudget         // the budget of the group, or nil
	ratio *shared.RatioBudget // a budget that processes share, or nil

	breaker *storage.Record // a breaker that engines share, or nil
	state   breaker.Snapshot
	w       storage.Writes
	event   events.Event
	jobs    []job.Event // events of the count budgets

	recalled bool  // the step was abandoned, and is now in its earlier state
	changed  error // another policy than before decides
	policies bool  // the policies of the run have changed, or it is no longer a job without a step record
	unfolded bool  // the record of a job's step was created: see job.go
}

// keys returns the keys of the records that decisions about a step require: see view.
func (x *execution) keys(c *stepCall) []storage.Key {
	keys := []storage.Key{x.e.ns.Key(storage.KindRun, x.id, ""), c.key}
	if x.run.Budget {
		keys = append(keys, x.e.ns.Key(storage.KindBudget, x.id, ""))
	}
	if m := x.budgeted(c); m != nil {
		keys = append(keys, x.e.ns.Key(storage.KindBudget, m.Run, m.Group), x.e.ns.Key(storage.KindStep, m.Run, m.Step))
	}
	if b := c.policy.Budget; b != nil {
		keys = append(keys, x.e.ns.Key(storage.KindBudget, "", b.Name))
	}
	if b := c.policy.Breaker; b != nil {
		keys = append(keys, x.e.ns.Key(storage.KindBreaker, "", b.Name))
	}
	return keys
}

// view decodes the records of a transaction about a step: see keys.
func (x *execution) view(tx storage.Tx, c *stepCall) (v *stepView, err error) {
	e := x.e
	v = &stepView{x: x, c: c, now: tx.Now, run: tx.Record(e.ns.Key(storage.KindRun, x.id, "")), step: tx.Record(c.key)}
	if v.runBody, err = x.openRun(v.run); err != nil {
		return nil, err
	}
	if v.body, err = record.Decode[record.Step](v.step); err != nil {
		return nil, err
	}
	v.unfold()
	if v.step.Status == storage.StatusAbandoned && v.body.Before != 0 {
		v.step.Status, v.recalled = v.body.Before, true
	}
	if x.run.Budget {
		if v.count, err = openBudget(tx.Record(e.ns.Key(storage.KindBudget, x.id, ""))); err != nil {
			return nil, err
		}
	}
	if m := x.budgeted(c); m != nil {
		budget, unit := tx.Record(e.ns.Key(storage.KindBudget, m.Run, m.Group)), tx.Record(
			e.ns.Key(storage.KindStep, m.Run, m.Step),
		)
		if v.group, err = openUnitBudget(m, budget, unit); err != nil {
			return nil, err
		}
	}
	if b := c.policy.Budget; b != nil {
		if v.ratio, err = shared.OpenRatio(tx.Record(e.ns.Key(storage.KindBudget, "", b.Name)), b, v.now); err != nil {
			return nil, err
		}
	}
	if b := c.policy.Breaker; b != nil {
		r := tx.Record(e.ns.Key(storage.KindBreaker, "", b.Name))
		v.breaker = &r
		v.state, err = record.Decode[breaker.Snapshot](r)
	}
	return v, err
}

// A runView is the run of an execution, as read by one of the latest transactions. It is cached
// because its decoded content rarely changes.
type runView struct {
	record storage.Record
	body   record.Run
}

// openRun decodes the record of the run.
func (x *execution) openRun(r storage.Record) (record.Run, error) {
	if known := x.latest.Load(); record.SameRun(&r, &known.record) {
		return known.body, nil
	}
	b, err := record.Decode[record.Run](r)
	if err == nil {
		x.latest.Store(&runView{r, b})
	}
	return b, err
}

// owned reports whether the execution still owns the run.
func (v *stepView) owned() bool { return v.run.Owner == v.x.owner.id && v.run.Fence == v.x.fence }

// next returns the answer for the current state of the step.
func (v *stepView) next() next {
	n := next{record: v.step, body: v.body, now: v.now, event: v.event, jobs: v.jobs, changed: v.changed}
	switch {
	case record.Finished(v.step.Status):
		n.kind = nextFinished
	case record.Blocked(v.step.Status):
		n.kind = nextBlocked
	case v.step.Status == storage.StatusWaiting:
		// A wait is never longer than was decided, whatever the clock shows.
		n.kind, n.wait = nextWait, max(v.body.NextAt.Sub(v.now), 0)
		if v.body.Delay > 0 || !v.body.Imported { // otherwise, its length is unknown
			n.wait = min(n.wait, v.body.Delay)
		}
	default:
		n.kind = nextDecide
	}
	return n
}

// repeat does the same as next, for a decision that was already committed.
func (v *stepView) repeat() next {
	n := v.next()
	n.repeated = true
	return n
}

// commit returns the writes of the decision, including the record of the step.
func (v *stepView) commit() (storage.Writes, next, error) {
	v.step.Fence = v.x.fence
	if v.step.Bucket.IsZero() {
		v.step.Bucket = v.run.Bucket
	}
	err := record.EncodeStep(&v.step, &v.body)
	v.w.Put = append(v.w.Put, v.step)
	v.step.Version++ // as it will be stored
	if v.runBody.Recoveries > 0 || v.policies {
		v.runBody.Recoveries = 0 // there was progress
		err = errors.Join(err, record.Encode(&v.run, &v.runBody))
		v.w.Put = append(v.w.Put, v.run)
	}
	err = errors.Join(err, v.count.put(&v.w), v.group.put(&v.w), v.ratio.Put(&v.w))
	return v.w, v.next(), err
}
