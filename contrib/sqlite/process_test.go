//go:build unix

package sqlite_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func TestMain(m *testing.M) {
	if child := children[os.Getenv("SQLITE_CHILD")]; child != nil {
		child(os.Args[1:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child returns the command of a child.
func child(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "SQLITE_CHILD="+name)
	return cmd
}

// A process is this program as the child of a test.
type process struct {
	t     testing.TB
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
}

// start starts a child, which is killed when the test ends.
func start(t testing.TB, name string, args ...string) *process {
	t.Helper()
	cmd := child(name, args...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{t, cmd, stdin, bufio.NewScanner(stdout)}
	t.Cleanup(p.kill)
	return p
}

// line returns the next line that the child prints.
func (p *process) line() string {
	p.t.Helper()
	if !p.lines.Scan() {
		p.t.Fatalf("the child has ended: %v", p.cmd.Wait())
	}
	return p.lines.Text()
}

// expect waits for a line.
func (p *process) expect(want string) {
	p.t.Helper()
	if got := p.line(); got != want {
		p.t.Fatalf("the child printed %q, want %q", got, want)
	}
}

// send lets a child continue that waits for a line.
func (p *process) send() { fmt.Fprintln(p.stdin) }

// rest returns the lines that the child prints until it ends.
func (p *process) rest() (lines []string) {
	for p.lines.Scan() {
		lines = append(lines, p.lines.Text())
	}
	return lines
}

// kill kills the child with SIGKILL, and waits until it is gone.
func (p *process) kill() {
	if p.cmd.ProcessState != nil {
		return
	}
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// stopped waits until the child has stopped itself.
func (p *process) stopped() {
	p.t.Helper()
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(p.cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
		if !errors.Is(err, syscall.EINTR) {
			if err != nil || !status.Stopped() {
				p.t.Fatalf("the child has not stopped: %v, %v", status, err)
			}
			return
		}
	}
}

// children are what this program does as the child of a test, by the value of
// SQLITE_CHILD.
var children = map[string]func(args []string){
	"limit-work": childLimitWork,
	"write":      childWrite,
	"stop":       childStop,
	"other":      childOther,
	"limit":      childLimit,
	"refused":    childRefused,
	"load":       childLoad,
	"work":       childWork,
	"group":      childGroup,

	"group-work": childGroupWork,
	"drain":      childDrain,
	"probe":      childProbe,
	"supervise":  childSupervise,
}

// must ends a child that fails.
func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "child "+os.Getenv("SQLITE_CHILD")+":", strings.Join(os.Args[1:], " "), err)
		os.Exit(1)
	}
}

func must1[T any](v T, err error) T {
	must(err)
	return v
}

// waitForLine waits until the parent sends a line.
func waitForLine() { must1(bufio.NewReader(os.Stdin).ReadString('\n')) }
