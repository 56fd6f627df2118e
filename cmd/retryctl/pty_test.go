//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/retrygen/retrygen/contrib/sqlite"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
)

// A terminal is a command on a terminal of its own.
type terminal struct {
	t      *testing.T
	cmd    *exec.Cmd
	tty    *os.File
	output strings.Builder
}

// onTerminal starts retryctl on a terminal.
func onTerminal(t *testing.T, args ...string) *terminal {
	t.Helper()
	cmd := process(t, nil, args...)
	cmd.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=1")
	tty, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close() })
	return &terminal{t: t, cmd: cmd, tty: tty}
}

// wait reads the output until it has a text.
func (x *terminal) wait(text string) {
	x.t.Helper()
	if err := x.tty.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		x.t.Fatal(err)
	}
	for buffer := make([]byte, 1024); !strings.Contains(x.output.String(), text); {
		n, err := x.tty.Read(buffer)
		x.output.Write(buffer[:n])
		if err != nil {
			x.t.Fatalf("%v before %q:\n%s", err, text, x.output.String())
		}
	}
}

// end returns the output and the exit status when the command has ended.
func (x *terminal) end() (string, int) {
	x.t.Helper()
	rest, err := io.ReadAll(x.tty)
	if x.output.Write(rest); err != nil && !errors.Is(err, syscall.EIO) { // which Linux reports at the end
		x.t.Fatal(err)
	}
	_ = x.cmd.Wait()
	return x.output.String(), x.cmd.ProcessState.ExitCode()
}

// deadLetters creates a store with runs that have a dead letter each, of which the
// second was canceled: its dead letter cannot be requeued.
func deadLetters(t *testing.T, n int) (name string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "retry.db")
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	e, err := durable.New(store)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	once := retry.Policy{Name: "charge", Schedule: retry.Schedule{MaxAttempts: 1}}
	charge := genapi.StepPolicy{Name: "Charge", Policy: &once, Idempotent: true, OnExhausted: genapi.ExhaustedDeadLetter}
	for i := range n {
		_ = e.Run(t.Context(), fmt.Sprintf("run%02d", i), func(ctx context.Context) error {
			_, err := genapi.Call(ctx, &charge, genapi.ID("o1"), genapi.Digest{},
				func(context.Context) (string, error) { return "", errors.New("connection refused") })
			return err
		})
	}
	if err := e.Admin().Cancel(t.Context(), "run01"); err != nil {
		t.Fatal(err)
	}
	return "sqlite:" + path
}

// TestConfirm: what concerns many dead letters asks on a terminal. Only y and yes are
// an agreement. Ctrl-C is none.
func TestConfirm(t *testing.T) {
	t.Parallel()
	store := deadLetters(t, 3)
	discard := []string{"dead", "discard", "-all", "-why", "test", "-store", store}
	for _, answer := range []string{"n\r", "\r", "maybe\r", "\x04", "\x03"} {
		x := onTerminal(t, discard...)
		x.wait("discard 3 dead letters? [y/N] ")
		if _, err := x.tty.WriteString(answer); err != nil {
			t.Fatal(err)
		}
		output, status := x.end()
		if status != 1 || !strings.Contains(output, "retryctl: nothing was changed") {
			t.Errorf("answer %q: status %d, want 1:\n%s", answer, status, output)
		}
	}
	x := onTerminal(t, discard...)
	x.wait("? [y/N] ")
	if _, err := x.tty.WriteString("Yes\r"); err != nil {
		t.Fatal(err)
	}
	if output, status := x.end(); status != 0 || !strings.Contains(output, "discarded 3 of 3 dead letters") {
		t.Errorf("status %d, want 0:\n%s", status, output)
	}
}

// TestProgressAfterRefusal: the line with the progress of a requeue is shown again
// after a dead letter that cannot be requeued, and erased at the end.
func TestProgressAfterRefusal(t *testing.T) {
	t.Parallel()
	x := onTerminal(t, "dead", "requeue", "-all", "-yes", "-rate", "5", "-store", deadLetters(t, 10))
	const erase = "\r\x1b[K"
	x.wait(erase + "retryctl: requeued: 8 of 10…")
	output, status := x.end()
	if status != 1 || !strings.Contains(output, "run01") ||
		!strings.HasSuffix(output, erase+"requeued 9 of 10 dead letters\r\n") {
		t.Errorf("status %d, want 1:\n%q", status, output)
	}
}
