package durable

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// A Schedule determines when periods begin. [Every] returns one. A cron.Schedule of
// github.com/robfig/cron/v3, as returned by cron.ParseStandard for a cron line,
// implements it, too.
type Schedule interface {
	// Next returns the first begin of a period after t, or the zero time if there is
	// none. It depends on nothing but t, so that all workers agree.
	Next(t time.Time) time.Time
}

// Every returns the schedule of periods that are d long. They begin at the multiples of
// d since the year 1 in UTC: periods of an hour at full hours, periods of 24 hours at
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

// A PeriodicOption changes a default of [Periodic]: [CatchUp], [NoOverlap], or a
// [RunOption] for the runs of the periods.
type PeriodicOption interface{ periodic(*periodicOptions) }

type periodicOptions struct {
	catchUp   int
	noOverlap bool
	run       []RunOption
}

type periodicOption func(*periodicOptions)

func (f periodicOption) periodic(o *periodicOptions) { f(o) }

func (f RunOption) periodic(o *periodicOptions) { o.run = append(o.run, f) }

// CatchUp lets workers start the latest n of the periods that were missed, as soon as
// one of them runs again. With 1, a report is made once after a weekend without
// workers; with 24, each of the last 24 hours has its report. The default is 0: periods
// that were missed are skipped. CatchUp panics if n is negative or greater than 1000.
func CatchUp(n int) PeriodicOption {
	if n < 0 || n > maxPeriods {
		panic(fmt.Sprintf("durable: CatchUp(%d) is not between 0 and %d", n, maxPeriods))
	}
	return periodicOption(func(o *periodicOptions) { o.catchUp = n })
}

// NoOverlap skips a period if the latest run of the schedule has not ended when the
// period begins: it waits for a worker, is being executed, or is parked or paused. A run
// that has failed has ended. Without NoOverlap, a period starts in any case. If several
// periods could start at once, as with [CatchUp], only the latest one starts. With
// NoOverlap, a CatchUp of more than 1 therefore has the effect of 1.
func NoOverlap() PeriodicOption {
	return periodicOption(func(o *periodicOptions) { o.noOverlap = true })
}

// A periodic is a handler whose runs start by a schedule.
type periodic struct {
	periodicOptions
	name     string
	key      string // with the version
	schedule Schedule
	start    func(ctx context.Context, id string, period time.Time) error
}

// Periodic lets the workers of an engine start one run of a handler in each period of a
// schedule. The id of the run consists of the name of the handler and the start of the
// period in UTC, as in "report/2026-11-27T10:00:00Z". Any number of workers, in any
// number of processes, therefore start each period only once. input returns the input of
// the run. Like the schedule, it must depend only on the period.
//
// Workers look for new periods with each [Poll], by the clock of the store. The first
// worker that looks after the start of a period starts its run. When Periodic is used for
// the first time, it begins with the next period.
//
// A period is missed if no worker looks for a [Lease] and two polls after its start,
// which is 32s by default. Missed periods are skipped, except those that [CatchUp]
// allows. A period starts even if the run of the previous one has not ended: see
// [NoOverlap]. At most 1000 periods start at once. The store records the latest period of
// each name, so a new schedule for the name does not repeat it.
//
// Times are passed to the schedule in UTC. A cron line of robfig/cron can begin with
// another time zone, as in "CRON_TZ=Europe/Vienna 0 6 * * *". It then follows the rules
// of this zone for daylight saving time.
//
// Periodic panics if [Handle] refuses the name, if the name and [Version] already have a
// schedule, or if the schedule depends on when it is asked, like "@every 1h" in
// robfig/cron. Use [Every] instead of the latter.
func Periodic[In any](
	e *Engine, name string, schedule Schedule, input func(period time.Time) In, options ...PeriodicOption,
) {
	p := &periodic{name: name, schedule: schedule}
	for _, option := range options {
		option.periodic(&p.periodicOptions)
	}
	var err error
	if p.key, err = handlerKey(name, newRunOptions(p.run).version); err != nil {
		panic("durable: " + err.Error())
	}
	now := time.Now().UTC()
	if next := schedule.Next(now); !next.IsZero() && !schedule.Next(now.Add(next.Sub(now)/2)).Equal(next) {
		panic(fmt.Sprintf("durable: the schedule of %q depends on when it is asked, so that workers differ: use Every", name))
	}
	p.start = func(ctx context.Context, id string, period time.Time) error {
		return Start(ctx, e, name, id, input(period), append(slices.Clip(p.run), StartAt(period))...)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if slices.ContainsFunc(e.periodics, func(other *periodic) bool { return other.key == p.key }) {
		panic(fmt.Sprintf("durable: handler %q has two schedules", p.key))
	}
	e.periodics = append(e.periodics, p)
}
