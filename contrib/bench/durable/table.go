package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A table compares contenders that do the same work. The first is the base of
// the multiples.
type table struct {
	name, title string
	n           int // operations of a round
	rounds      int // at most; 0: no limit
	columns     []column
	contenders  []contender
}

// A column is a figure of each contender.
type column struct {
	title string
	text  func(figure) string
	value func(figure) float64 // of which multiples are printed, or nil
}

// ofDuration returns a column with multiples. A duration that was not measured is
// a dash.
func ofDuration(title string, of func(figure) time.Duration) column {
	return column{
		title: title,
		text: func(f figure) string {
			if of(f) == 0 {
				return "–"
			}
			return short(of(f))
		},
		value: func(f figure) float64 { return float64(of(f)) },
	}
}

// ofRate returns a column with the operations per second, each of which takes a
// duration.
func ofRate(title string, of func(figure) time.Duration) column {
	rate := func(f figure) float64 { return float64(time.Second) / float64(of(f)) }
	return column{title: title, text: func(f figure) string { return fmt.Sprintf("%.0f", rate(f)) }, value: rate}
}

var (
	cpuColumn    = ofDuration("processor time", func(f figure) time.Duration { return f.cpu })
	wallColumn   = ofDuration("elapsed", func(f figure) time.Duration { return f.wall })
	serverColumn = ofDuration("of the server", func(f figure) time.Duration { return f.server })
	allocsColumn = column{title: "allocations", text: func(f figure) string { return fmt.Sprintf("%.0f", f.allocs) }}

	stepColumns = []column{cpuColumn, wallColumn, allocsColumn}
)

// A contender is one line of a table.
type contender struct {
	name  string
	crash string // what a crash repeats, as it is measured here, or "" in tables without that column
	// prepare makes a new environment for n operations, in an empty folder.
	// Nothing of that is measured.
	prepare func(ctx context.Context, dir string, n int) (*trial, error)
}

// A trial is prepared work.
type trial struct {
	run   func() error // what is measured
	close func() error
	// note, if there is one, adds what the trial has measured itself.
	note func(*figure)
}

// A figure is what was measured per operation.
type figure struct {
	cpu, wall time.Duration // processor time of this process and its children; elapsed time
	allocs    float64
	longest   time.Duration // of one operation

	server, start    time.Duration // processor time of the PostgreSQL server; elapsed time of the start of a job
	wal              float64       // bytes that the server has logged
	called, recorded latencies     // from the start of a job
}

// latencies are percentiles of a duration.
type latencies struct{ p50, p99 time.Duration }

// measure measures the contenders in turn, as often as there are rounds, and
// returns the medians.
func (t *table) measure(ctx context.Context, scale float64, rounds int) ([]figure, error) {
	n := max(1, int(math.Round(float64(t.n)*scale)))
	if t.rounds > 0 {
		rounds = min(rounds, t.rounds)
	}
	all := make([][]figure, len(t.contenders))
	for range rounds {
		for i, c := range t.contenders {
			f, err := c.measure(ctx, n)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			all[i] = append(all[i], f)
		}
	}
	medians := make([]figure, len(all))
	for i, figures := range all {
		medians[i] = medianFigure(figures)
	}
	return medians, nil
}

// measure measures one trial.
func (c *contender) measure(ctx context.Context, n int) (f figure, err error) {
	dir, err := os.MkdirTemp("", "durable-bench-")
	if err != nil {
		return f, err
	}
	defer os.RemoveAll(dir)
	trial, err := c.prepare(ctx, dir, n)
	if err != nil {
		return f, err
	}
	defer func() { err = cmp.Or(err, trial.close()) }()
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, start := cpuTime(), time.Now()
	err = trial.run()
	f.wall, f.cpu = time.Since(start)/time.Duration(n), (cpuTime()-cpu)/time.Duration(n)
	runtime.ReadMemStats(&after)
	f.allocs = float64(after.Mallocs-before.Mallocs) / float64(n)
	if trial.note != nil && err == nil {
		trial.note(&f)
	}
	return f, err
}

func cpuTime() (sum time.Duration) {
	for _, who := range [...]int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			panic(err)
		}
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum
}

// medianFigure returns the medians of figures.
func medianFigure(figures []figure) figure {
	of := func(of func(figure) time.Duration) time.Duration { return median(figures, of) }
	percentiles := func(l func(figure) latencies) latencies {
		return latencies{
			p50: of(func(f figure) time.Duration { return l(f).p50 }), p99: of(func(f figure) time.Duration { return l(f).p99 }),
		}
	}
	return figure{
		cpu:      of(func(f figure) time.Duration { return f.cpu }),
		wall:     of(func(f figure) time.Duration { return f.wall }),
		allocs:   median(figures, func(f figure) float64 { return f.allocs }),
		longest:  of(func(f figure) time.Duration { return f.longest }),
		server:   of(func(f figure) time.Duration { return f.server }),
		start:    of(func(f figure) time.Duration { return f.start }),
		wal:      median(figures, func(f figure) float64 { return f.wal }),
		called:   percentiles(func(f figure) latencies { return f.called }),
		recorded: percentiles(func(f figure) latencies { return f.recorded }),
	}
}

func median[T cmp.Ordered](figures []figure, of func(figure) T) T {
	values := make([]T, len(figures))
	for i, f := range figures {
		values[i] = of(f)
	}
	slices.Sort(values)
	return values[(len(values)-1)/2]
}

// print prints the table as Markdown.
func (t *table) print(out io.Writer, figures []figure) {
	fmt.Fprintf(out, "### %s\n\n|", t.title)
	columns := t.columns
	if t.contenders[0].crash != "" {
		columns = append(columns[:len(columns):len(columns)], column{title: "a crash repeats"})
	}
	for _, c := range columns {
		fmt.Fprintf(out, " | %s", c.title)
	}
	fmt.Fprintf(out, " |\n|%s\n", strings.Repeat("---|", len(columns)+1))
	for i, contender := range t.contenders {
		fmt.Fprintf(out, "| %s |", contender.name)
		for _, c := range t.columns {
			fmt.Fprintf(out, " %s", c.text(figures[i]))
			if i > 0 && c.value != nil {
				fmt.Fprint(out, times(c.value(figures[i]), c.value(figures[0])))
			}
			fmt.Fprint(out, " |")
		}
		if contender.crash != "" {
			fmt.Fprintf(out, " %s |", contender.crash)
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out)
}

// times returns a as a multiple of b, if both were measured.
func times(a, b float64) string {
	if a <= 0 || b <= 0 {
		return ""
	}
	return fmt.Sprintf(", %.2g×", a/b)
}

// short returns d with three digits.
func short(d time.Duration) string {
	unit := time.Duration(1)
	for d >= 1000*unit {
		unit *= 10
	}
	return d.Round(unit).String()
}
