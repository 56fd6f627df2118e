// Instructions counts the instructions of a successful call by callgrind, which
// does not depend on what else the machine is doing, and fails when a wrapper
// needs more than it may on top of the direct call.
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
)

func main() { os.Exit(run()) }

// most is how many instructions a wrapper may need more than the direct call.
var most = []struct {
	benchmark string
	limit     int
}{
	{"retrygen", 20},
	{"retrygen-breaker-budget", 42},
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
	direct, err := perCall(binary, "direct")
	if err != nil {
		return failed(err)
	}
	status := 0
	for _, m := range most {
		n, err := perCall(binary, m.benchmark)
		if err != nil {
			return failed(err)
		}
		fmt.Printf("%-26s %+d instructions over the direct call, at most %+d\n", m.benchmark, n-direct, m.limit)
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
func perCall(binary, name string) (int, error) {
	const short, long = 50_000, 550_000
	few, err := collected(binary, name, short)
	if err != nil {
		return 0, err
	}
	many, err := collected(binary, name, long)
	return (many - few + (long-short)/2) / (long - short), err
}

var total = regexp.MustCompile(`Collected : (\d+)`)

// collected runs a benchmark n times under callgrind. Now and then valgrind
// crashes on a Go program; then it is run again.
func collected(binary, name string, n int) (count int, err error) {
	const tries = 8
	for range tries {
		cmd := exec.Command("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", binary,
			"-test.run=^$", "-test.bench=^BenchmarkStatic$/^"+name+"$", "-test.benchtime="+strconv.Itoa(n)+"x")
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=off", "GODEBUG=asyncpreemptoff=1")
		var out []byte
		out, err = cmd.CombinedOutput()
		if m := total.FindSubmatch(out); err == nil && m != nil {
			return strconv.Atoi(string(m[1]))
		}
		err = fmt.Errorf("valgrind: %w\n%s", err, out)
	}
	return 0, err
}
