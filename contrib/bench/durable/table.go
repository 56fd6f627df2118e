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
	"syscall"
	"time"
)

// A table compares contenders that do the same work. The first is the base of
// the multiples.
type table struct {
	name, title string
	n           int // operations of a round
	rounds      int // at most; 0: no limit
	longest     bool
	contenders  []contender
}

// A contender is one line of a table.
type contender struct {
	name string
	// prepare makes a new environment for n operations, in an empty folder.
	// Nothing of that is measured.
	prepare func(ctx context.Context, dir string, n int) (*trial, error)
}

// A trial is prepared work.
type trial struct {
	run   func() error // what is measured
	close func() error
	// longest returns the longest single operation, where the table wants it.
	longest func() time.Duration
}

// A figure is what was measured per operation.
type figure struct {
	cpu, wall time.Duration // processor time of this process and its children; elapsed time
	allocs    float64
	longest   time.Duration // of one operation
}

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
		medians[i] = figure{
			cpu:     median(figures, func(f figure) time.Duration { return f.cpu }),
			wall:    median(figures, func(f figure) time.Duration { return f.wall }),
			allocs:  median(figures, func(f figure) float64 { return f.allocs }),
			longest: median(figures, func(f figure) time.Duration { return f.longest }),
		}
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
	if trial.longest != nil {
		f.longest = trial.longest()
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
	fmt.Fprintf(out, "### %s\n\n", t.title)
	columns := "| | processor time | elapsed | allocations |\n|---|---|---|---|\n"
	if t.longest {
		columns = "| | longest | processor time | elapsed |\n|---|---|---|---|\n"
	}
	fmt.Fprint(out, columns)
	base := figures[0]
	for i, c := range t.contenders {
		f := figures[i]
		cpu, wall := short(f.cpu), short(f.wall)
		if i > 0 {
			cpu += times(f.cpu, base.cpu)
			wall += times(f.wall, base.wall)
		}
		if t.longest {
			fmt.Fprintf(out, "| %s | %s | %s | %s |\n", c.name, short(f.longest), cpu, wall)
		} else {
			fmt.Fprintf(out, "| %s | %s | %s | %.0f |\n", c.name, cpu, wall, f.allocs)
		}
	}
	fmt.Fprintln(out)
}

// times returns a as a multiple of b.
func times(a, b time.Duration) string {
	if b <= 0 {
		return ""
	}
	return fmt.Sprintf(", %.2g×", float64(a)/float64(b))
}

// short returns d with three digits.
func short(d time.Duration) string {
	unit := time.Duration(1)
	for d >= 1000*unit {
		unit *= 10
	}
	return d.Round(unit).String()
}
