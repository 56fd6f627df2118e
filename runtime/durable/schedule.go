package durable

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// This file makes workers agree on the periods of a handler. A record contains the latest
// period that was decided on, and the latest periods that were due to start. The worker that
// makes a decision then starts these periods. If this worker dies before that, other workers
// start them. A period has only one run, even if several workers try to start it, because the
// id of the run is derived from the period.

// maxPeriods is the maximum number of periods that start at once.
const maxPeriods = 1000

// A scheduleView contains what a worker knows about a schedule.
type scheduleView struct {
	looked  bool
	next    time.Time // start of the next period, or zero if there is none
	started time.Time // the latest period whose run exists
}

// startPeriods starts the runs of the periods that have begun.
func (w *worker) startPeriods(ctx context.Context, now time.Time) error {
	w.e.mu.Lock()
	periodics := w.e.periodics
	w.e.mu.Unlock()
	var errs []error
	for _, p := range periodics {
		if s := w.e.sharded; s != nil && s.Engine(p.name) != w.e {
			continue // all runs of this name are on another shard
		}
		s := w.schedules[p]
		if s.looked && (s.next.IsZero() || s.next.After(now)) {
			continue
		}
		if err := w.look(ctx, p, &s, now); err != nil {
			errs = append(errs, err)
			continue
		}
		w.schedules[p] = s
	}
	return errors.Join(errs...)
}

// look starts the runs that are due to start, decides on the periods that have begun in the
// meantime, and starts their runs.
func (w *worker) look(ctx context.Context, p *periodic, s *scheduleView, now time.Time) error {
	late := now.Add(-w.e.ns.Lease - 2*w.options.poll)
	for {
		records, err := w.e.ns.Store.Get(ctx, []storage.Key{w.e.ns.Key(storage.KindSchedule, "", p.name)})
		if err != nil {
			return err
		}
		known := records[0]
		b, err := record.Decode[record.Schedule](known)
		if err == nil {
			err = p.startAll(ctx, s, b.Start)
		}
		if err != nil {
			return err
		}
		var begun []time.Time
		if known.Version != 0 {
			if begun = p.between(b.Until, now); len(begun) == 0 {
				s.looked, s.next = true, p.schedule.Next(latest(b.Until, now)).UTC()
				return nil
			}
		}
		keys, last := []storage.Key{known.Key}, storage.Key{}
		if n := len(b.Start); p.noOverlap && n > 0 {
			last = w.e.ns.Key(storage.KindRun, p.runOf(b.Start[n-1]), "")
			keys = append(keys, last)
		}
		err = w.e.ns.Update(ctx, keys, func(tx storage.Tx) (storage.Writes, error) {
			r := tx.Record(known.Key)
			if r.Version != known.Version {
				return storage.Writes{}, nil // another worker was faster
			}
			overlaps := false
			if last.Run != "" {
				overlaps = unfinishedRun(tx.Record(last))
			}
			return p.decide(tx.Now, r, b, begun, overlaps, late, now)
		})
		if err != nil {
			return err
		}
	}
}

// latest returns the later of two times.
func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// runOf returns the id of the run of a period.
func (p *periodic) runOf(period time.Time) string {
	return p.name + "/" + period.UTC().Format(time.RFC3339Nano)
}

// startAll starts the runs of some periods, except those that are known to exist.
func (p *periodic) startAll(ctx context.Context, s *scheduleView, periods []time.Time) error {
	for _, period := range periods {
		if !period.After(s.started) {
			continue
		}
		err := p.start(ctx, p.runOf(period), period)
		if err != nil && !errors.Is(err, ErrConflict) { // another version has started it
			return err
		}
		s.started = period
	}
	return nil
}

// between returns the starts of the periods after one time and until another. If there are more
// than may start, it returns the last ones.
func (p *periodic) between(after, until time.Time) (begun []time.Time) {
	for {
		next := p.schedule.Next(after.UTC()).UTC()
		if next.IsZero() || next.After(until) {
			return begun[max(len(begun)-maxPeriods, 0):]
		}
		if len(begun) == 2*maxPeriods {
			begun = append(begun[:0], begun[maxPeriods:]...)
		}
		begun, after = append(begun, next), next
	}
}

// decide decides which of the periods that have begun are to start. Periods that began before
// late were missed. overlaps reports whether the run that was started last is unfinished.
func (p *periodic) decide(
	stored time.Time, r storage.Record, b record.Schedule, begun []time.Time, overlaps bool, late, now time.Time,
) (storage.Writes, error) {
	if r.Version == 0 {
		r.Bucket, b.Until = record.Month(stored), now // begin with the next period
	}
	if n := len(begun); n > 0 {
		b.Until = begun[n-1]
		missed := slices.IndexFunc(begun, func(period time.Time) bool { return !period.Before(late) })
		if missed < 0 {
			missed = n
		}
		start := begun[max(missed-p.catchUp, 0):]
		if p.noOverlap {
			start = start[max(len(start)-1, 0):]
			if overlaps {
				start = nil
			}
		}
		if len(start) > 0 {
			b.Start = start
		}
	}
	err := record.Encode(&r, &b)
	return storage.Writes{Put: []storage.Record{r}}, err
}

// unfinishedRun reports whether a run exists and has not ended.
func unfinishedRun(r storage.Record) bool {
	return r.Version != 0 && !r.Status.EndsRun()
}
