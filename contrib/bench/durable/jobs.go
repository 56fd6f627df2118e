package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A jobSystem has jobs of one unit each, which are started and executed later.
type jobSystem interface {
	start(ctx context.Context, unit int) error
	work(ctx context.Context) error // begins to execute jobs
	close() error
}

// A jobOpener opens a jobSystem in an empty database, which executes as many jobs at a
// time as each of its engines has slots.
type jobOpener func(ctx context.Context, url string, b *board, engines, slots int) (jobSystem, error)

// A board has the times of the jobs of a trial, by their units.
type board struct {
	started, called, recorded []atomic.Int64 // in nanoseconds since 1970; 0: not yet

	calls, ends      atomic.Int64
	calledAll, ended chan struct{} // closed when all were called, and when all ends are recorded
	failing          sync.Once
	failed           chan struct{} // closed with err
	err              error
}

func newBoard(n int) *board {
	times := make([]atomic.Int64, 3*n)
	return &board{
		started: times[:n:n], called: times[n : 2*n : 2*n], recorded: times[2*n:],
		calledAll: make(chan struct{}), ended: make(chan struct{}), failed: make(chan struct{}),
	}
}

// do is the work of a job.
func (b *board) do(unit, _ int) (receipt, error) {
	if !b.called[unit].CompareAndSwap(0, time.Now().UnixNano()) {
		b.fail(fmt.Errorf("job %d was executed twice", unit))
	} else if b.calls.Add(1) == int64(len(b.called)) {
		close(b.calledAll)
	}
	return b.receipt(unit), nil
}

func (b *board) receipt(unit int) receipt {
	return receipt{ID: fmt.Sprint("order-", unit), Amount: amount}
}

// record notes that the end of a job is recorded, unless err is set.
func (b *board) record(unit int, err error) {
	if err != nil {
		b.fail(err)
		return
	}
	b.recordAt(unit, time.Now())
}

func (b *board) recordAt(unit int, t time.Time) {
	if b.recorded[unit].CompareAndSwap(0, t.UnixNano()) && b.ends.Add(1) == int64(len(b.recorded)) {
		close(b.ended)
	}
}

func (b *board) fail(err error) {
	b.failing.Do(func() {
		b.err = err
		close(b.failed)
	})
}

// jobsTimeout is how long a trial waits for the ends of its jobs.
const jobsTimeout = 5 * time.Minute

// wait waits until the ends of all jobs are recorded.
func (b *board) wait(ctx context.Context) error {
	select {
	case <-b.ended:
		return nil
	case <-b.failed:
		return b.err
	case <-time.After(jobsTimeout):
		return fmt.Errorf("%d of %d jobs have ended after %v", b.ends.Load(), len(b.recorded), jobsTimeout)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// start starts a job.
func (b *board) start(ctx context.Context, s jobSystem, unit int) error {
	b.started[unit].Store(time.Now().UnixNano())
	return s.start(ctx, unit)
}

// jobs returns a contender that executes jobs which were started before, by a
// number of callers.
func (s *server) jobs(name, crash string, open jobOpener, engines, slots int) contender {
	return contender{name: name, crash: crash, prepare: func(ctx context.Context, _ string, n int) (*trial, error) {
		b := newBoard(n)
		system, err := s.openJobs(ctx, open, b, engines, slots)
		if err != nil {
			return nil, err
		}
		begin := time.Now()
		if err := share(n, maxCallers, func(i int) error { return b.start(ctx, system, i) }); err != nil {
			return nil, errors.Join(err, system.close())
		}
		start := time.Since(begin) / time.Duration(n)
		cpu, written := s.cpu(), s.written(ctx)
		return &trial{
			run:   func() error { return errors.Join(system.work(ctx), b.wait(ctx)) },
			close: system.close,
			note: func(f *figure) {
				f.start, f.wall, f.server = start, b.interval(), (s.cpu()-cpu)/time.Duration(n)
				f.wal = (s.written(ctx) - written) / float64(n)
			},
		}, nil
	}}
}

// interval returns the time between the ends of two jobs, without the first tenth
// of them.
func (b *board) interval() time.Duration {
	ends := make([]int64, len(b.recorded))
	for i := range b.recorded {
		ends[i] = b.recorded[i].Load()
	}
	slices.Sort(ends)
	first, last := len(ends)/10, len(ends)-1
	return time.Duration(ends[last]-ends[first]) / time.Duration(max(1, last-first))
}

// pace is the time between the starts of two jobs.
const pace = time.Second / 50

// paced returns a contender that starts jobs at a constant rate and executes them
// meanwhile.
func (s *server) paced(name string, open jobOpener, workers int) contender {
	return contender{name: name, prepare: func(ctx context.Context, _ string, n int) (*trial, error) {
		warm := max(1, n/10)
		b := newBoard(warm + n)
		system, err := s.openJobs(ctx, open, b, 1, workers)
		if err != nil {
			return nil, err
		}
		if err := errors.Join(system.work(ctx), b.startPaced(ctx, system, 0, warm)); err != nil {
			return nil, errors.Join(err, system.close())
		}
		cpu := s.cpu()
		return &trial{
			run: func() error {
				return errors.Join(b.startPaced(ctx, system, warm, warm+n), b.wait(ctx))
			},
			close: system.close,
			note: func(f *figure) {
				f.server = (s.cpu() - cpu) / time.Duration(n)
				f.called, f.recorded = b.latencies(b.called, warm), b.latencies(b.recorded, warm)
			},
		}, nil
	}}
}

// startPaced starts some jobs, each at its time.
func (b *board) startPaced(ctx context.Context, s jobSystem, from, to int) error {
	var all sync.WaitGroup
	begin := time.Now()
	for unit := from; unit < to; unit++ {
		time.Sleep(time.Until(begin.Add(time.Duration(unit-from) * pace)))
		all.Go(func() {
			if err := b.start(ctx, s, unit); err != nil {
				b.fail(err)
			}
		})
	}
	all.Wait()
	return nil
}

// latencies returns the percentiles of the times from the start of a job, without
// the first ones.
func (b *board) latencies(at []atomic.Int64, first int) latencies {
	var all []time.Duration
	for i := first; i < len(at); i++ {
		all = append(all, time.Duration(at[i].Load()-b.started[i].Load()))
	}
	slices.Sort(all)
	percentile := func(p float64) time.Duration {
		return all[max(0, int(math.Ceil(p*float64(len(all))))-1)]
	}
	return latencies{p50: percentile(0.50), p99: percentile(0.99)}
}

// openJobs opens a jobSystem in an empty database.
func (s *server) openJobs(ctx context.Context, open jobOpener, b *board, engines, slots int) (jobSystem, error) {
	url, err := s.newDatabase(ctx)
	if err != nil {
		return nil, err
	}
	return open(ctx, url, b, engines, slots)
}

var (
	jobColumns = []column{
		ofRate("completed per second", func(f figure) time.Duration { return f.wall }),
		ofRate("started per second", func(f figure) time.Duration { return f.start }),
		cpuColumn, serverColumn, walColumn,
	}
	startColumns = []column{
		ofRate("started per second", func(f figure) time.Duration { return f.wall }), cpuColumn, serverColumn, walColumn,
	}
	walColumn      = column{title: "WAL", text: func(f figure) string { return fmt.Sprintf("%.1f kB", f.wal/1000) }}
	latencyColumns = []column{
		ofPercentiles("called: p50, p99", func(f figure) latencies { return f.called }),
		ofPercentiles("end recorded: p50, p99", func(f figure) latencies { return f.recorded }),
		cpuColumn, serverColumn,
	}
)

// ofPercentiles returns a column with two percentiles.
func ofPercentiles(title string, of func(figure) latencies) column {
	return column{title: title, text: func(f figure) string { return short(of(f).p50) + ", " + short(of(f).p99) }}
}
