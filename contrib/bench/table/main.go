// Table generates the README's table from the output of the benchmarks.
//
//	go test -run - -bench . -count 5 . | go run ./table
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

func main() { os.Exit(run(os.Stdin, os.Stdout, os.Stderr)) }

func run(in io.Reader, out, errs io.Writer) int {
	results, err := read(in)
	if err == nil && len(results) == 0 {
		err = fmt.Errorf("no results: give me what go test -bench prints")
	}
	if err != nil {
		fmt.Fprintln(errs, "table:", err)
		return 2
	}
	print(out, results)
	return 0
}

// A column is a benchmark without its library.
type column struct{ benchmark, title string }

// tables are printed one after the other, if there are results for them.
var tables = []struct {
	libraries string // the benchmarks whose libraries are lines of the table
	columns   []column
}{{"Call/", calls}, {"Limits/", limits}}

// calls are what a call costs, as a multiple of the direct call.
var calls = []column{
	{"Call/Retry", "success"},
	{"Call/Guarded", "with breaker and budget"},
	{"Call/FailOnce", "one failure, no delay"},
	{"Call/Permanent", "permanent error"},
	{"Call/Timeout", "attempt timeout"},
	{"Call/Deadline", "caller's deadline sooner"},
	{"Call/Breaker", "breaker"},
	{"Parallel8/Breaker", "breaker, 8 goroutines"},
	{"Call/FailureRate", "failure-rate breaker"},
	{"Parallel8/FailureRate", "failure-rate breaker, 8 goroutines"},
	{"Call/Budget", "budget"},
	{"Call/Full", "all of it"},
}

// limits are what an attempt costs that limits admit.
var limits = []column{
	{"Limits/fixed/1", "concurrency limit"},
	{"Limits/fixed/8", "8 goroutines"},
	{"Limits/inTurn/16", "16 goroutines in turn"},
	{"Limits/adaptive/1", "adaptive limit"},
	{"Limits/adaptive/8", "8 goroutines"},
	{"Limits/rate/1", "rate limit"},
	{"Limits/rate/8", "8 goroutines"},
	{"Limits/healthy/1", "throttle, healthy"},
	{"Limits/healthy/8", "8 goroutines"},
	{"Limits/throttled/1", "throttle, some failures"},
	{"Limits/throttled/8", "8 goroutines"},
}

// A result is what repeated runs of one benchmark gave.
type result struct {
	benchmark, library string
	ns, allocs         []float64
}

// read reads what go test -bench prints.
func read(in io.Reader) (results []*result, err error) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) < 4 || !strings.HasPrefix(words[0], "Benchmark") {
			continue
		}
		name := strings.TrimPrefix(words[0], "Benchmark")
		// The number of processors, where it is not 1.
		if i := strings.LastIndexByte(name, '-'); i >= 0 {
			if _, err := strconv.Atoi(name[i+1:]); err == nil {
				name = name[:i]
			}
		}
		slash := strings.LastIndexByte(name, '/')
		if slash < 0 {
			continue
		}
		benchmark, library := name[:slash], name[slash+1:]
		r := find(results, benchmark, library)
		if r == nil {
			r = &result{benchmark: benchmark, library: library}
			results = append(results, r)
		}
		for pair := range slices.Chunk(words[2:], 2) {
			n, err := strconv.ParseFloat(pair[0], 64)
			if err != nil || len(pair) < 2 {
				return nil, fmt.Errorf("%q is not the line of a benchmark", lines.Text())
			}
			switch pair[1] {
			case "cpu-ns/op":
				r.ns = append(r.ns, n)
			case "allocs/op":
				r.allocs = append(r.allocs, n)
			}
		}
	}
	return results, lines.Err()
}

func find(results []*result, benchmark, library string) *result {
	for _, r := range results {
		if r.benchmark == benchmark && r.library == library {
			return r
		}
	}
	return nil
}

// print prints the tables.
func print(out io.Writer, results []*result) {
	separator := ""
	for _, t := range tables {
		var libraries []string
		for _, r := range results {
			if strings.HasPrefix(r.benchmark, t.libraries) && !slices.Contains(libraries, r.library) {
				libraries = append(libraries, r.library)
			}
		}
		if len(libraries) > 0 {
			fmt.Fprint(out, separator)
			printTable(out, results, libraries, t.columns)
			separator = "\n"
		}
	}
}

// printTable prints a line for each library: times as multiples of the direct call, if it
// is measured.
func printTable(out io.Writer, results []*result, libraries []string, columns []column) {
	fmt.Fprint(out, "| |")
	for _, c := range columns {
		fmt.Fprintf(out, " %s |", c.title)
	}
	fmt.Fprintln(out, "\n|---|"+strings.Repeat("---|", len(columns)))
	for _, library := range libraries {
		fmt.Fprintf(out, "| %s |", library)
		for _, c := range columns {
			fmt.Fprintf(out, " %s |", cell(find(results, c.benchmark, library), find(results, c.benchmark, "direct")))
		}
		fmt.Fprintln(out)
	}
}

// cell is the time of r, as a multiple of the direct call, and its allocations.
func cell(r, direct *result) string {
	switch {
	case r == nil:
		return ""
	case direct == nil || r == direct:
		return nanoseconds(median(r.ns)) + fmt.Sprintf(", %.0f", median(r.allocs))
	}
	times := median(r.ns) / median(direct.ns)
	if times < 9.95 {
		return fmt.Sprintf("%.1f×, %.0f", times, median(r.allocs))
	}
	return fmt.Sprintf("%.0f×, %.0f", times, median(r.allocs))
}

// nanoseconds formats a time with three digits, and without an exponent.
func nanoseconds(ns float64) string {
	if ns < 1000 {
		return fmt.Sprintf("%.3g ns", ns)
	}
	return fmt.Sprintf("%.0f ns", ns)
}

func median(of []float64) float64 {
	if len(of) == 0 {
		return 0
	}
	slices.Sort(of)
	return (of[len(of)/2] + of[(len(of)-1)/2]) / 2
}
