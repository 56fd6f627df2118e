package durable

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// A Schedule determines when periods begin. [Every] returns one. A cron.Schedule from
// github.com/robfig/cron/v3 also implements this interface. The function cron.ParseStandard
// returns one for a cron expression.
type Schedule interface {
	// Next returns the start of the first period that begins after t, or the zero time if
	// there is none. Its result must depend only on t, so that all workers agree.
	Next(t time.Time) time.Time
}

// Every returns a schedule of periods of length d. They begin at multiples of d since the
// year 1 in UTC: periods of an hour begin on the hour, and periods of 24 hours at
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

// A PeriodicOption is an option for [Periodic]: [CatchUp], [NoOverlap], or a [RunOption]
// for the runs of the periods.
type PeriodicOption interface{ periodic(*periodicOptions) }

type periodicOptions struct {
	catchUp   int
	noOverlap bool
	run       []RunOption
}

type periodicOption func(*periodicOptions)

func (f periodicOption) periodic(o *periodicOptions) { f(o) }

func (f RunOption) periodic(o *periodicOptions) { o.run = append(o.run, f) }

// CatchUp makes workers start the latest n missed periods as soon as a worker is running
// again. For an hourly report after a weekend without workers, CatchUp(1) results in a
// single report, and CatchUp(24) results in one report for each of the last 24 hours. The
// default is 0: missed periods are skipped. CatchUp panics if n is negative or greater
// than 1000.
func CatchUp(n int) PeriodicOption {
	if n < 0 || n > maxPeriods {
		panic(fmt.Sprintf("durable: CatchUp(%d) is not between 0 and %d", n, maxPeriods))
	}
	return periodicOption(func(o *periodicOptions) { o.catchUp = n })
}

// NoOverlap skips a period if the schedule's latest run has not ended when the period
// begins. Such a run is waiting for a worker, being executed, parked or paused. A failed
// run has ended. Without NoOverlap, every period starts. If several periods could start
// at once, as with [CatchUp], only the latest one starts. With NoOverlap, a CatchUp of
// more than 1 therefore has the effect of 1.
func NoOverlap() PeriodicOption {
	return periodicOption(func(o *periodicOptions) { o.noOverlap = true })
}

// A periodic is a handler whose runs are started by a schedule.
type periodic struct {
	periodicOptions
	name     string
	key      string // the key of the handler, with the version
	schedule Schedule
	start    func(ctx context.Context, id string, period time.Time) error
}

// Periodic makes the workers of an engine start one run of a handler in each period of a
// schedule. The run's id consists of the handler's name and the start of the period in
// UTC, as in "report/2026-11-27T10:00:00Z". Any number of workers, in any number of
// processes, therefore start each period only once. input returns the input of the run.
// The result of input must depend only on the period.
//
// Workers look for new periods at each [Poll], by the store's clock. Once a period has
// begun, the first worker that looks starts its run. When Periodic is used for the first
// time, it begins with the next period.
//
// A period is missed if no worker looks for it within a [Lease] and two polls after its
// start, which is 32s by default. Missed periods are skipped, except those that [CatchUp]
// allows. A period starts even if the previous period's run has not ended: see
// [NoOverlap]. At most 1000 periods start at once. The store records the latest period of
// each name, so a new schedule for the name does not repeat it.
//
// Times are passed to the schedule in UTC. A cron expression for robfig/cron can begin
// with its own time zone, as in "CRON_TZ=Europe/Vienna 0 6 * * *". In this case, the
// schedule follows that zone's rules for daylight saving time.
//
// Periodic panics if [Handle] refuses the name, if the name and [Version] already have a
// schedule, or if the schedule depends on the time at which it is evaluated, like "@every
// 1h" in robfig/cron. Use [Every] instead of such a schedule.
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
