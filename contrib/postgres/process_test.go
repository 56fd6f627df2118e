//go:build unix

package postgres_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/retrygen/retrygen/contrib/postgres/pgtest"
)

func TestMain(m *testing.M) {
	if child := children[os.Getenv("POSTGRES_CHILD")]; child != nil {
		child(os.Args[1:])
		os.Exit(0)
	}
	os.Exit(pgtest.Main(m))
}

// children are what this program does as the child of a test, by the value of
// POSTGRES_CHILD.
var children = map[string]func(args []string){"work": childWork, "group": childGroup}

// child returns the command of a child.
func child(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "POSTGRES_CHILD="+name)
	return cmd
}

// A process is this program as the child of a test.
type process struct {
	cmd *exec.Cmd
	out *output
}

// An output collects the lines that children print.
type output struct {
	mu    sync.Mutex
	lines []string
	all   sync.WaitGroup // children that print
}

// count returns the number of lines.
func (o *output) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.lines)
}

// start starts a child, whose lines are added to out, and which is killed when the
// test ends.
func start(t testing.TB, out *output, name string, args ...string) *process {
	t.Helper()
	cmd := child(name, args...)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out.all.Go(func() {
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			out.mu.Lock()
			out.lines = append(out.lines, lines.Text())
			out.mu.Unlock()
		}
	})
	p := &process{cmd, out}
	t.Cleanup(p.kill)
	return p
}

// kill kills the child with SIGKILL, and waits until it is gone.
func (p *process) kill() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
}

// must ends a child that cannot go on.
func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
