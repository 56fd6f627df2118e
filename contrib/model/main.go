// Model executes random histories of the protocol that engines use to execute runs in a
// store, and checks after each step that the promises of runtime/durable hold.
//
//	go run ./contrib/model -n 100000          # no history may break a promise
//	go run ./contrib/model -bug nofence       # leaves out a rule, and prints a history that breaks one
//	go run ./contrib/model -bug list          # the rules that can be left out
//
// It is a second, small implementation of the rules. It shows whether the rules are
// right, but not whether runtime/durable follows them. For the latter, the random
// histories of durabletest execute the real code, and contrib/bench/kills kills real
// processes.
//
// # What is modeled
//
//   - Three processes, each with an owner's lease, up to two runs at a time, and a queue of
//     updates that share transactions across runs.
//   - Runs with a single row, and runs with a row for each of two steps. The claim of a
//     single-row run starts attempt 1 of its only step, and the run's end is the end of
//     that attempt.
//   - Claims of new runs in one statement, and claims of other runs with locks. Ends of
//     runs in one statement if the version stored by the claim is unchanged, and
//     otherwise with locks. Starts and ends of attempts in transactions.
//   - Successes that are held in the process until the next update of their run. That
//     update records the success before its own decision, in the same transaction.
//   - Attempts that fail or are lost, steps that may not be repeated after a loss, and a
//     retry budget that all runs share.
//   - Replies that are lost after a commit, repeats, claims and ends that reach the store
//     after their sender has stopped waiting or has died, transactions that the store
//     rejects, and stores that fail for longer than a caller waits.
//   - Processes that die, that stop for longer than their lease, and that discover at a
//     renewal that they own runs which they are not executing. A claim whose reply was
//     lost is returned together with the start of its attempt.
//   - Operators who cancel, pause and resume runs, and callers who wait for the end of a
//     run.
//   - The store's clock, which is sometimes set forward or back.
//
// # What is not modeled
//
// Two attempts of a run at the same time, groups, children, parked runs, deadlines,
// shared breakers, requeues and resolved steps, periodic runs, handler limits, retention
// and months, imports, and the time that is recorded by an end in one statement.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("model", flag.ContinueOnError)
	flags.SetOutput(errs)
	n := flags.Int("n", 100_000, "number of histories")
	seed := flags.Uint64("seed", 0, "seed of the first history")
	bug := flags.String("bug", "", "rule to leave out; list prints all")
	switch err := flags.Parse(args); {
	case err == flag.ErrHelp:
		return 0
	case err != nil || flags.NArg() > 0 || *n < 1:
		fmt.Fprintln(errs, "model: want -n above 0 and no arguments: see -help")
		return 2
	case *bug == "list":
		for _, b := range bugs {
			fmt.Fprintf(out, "%-12s %s\n", b.name, b.rule)
		}
		return 0
	case *bug != "" && !slices.ContainsFunc(bugs, func(b bugInfo) bool { return b.name == *bug }):
		fmt.Fprintf(errs, "model: there is no bug %q: see -bug list\n", *bug)
		return 2
	}
	total, broken := histories(*seed, *n, *bug)
	if broken != nil {
		w := newWorld(broken.seed, *bug)
		w.trace = out
		w.live()
		fmt.Fprintf(out, "seed %d: %s\n", broken.seed, broken.problem)
		return 1
	}
	fmt.Fprintf(out, "%d histories, no promise is broken\n%s", *n, total.String())
	return 0
}

// A broken history is one that has broken a promise.
type broken struct {
	seed    uint64
	problem string
}

// histories executes n histories on all processors. It returns what they have covered,
// and one that has broken a promise, or nil.
func histories(seed uint64, n int, bug string) (total counts, found *broken) {
	var next atomic.Uint64
	var stop atomic.Bool
	var mu sync.Mutex
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			var sum counts
			for !stop.Load() {
				i := next.Add(1) - 1
				if i >= uint64(n) {
					break
				}
				w := newWorld(seed+i, bug)
				w.live()
				sum.add(&w.counts)
				if w.problem != "" {
					stop.Store(true)
					mu.Lock()
					found = &broken{seed + i, w.problem}
					mu.Unlock()
				}
			}
			mu.Lock()
			total.add(&sum)
			mu.Unlock()
		})
	}
	all.Wait()
	return total, found
}
