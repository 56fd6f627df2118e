package durable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// GroupRuns is [Group] for many workers. Each unit is a run of the function that is
// registered under the name handler. Any worker can execute the run. input returns the
// run's input. At most [job.GroupPolicy.Workers] units run at the same time. If Workers
// is zero, all units may run at the same time. The end of a run is recorded together with
// the group's counters. The id of a unit's run consists of the id of the run that calls
// GroupRuns and the id of the unit, as in "import-7/shards/eu-1". GroupRuns accepts the
// same options as [Start].
//
// If a worker executes the run that calls GroupRuns, this run is parked until units have
// to be started or a decision is due. In this case, return the error from GroupRuns.
// Otherwise, GroupRuns waits. When the group ends, runs that have not ended are canceled.
//
// Retries of these runs' steps count against the group's budget. Events about the group
// are reported by the engines that record the ends of its units.
func GroupRuns[In, Out any](
	ctx context.Context, g *job.Group, handler string, units []string, input func(unit string) In,
	provisional func(job.Outcome[Out]), options ...RunOption,
) (job.Outcome[Out], error) {
	c := fromContext(ctx)
	if c != nil && c.attempt != nil {
		return job.Outcome[Out]{}, fmt.Errorf("group %q is called in a step, which starts no runs: call it in the "+
			"function of the run: %w", g.Policy().Name, ErrConflict)
	}
	call, err := newGroupCall(ctx, c, g, units)
	if err != nil {
		return job.Outcome[Out]{}, err
	}
	if call.starter, err = newStarter(c.x.e, handler, options); err != nil {
		return job.Outcome[Out]{}, err
	}
	call.starter.input = func(unit string) record.Payload { return record.NewPayload(c.x.e.ns.Codec, input(unit)) }
	return executeGroup(ctx, call, provisional)
}

// A starter starts the runs of units.
type starter struct {
	handler string // as recorded by runs
	options runOptions
	input   func(unit string) record.Payload
}

func newStarter(e *Engine, handler string, options []RunOption) (*starter, error) {
	key, err := handlerKey(handler, newRunOptions(options).version)
	if err != nil {
		return nil, err
	}
	s := &starter{handler: key, options: e.startOptions(key, options)}
	return s, s.options.checkStart()
}

// startPage is the number of runs that are started in one transaction.
const startPage = 100

// await starts runs and waits for their ends until the group has ended. In a worker, it parks
// the run instead of waiting.
func (g *groupCall) await(ctx context.Context) error {
	x := g.x
	l := x.e.ns.Listen(x.id)
	defer l.Close()
	var looked time.Time
	for {
		if time.Since(looked) >= x.e.ns.Lease { // a run may end without an execution
			if err := g.reconcile(ctx); err != nil {
				return x.failed(ctx, err)
			}
			looked = time.Now()
		}
		if err := errors.Join(g.pass(ctx), g.tick(ctx)); err != nil {
			return err
		}
		if g.body.End != nil && !g.forced {
			return nil
		}
		if err := g.start(ctx); err != nil {
			return x.failed(ctx, err)
		}
		if g.forced && len(g.started) == 0 {
			return nil
		}
		wake := g.clock().Add(x.e.ns.Lease)
		if due := g.wake(); record.Earlier(due, wake) {
			wake = due
		}
		if x.handler != "" {
			return x.parkCaller(g.outer, wake)
		}
		if err := x.awaiting(ctx); err != nil {
			return err
		}
		if !l.Wait(ctx, min(awaitPoll, max(wake.Sub(g.clock()), 0))) {
			return context.Cause(ctx)
		}
		if err := x.err(); err != nil {
			return err
		}
		if err := g.refresh(ctx); err != nil {
			return x.failed(ctx, err)
		}
	}
}

// refresh reads the records that the ends of runs have changed.
func (g *groupCall) refresh(ctx context.Context) error {
	records, err := g.x.e.ns.Store.Get(ctx, []storage.Key{g.key()})
	if err != nil {
		return err
	}
	if g.body, err = record.Decode[record.Group](records[0]); err != nil || !g.forced {
		return err
	}
	g.todo = g.units
	return g.resume(ctx)
}

// reconcile counts the units whose runs have ended without an execution, because they were
// canceled or their timeouts have passed.
func (g *groupCall) reconcile(ctx context.Context) error {
	e := g.x.e
	for ids := range slices.Chunk(g.started, unitPage) {
		var units, runs []storage.Key
		for _, id := range ids {
			units = append(units, e.ns.Key(storage.KindStep, g.x.id, id))
		}
		records, err := e.ns.Store.Get(ctx, units)
		if err != nil {
			return err
		}
		for _, r := range records {
			s, err := record.Decode[record.Step](r)
			if err != nil {
				return err
			}
			runs = append(runs, e.ns.Key(storage.KindRun, s.Child, ""))
		}
		if records, err = e.ns.Store.Get(ctx, runs); err != nil {
			return err
		}
		for i, r := range records {
			if !r.Status.EndsRun() {
				continue
			}
			if err := g.found(ctx, units[i], r); err != nil {
				return err
			}
		}
	}
	return nil
}

// found counts a unit whose run has ended.
func (g *groupCall) found(ctx context.Context, unit storage.Key, run storage.Record) error {
	b, err := record.Decode[record.Run](run)
	if err != nil || b.Unit == nil {
		return err
	}
	end := memberEnd(&b, run.Key.Run, ending{status: run.Status, result: b.Result, err: runError(run, &b)}, run.Fence)
	letters, err := g.x.e.lettersOf(ctx, run.Key.Run, "")
	if err != nil {
		return err
	}
	var a groupAnswer
	err = g.x.update(ctx, g.unitKeys(unit, letters), func(tx storage.Tx) (storage.Writes, error) {
		return g.decideUnit(tx, unit, end, &a)
	})
	if err != nil {
		return err
	}
	return g.passOn(ctx, &a)
}

// runError returns the error of a run that has ended.
func runError(r storage.Record, b *record.Run) error {
	if r.Status == storage.StatusSucceeded {
		return nil
	}
	return &RunError{Run: r.Key.Run, Status: r.Status, Text: b.Error}
}

// start starts as many runs of units as the policy allows.
func (g *groupCall) start(ctx context.Context) error {
	for g.body.End == nil || g.forced {
		room := startPage
		if n := g.policy.Workers; n > 0 {
			room = min(room, n-g.body.Started)
		}
		var page []string
		for len(page) < room {
			unit, ok := g.nextName()
			if !ok {
				break
			}
			page = append(page, unit)
		}
		if len(page) == 0 {
			return nil
		}
		if err := g.startPage(ctx, page); err != nil {
			return err
		}
	}
	return nil
}

// startPage starts the runs of some units. The run of a requeued unit is executed again.
func (g *groupCall) startPage(ctx context.Context, units []string) error {
	e := g.x.e
	ids := make([]string, len(units))
	starts := make([]unitStart, len(units))
	var keys []storage.Key
	for i, unit := range units {
		ids[i] = g.ids.Unit(unit)
		run, err := g.runOf(ctx, ids[i])
		if err := errors.Join(err, record.CheckRunID(run)); err != nil {
			return err
		}
		s := unitStart{unit: unit, run: e.ns.Key(storage.KindRun, run, ""), budget: e.ns.Key(storage.KindBudget, run, "")}
		s.input = g.starter.input(unit)
		if err := s.input.Refused(); err != nil {
			return inputError(run, err)
		}
		starts[i], keys = s, append(keys, s.run)
		if g.starter.options.budget != nil {
			keys = append(keys, s.budget)
		}
	}
	err := g.update(ctx, ids, func(t *groupTx) error {
		if b, err := record.Decode[record.Run](t.run); err != nil {
			return err
		} else if b.Hold != nil {
			return held(g.x.id, b.Hold)
		}
		for i, r := range t.units {
			if err := g.startUnit(t, r, &starts[i]); err != nil {
				return err
			}
		}
		return nil
	}, keys...)
	if err != nil {
		return err
	}
	for i := range starts {
		run := starts[i].run.Run
		g.started = append(g.started, ids[i])
		e.ns.Event(ctx, events.Event{Kind: events.EventCreated, Run: run})
		e.ns.Notify(run)
	}
	return nil
}

// runOf returns the id of the run to start for a unit. For a run that has failed, it requeues
// the failed steps. If a run can never be executed again, its unit gets another run.
func (g *groupCall) runOf(ctx context.Context, unit string) (string, error) {
	first := g.x.id + unit
	if g.fresh {
		return first, nil
	}
	e := g.x.e
	records, err := e.ns.Store.Get(ctx, []storage.Key{e.ns.Key(storage.KindStep, g.x.id, unit)})
	if err != nil {
		return "", err
	}
	s, err := record.Decode[record.Step](records[0])
	if err != nil || s.Child == "" {
		return first, err
	}
	run, _, err := e.runRecord(ctx, s.Child)
	switch {
	case err != nil:
		return "", err
	case run.Status.IsOver() || run.Status == storage.StatusExpired:
		return first + ":" + strconv.Itoa(s.Operations+s.Attempts+1), nil
	case run.Status != storage.StatusFailed:
		return s.Child, nil
	}
	return s.Child, e.Admin().RequeueFailed(ctx, s.Child)
}

// A unitStart describes how to start the run of a unit.
type unitStart struct {
	unit   string
	run    storage.Key
	budget storage.Key // the budget of the run
	input  record.Payload
}

// startUnit starts the run of a unit, or makes an existing run executable again.
func (g *groupCall) startUnit(t *groupTx, unit storage.Record, u *unitStart) error {
	s, err := record.Decode[record.Step](unit)
	if err != nil || unit.Status != storage.StatusOpen || s.Unit.Started {
		return err
	}
	run := t.Record(u.run)
	if err := g.checkRun(run, u.unit); err != nil {
		return err
	}
	b, err := record.Decode[record.Run](run)
	switch o := &g.starter.options; {
	case err != nil:
		return err
	case run.Version == 0:
		run, b = newRun(run, g.starter.handler, &u.input, o, t.Now)
		run.Bucket, run.Priority = t.run.Bucket, o.rank(t.run.Priority)
		if o.budget != nil {
			budget, err := newCountBudget(t.Record(u.budget), *o.budget, run.Bucket)
			if err != nil {
				return err
			}
			t.w.Put = append(t.w.Put, budget)
		}
	case run.Status.EndsRun():
		run.Status, run.Due = storage.StatusOpen, t.Now
		b.Ended, b.Result, b.Error, b.Recoveries = time.Time{}, nil, "", 0
	}
	m := g.member(u.unit)
	b.Parent, b.Unit = g.x.id, &m
	s.Child, s.Unit.Started = run.Key.Run, true
	t.body.Started++
	err = record.Encode(&run, &b)
	t.w.Put = append(t.w.Put, run)
	return errors.Join(err, t.putUnit(unit, &s))
}

// checkRun returns an error for a run that is not a unit of this group.
func (g *groupCall) checkRun(r storage.Record, unit string) error {
	b, err := record.Decode[record.Run](r)
	m := g.member(unit)
	if err != nil || r.Version == 0 || b.Unit != nil && b.Parent == g.x.id && b.Unit.Step == m.Step {
		return err
	}
	return fmt.Errorf("run %q exists, and is not that of unit %q of group %q: %w", r.Key.Run, unit, g.policy.Name,
		ErrConflict)
}

// cancelRuns cancels the runs of the units that have not ended.
func (g *groupCall) cancelRuns(ctx context.Context) error {
	if g.starter == nil {
		return nil
	}
	return g.x.e.ns.Each(ctx, g.query(), func(r storage.Record) error {
		s, err := record.Decode[record.Step](r)
		if err != nil || !s.Unit.Started || s.Unit.Requeued {
			return err
		}
		return g.x.e.cancelUnit(ctx, s.Child)
	})
}

// cancelUnit cancels the run of a unit, unless it has ended.
func (e *Engine) cancelUnit(ctx context.Context, run string) error {
	err := e.Admin().Cancel(ctx, run, admin.By("", "its group does not wait for it"))
	if errors.Is(err, ErrConflict) || errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
