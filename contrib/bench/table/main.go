// Table makes the table of the README from the output of the benchmarks.
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

// columns of the table, by the benchmark without its library.
var columns = []struct{ benchmark, title string }{
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

// print prints a line for each library: times as multiples of the direct call.
func print(out io.Writer, results []*result) {
	fmt.Fprint(out, "| |")
	for _, c := range columns {
		fmt.Fprintf(out, " %s |", c.title)
	}
	fmt.Fprintln(out, "\n|---|"+strings.Repeat("---|", len(columns)))
	var libraries []string
	for _, r := range results {
		if strings.HasPrefix(r.benchmark, "Call/") && !slices.Contains(libraries, r.library) {
			libraries = append(libraries, r.library)
		}
	}
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
		return fmt.Sprintf("%.3g ns, %.0f", median(r.ns), median(r.allocs))
	}
	times := median(r.ns) / median(direct.ns)
	if times < 9.95 {
		return fmt.Sprintf("%.1f×, %.0f", times, median(r.allocs))
	}
	return fmt.Sprintf("%.0f×, %.0f", times, median(r.allocs))
}

func median(of []float64) float64 {
	if len(of) == 0 {
		return 0
	}
	slices.Sort(of)
	return (of[len(of)/2] + of[(len(of)-1)/2]) / 2
}
