package durable

import (
	"bytes"
	"errors"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/job"
)

// This file has the records of a transaction about a step: how they are decoded,
// and written again.

// A stepView is the records of one transaction about a step, decoded.
type stepView struct {
	x   *execution
	c   *stepCall
	now time.Time

	run     Record
	runBody runBody
	step    Record
	body    stepBody

	count *budgetRecord // of the run, or nil
	group *unitBudget   // of the group, or nil
	ratio *ratioBudget  // that processes share, or nil

	breaker *Record // that engines share, or nil
	state   retry.BreakerSnapshot
	w       Writes
	event   Event
	jobs    []job.Event // of the count budgets

	recalled bool  // the step was abandoned, and is as it was before
	changed  error // another policy than before decides
	policies bool  // those of the run are others now
}

// keys returns the keys of the records that decisions about a step need: see view.
func (x *execution) keys(c *stepCall) []Key {
	keys := []Key{x.e.key(KindRun, x.id, ""), c.key}
	if x.run.Budget {
		keys = append(keys, x.e.key(KindBudget, x.id, ""))
	}
	if m := x.budgeted(c); m != nil {
		keys = append(keys, x.e.key(KindBudget, m.Run, m.Group), x.e.key(KindStep, m.Run, m.Step))
	}
	if b := c.policy.Budget; b != nil {
		keys = append(keys, x.e.key(KindBudget, "", b.Name))
	}
	if b := c.policy.Breaker; b != nil {
		keys = append(keys, x.e.key(KindBreaker, "", b.Name))
	}
	return keys
}

// view decodes the records of a transaction about a step: see keys.
func (x *execution) view(tx Tx, c *stepCall) (v *stepView, err error) {
	e := x.e
	v = &stepView{x: x, c: c, now: tx.Now, run: tx.Record(e.key(KindRun, x.id, "")), step: tx.Record(c.key)}
	if v.runBody, err = x.openRun(v.run); err != nil {
		return nil, err
	}
	if v.body, err = open[stepBody](v.step); err != nil {
		return nil, err
	}
	if v.step.Status == StatusAbandoned && v.body.Before != 0 {
		v.step.Status, v.recalled = v.body.Before, true
	}
	if x.run.Budget {
		if v.count, err = openBudget(tx.Record(e.key(KindBudget, x.id, ""))); err != nil {
			return nil, err
		}
	}
	if m := x.budgeted(c); m != nil {
		budget, unit := tx.Record(e.key(KindBudget, m.Run, m.Group)), tx.Record(e.key(KindStep, m.Run, m.Step))
		if v.group, err = openUnitBudget(m, budget, unit); err != nil {
			return nil, err
		}
	}
	if b := c.policy.Budget; b != nil {
		if v.ratio, err = openRatio(tx.Record(e.key(KindBudget, "", b.Name)), b, v.now); err != nil {
			return nil, err
		}
	}
	if b := c.policy.Breaker; b != nil {
		r := tx.Record(e.key(KindBreaker, "", b.Name))
		v.breaker = &r
		v.state, err = open[retry.BreakerSnapshot](r)
	}
	return v, err
}

// A runView is the body of the run of an execution, as one of the latest
// transactions has read it: it changes rarely.
type runView struct {
	json []byte
	body runBody
}

// openRun decodes the record of the run.
func (x *execution) openRun(r Record) (runBody, error) {
	if known := x.latest.Load(); bytes.Equal(r.Body, known.json) {
		return known.body, nil
	}
	b, err := open[runBody](r)
	if err == nil {
		x.latest.Store(&runView{json: bytes.Clone(r.Body), body: b})
	}
	return b, err
}

// owned reports whether the execution still owns the run.
func (v *stepView) owned() bool { return v.run.Owner == v.x.owner.id && v.run.Fence == v.x.fence }

// next returns the answer for the state of the step.
func (v *stepView) next() next {
	n := next{record: v.step, body: v.body, now: v.now, event: v.event, jobs: v.jobs, changed: v.changed}
	switch {
	case finished(v.step.Status):
		n.kind = nextFinished
	case blocked(v.step.Status):
		n.kind = nextBlocked
	case v.step.Status == StatusWaiting:
		// A wait is never longer than it was decided, whatever the clock shows.
		n.kind, n.wait = nextWait, max(v.body.NextAt.Sub(v.now), 0)
		if v.body.Delay > 0 || !v.body.Imported { // or its length is not known
			n.wait = min(n.wait, v.body.Delay)
		}
	default:
		n.kind = nextDecide
	}
	return n
}

// repeat is next for a decision that was committed before.
func (v *stepView) repeat() next {
	n := v.next()
	n.repeated = true
	return n
}

// commit returns the writes of the decision, with the record of the step.
func (v *stepView) commit() (Writes, next, error) {
	v.step.Fence = v.x.fence
	if v.step.Bucket.IsZero() {
		v.step.Bucket = v.run.Bucket
	}
	err := writeStep(&v.step, &v.body)
	v.w.Put = append(v.w.Put, v.step)
	v.step.Version++ // as it is stored
	if v.runBody.Recoveries > 0 || v.policies {
		v.runBody.Recoveries = 0 // there is progress
		err = errors.Join(err, write(&v.run, &v.runBody))
		v.w.Put = append(v.w.Put, v.run)
	}
	err = errors.Join(err, v.count.put(&v.w), v.group.put(&v.w), v.ratio.put(&v.w))
	return v.w, v.next(), err
}
