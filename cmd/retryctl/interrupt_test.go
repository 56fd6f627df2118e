//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/retrygen/retrygen/contrib/sqlite"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/durabletest/bigstore"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// process returns a command that executes retryctl in a process of its own.
func process(t *testing.T, output *bytes.Buffer, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Args = append([]string{"retryctl"}, args...)
	if output != nil {
		cmd.Stdout, cmd.Stderr = output, output
	}
	return cmd
}

// TestInterruptedRequeue ends a requeue of many dead letters by kill -9 and by Ctrl-C:
// each is either requeued once or as before, and the next call does the rest.
func TestInterruptedRequeue(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "retry.db")
			store, err := sqlite.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			if err := bigstore.Fill(t.Context(), store, bigstore.Size{Runs: 100, Steps: 3000, Until: time.Now()}); err != nil {
				t.Fatal(err)
			}
			e, err := durable.New(store)
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close(t.Context())
			all := dead(t, e)
			t.Setenv("RETRYCTL_STORE", "sqlite:"+path)

			var output bytes.Buffer
			cmd := process(t, &output, "dead", "requeue", "-all", "-yes", "-rate", "100")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			deadline := time.Now().Add(30 * time.Second)
			for len(dead(t, e)) > len(all)-5 && time.Now().Before(deadline) {
			}
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			left := dead(t, e)
			if n := len(all) - len(left); n < 5 || len(left) == 0 {
				t.Fatalf("%d of %d were requeued, want some: %s", n, len(all), &output)
			}
			if signal == syscall.SIGINT && (cmd.ProcessState.ExitCode() != 1 ||
				!strings.Contains(output.String(), "interrupted: the others are dead letters as before")) {
				t.Errorf("status %d, output %s", cmd.ProcessState.ExitCode(), &output)
			}

			output.Reset()
			// Dead letters of runs that have ended for ever cannot be requeued: there are none.
			if err := process(t, &output, "dead", "requeue", "-all", "-yes", "-rate", "0").Run(); err != nil {
				t.Errorf("%v: %s", err, &output)
			}
			if left := dead(t, e); len(left) > 0 {
				t.Errorf("%d dead letters are left", len(left))
			}
			for _, i := range all {
				if n := requeued(t, e, i); n != 1 {
					t.Errorf("%s of %s was requeued %d times", i.Step, i.Run, n)
				}
			}
			for v, err := range e.Admin().Verify(t.Context()) {
				t.Errorf("%v, %v", v, err)
			}
		})
	}
}

// TestTail: changes are printed as they happen, and Ctrl-C ends it.
func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "retry.db")
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := fill(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	e, err := durable.New(store)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	cmd := process(t, nil, "tail", "-store", "sqlite:"+path, "-every", "1ms", "-json")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(out); in.Scan(); {
			lines <- in.Text()
		}
	}()
	want := map[string]bool{`{"run":"mails","status":"paused"}`: true, `{"run":"mails","status":"open"}`: true}
	for deadline := time.Now().Add(30 * time.Second); len(want) > 0 && time.Now().Before(deadline); {
		for _, change := range []func(context.Context, string, ...events.Operator) error{e.Admin().Pause, e.Admin().Resume} {
			if err := change(t.Context(), "mails"); err != nil {
				t.Fatal(err)
			}
			select {
			case line := <-lines:
				delete(want, line)
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for range lines {
	}
	if err := cmd.Wait(); err != nil || len(want) > 0 {
		t.Errorf("%v, missing: %v", err, want)
	}
}

// TestInterruptedTwice: a change that waits for another program's lock may be recorded
// for some time after Ctrl-C, and the second Ctrl-C ends the command at once.
func TestInterruptedTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "retry.db")
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	locked, release := make(chan struct{}), make(chan struct{})
	updated := make(chan error, 1)
	go func() {
		sel := storage.Select{Keys: []storage.Key{{Kind: storage.KindRun, Run: "mails"}}}
		updated <- store.Update(context.Background(), sel, func(storage.Tx) (storage.Writes, error) {
			close(locked)
			<-release
			return storage.Writes{}, nil
		})
	}()
	<-locked
	cmd := process(t, nil, "pause", "-store", "sqlite:"+path, "mails")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	again, deadline := time.NewTicker(500*time.Millisecond), time.After(time.Minute)
	defer again.Stop()
	for waiting := true; waiting; {
		select {
		case <-again.C:
			_ = cmd.Process.Signal(os.Interrupt)
		case <-ended:
			waiting = false
		case <-deadline:
			t.Error("the command goes on after several Ctrl-C")
			_ = cmd.Process.Kill()
			<-ended
			waiting = false
		}
	}
	close(release)
	if err := <-updated; err != nil {
		t.Error(err)
	}
}

// dead returns the steps that are dead letters.
func dead(t *testing.T, e *durable.Engine) (all []admin.StepInfo) {
	t.Helper()
	f := admin.Filter{DeadLetter: true, Status: []storage.Status{storage.StatusDead}}
	for i, err := range e.Admin().Steps(t.Context(), f) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, i)
	}
	return all
}

// requeued returns how often a step was requeued.
func requeued(t *testing.T, e *durable.Engine, i admin.StepInfo) (n int) {
	t.Helper()
	for a, err := range e.Admin().Attempts(context.Background(), i.Run, i.Step) {
		if err != nil {
			t.Fatal(err)
		}
		if a.Outcome == events.OutcomeRequeued {
			n++
		}
	}
	return n
}
