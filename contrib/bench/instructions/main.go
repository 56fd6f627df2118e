// Instructions counts the instructions of a successful call with callgrind, whose results
// do not depend on other work on the machine. It fails if a wrapper adds more
// instructions to a direct call than its limit allows.
//
//	go run ./instructions
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

func main() { os.Exit(run()) }

// most is how many instructions a wrapper may take on top of the direct call.
// No-ops for alignment are among them, one or two more or less wherever the
// linker puts a wrapper: hence more than it takes today.
var most = []struct {
	benchmark string
	limit     int
	calls     int // of the short run
}{
	{"Static/retrygen", 20, 50_000},
	{"Static/retrygen-budget", 28, 50_000},
	{"Static/retrygen-breaker", 35, 50_000},
	{"Static/retrygen-breaker-budget", 37, 50_000},
	{"Static/retrygen-limit", 97, 50_000},
	{"Static/limiter", 25, 50_000},
	{"Static/retrygen-live", 22, 50_000},
	{"Static/retrygen-live-breaker", 35, 50_000},
	{"Static/retrygen-timeout", 600, 50_000},
	{"Static/retrygen-live-timeout", 600, 50_000},
	{"Durable/failures", 610, 50_000},
}

func run() int {
	dir, err := os.MkdirTemp("", "instructions")
	if err != nil {
		return failed(err)
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "bench.test")
	if out, err := exec.Command("go", "test", "-c", "-o", binary, ".").CombinedOutput(); err != nil {
		return failed(fmt.Errorf("%w\n%s", err, out))
	}
	direct, err := perCall(binary, "Static/direct", 50_000)
	if err != nil {
		return failed(err)
	}
	status := 0
	for _, m := range most {
		n, err := perCall(binary, m.benchmark, m.calls)
		if err != nil {
			return failed(err)
		}
		fmt.Printf("%-32s %+d instructions over the direct call, at most %+d\n", m.benchmark, n-direct, m.limit)
		if n-direct > m.limit {
			status = 1
		}
	}
	return status
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, "instructions:", err)
	return 2
}

// perCall is the difference of a long and a short run, so that what every run
// needs does not count.
func perCall(binary, name string, short int) (int, error) {
	long := 11 * short
	few, err := collected(binary, name, short)
	if err != nil {
		return 0, err
	}
	many, err := collected(binary, name, long)
	return (many - few + (long-short)/2) / (long - short), err
}

var total = regexp.MustCompile(`Collected : (\d+)`)

// collected runs a benchmark n times under callgrind.
func collected(binary, name string, n int) (int, error) {
	cmd := exec.Command("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", binary,
		"-test.run=^$", "-test.bench=^Benchmark"+strings.Replace(name, "/", "$/^", 1)+"$",
		"-test.benchtime="+strconv.Itoa(n)+"x")
	// The first two are not for the count. A signal by which the scheduler preempts
	// fails an assertion of callgrind (vgCallgrind_post_signal, as of 3.19). And the
	// processor that valgrind shows to programs has RDTSCP, but valgrind executes it
	// only where the real one has it, too. The others keep threads that spin and the
	// collector out of it.
	cmd.Env = append(os.Environ(), "GODEBUG=asyncpreemptoff=1,cpu.rdtscp=off", "GOMAXPROCS=1", "GOGC=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("valgrind: %w\n%s", err, out)
	}
	m := total.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("valgrind: no count in\n%s", out)
	}
	return strconv.Atoi(string(m[1]))
}
