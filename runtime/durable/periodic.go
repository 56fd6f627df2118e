package durable

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A Schedule determines when periods begin. A cron.Schedule of github.com/robfig/cron/v3 is
// one, as cron.ParseStandard returns it for a cron line; [Every] returns another.
type Schedule interface {
	// Next returns the first begin of a period after t, or the zero time if there is
	// none. It depends on nothing but t, so that all workers agree.
	Next(t time.Time) time.Time
}

// Every returns the schedule of periods that are d long. They begin at the multiples of
// d since the year 1 in UTC: those of an hour at full hours, those of 24 hours at
// midnight. Every panics if d is not positive.
func Every(d time.Duration) Schedule {
	if d <= 0 {
		panic(fmt.Sprintf("durable: a period of %v is not positive", d))
	}
	return every(d)
}

type every time.Duration

// Next implements [Schedule].
func (d every) Next(t time.Time) time.Time {
	return t.UTC().Truncate(time.Duration(d)).Add(time.Duration(d))
}

// A periodic is a handler whose runs start by a schedule.
type periodic struct {
	name     string
	schedule Schedule
	start    func(ctx context.Context, id string, period time.Time) error
}

// Periodic lets the workers of an engine start one run of the handler with the name in
// each period of a schedule. The id of the run is the name and the begin of the period
// in UTC, as in "report/2026-11-27T10:00:00Z", so any number of workers, here and in
// other processes, start each period once. input returns the input of the run: like the
// schedule, it must depend on the period alone. The options are those of [Start].
//
// The run of the next period is created ahead, and is due when the period begins, by
// the clock of the store; workers find it within their [Poll]. The first run is that of
// the next period after a worker has begun. If no worker runs when a period begins, the
// first one that comes back executes its run late, and the periods that have passed
// since are not started. A period starts although the run of the one before may not have
// ended. A schedule that was replaced or removed leaves the run that was created last:
// cancel it, if it is not wanted.
//
// Times are passed to the schedule in UTC. A cron line of robfig/cron has another time
// zone if it begins with one, as in "CRON_TZ=Europe/Vienna 0 6 * * *", and then its
// rules for daylight saving time.
//
// Periodic panics for a name that [Handle] refuses, and for a schedule that depends on
// when it is asked, as that of "@every 1h" in robfig/cron does: use [Every].
func Periodic[In any](
	e *Engine, name string, schedule Schedule, input func(period time.Time) In, options ...RunOption,
) {
	if _, err := handlerKey(name, newRunOptions(options).version); err != nil {
		panic("durable: " + err.Error())
	}
	now := time.Now().UTC()
	if next := schedule.Next(now); !next.IsZero() && !schedule.Next(now.Add(next.Sub(now)/2)).Equal(next) {
		panic(fmt.Sprintf("durable: the schedule of %q depends on when it is asked, so that workers differ: use Every", name))
	}
	p := &periodic{name: name, schedule: schedule}
	p.start = func(ctx context.Context, id string, period time.Time) error {
		return Start(ctx, e, name, id, input(period), append(options[:len(options):len(options)], At(period))...)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.periodics = append(e.periodics, p)
}

// startPeriods starts the runs of the periods that begin soon, and of the one after
// them. A worker that looks every poll is never late.
func (w *worker) startPeriods(ctx context.Context, now time.Time) error {
	w.e.mu.Lock()
	periodics := w.e.periodics
	w.e.mu.Unlock()
	soon := now.Add(2 * w.options.poll)
	var errs []error
	for _, p := range periodics {
		last, begun := w.periods[p]
		if begun && (last.IsZero() || last.After(soon)) {
			continue
		}
		if last.Before(now) {
			last = now // what has passed is not started
		}
		for !last.IsZero() && !last.After(soon) {
			next := p.schedule.Next(last).UTC()
			if err := p.startAt(ctx, next); err != nil {
				errs = append(errs, err)
				break
			}
			last = next
			w.periods[p] = next
		}
	}
	return errors.Join(errs...)
}

// startAt starts the run of a period, unless it exists.
func (p *periodic) startAt(ctx context.Context, period time.Time) error {
	if period.IsZero() {
		return nil // there is none
	}
	err := p.start(ctx, p.name+"/"+period.Format(time.RFC3339Nano), period)
	if errors.Is(err, ErrConflict) || errors.Is(err, ErrShard) {
		return nil // another version has started it, or another shard does
	}
	return err
}
