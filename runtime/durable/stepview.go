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

func (x *execution) view(tx Tx, c *stepCall) (v *stepView, err error) {
	v = &stepView{x: x, c: c, now: tx.Now, run: tx.Records[0], step: tx.Records[1]}
	if v.runBody, err = x.openRun(v.run); err != nil {
		return nil, err
	}
	if v.body, err = open[stepBody](v.step); err != nil {
		return nil, err
	}
	if v.step.Status == StatusAbandoned && v.body.Before != 0 {
		v.step.Status, v.recalled = v.body.Before, true
	}
	rest := tx.Records[2:]
	if x.run.Budget {
		if v.count, err = openBudget(rest[0]); err != nil {
			return nil, err
		}
		rest = rest[1:]
	}
	if m := x.budgeted(c); m != nil {
		if v.group, err = openUnitBudget(m, rest[0], rest[1]); err != nil {
			return nil, err
		}
		rest = rest[2:]
	}
	if p := c.policy.Budget; p != nil {
		if v.ratio, err = openRatio(rest[0], p, v.now); err != nil {
			return nil, err
		}
		rest = rest[1:]
	}
	if c.policy.Breaker != nil {
		v.breaker = &rest[0]
		v.state, err = open[retry.BreakerSnapshot](rest[0])
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
