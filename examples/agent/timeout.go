package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/retrygen/retrygen/contrib/recovery"
	retry "github.com/retrygen/retrygen/runtime"
)

// runOutOfTime executes an agent in the folder dir whose second step takes too
// long, and then what a later process does about it.
func runOutOfTime(ctx context.Context, out io.Writer, dir string) error {
	base, work := filepath.Join(dir, "runs", "abc123"), filepath.Join(dir, "work")
	if text, err := exec.CommandContext(ctx, "git", "init", "-q", work).CombinedOutput(); err != nil {
		return fmt.Errorf("git init: %w: %s", err, text)
	}
	model := &script{"plan": {"search retry budgets"}, "write": {"draft three sources"}}

	first := NewSession(base, work, "abc123")
	first.Draft.hangs = true
	err := execute(retry.WithScopeTimeout(ctx, "step", 50*time.Millisecond), out, model, first)
	fmt.Fprintf(out, "  failed: %v\n", err)

	// Another process knows only the folder of the run.
	receipt, err := recovery.Latest(base, flowName)
	if err != nil {
		return err
	}
	next := recovery.Resume(receipt.Event)
	fmt.Fprintf(out, "  captured: %s %s of agent %s, after %d ms; the last successful step is %s\n", receipt.Timeout.Scope,
		receipt.State.StepID, receipt.State.AgentKey, receipt.Timeout.TimeoutMS, receipt.Context.Checkpoint)
	for _, a := range receipt.Artifacts {
		fmt.Fprintf(out, "  captured: %s with %d bytes, complete: %v\n", a.Path, a.BytesWritten, a.Complete)
	}
	fmt.Fprintf(out, "  captured: uncommitted changes %s, transcript %s\n", strings.Join(receipt.Context.Changes, ", "),
		receipt.Context.Transcript)
	fmt.Fprintf(out, "  the next run may choose of %v: %s\n", next.Options, next.Reason)
	fmt.Fprintf(out, "  choosing %s\n", next.Recommendation)
	if next.Recommendation != recovery.RetryStep {
		return nil // a person discards or looks at the changes first
	}
	if err := execute(ctx, out, model, NewSession(base, work, "abc123")); err != nil {
		return err
	}
	rows, err := recovery.Timeouts(base, flowName)
	if err != nil {
		return err
	}
	for _, row := range rows {
		fmt.Fprintf(out, "  timeouts.jsonl: %s %s of %s, final action %s, %s\n", row.Scope, row.StepID, row.RunID, row.Action,
			row.Path)
	}
	text, err := os.ReadFile(first.Draft.path)
	fmt.Fprintf(out, "  notes.md: %q\n", text)
	return err
}

// execute executes an agent once.
func execute(ctx context.Context, out io.Writer, model Model, s *Session) error {
	agent := NewAgent(model, []Tool{&search{calls: 1}, s.Draft}, "plan", "write")
	agent.Session = s
	steps, _, err := s.Resume(agent.Steps, "")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "  executing %s\n", strings.Join(steps, ", "))
	result, err := agent.RetryRun(ctx, "why do retries melt servers?")
	if err == nil {
		fmt.Fprintf(out, "  done: %s\n", result)
	}
	return err
}

// A Draft is a tool that writes a file in parts. It continues a file that an
// interrupted call has begun.
type Draft struct {
	path  string
	hangs bool // after the first part

	file   *os.File
	buffer *bufio.Writer
}

// Name implements Tool.
func (*Draft) Name() string { return "draft" }

// Call writes the parts that the file does not have.
func (d *Draft) Call(ctx context.Context, args string) (string, error) {
	begun, err := os.ReadFile(d.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if d.file, err = os.OpenFile(d.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644); err != nil {
		return "", err
	}
	d.buffer = bufio.NewWriter(d.file)
	if len(begun) == 0 {
		fmt.Fprintln(d.buffer, "# Notes")
	}
	if d.hangs {
		<-ctx.Done()
		return "", ctx.Err() // with a part in the buffer: the capture of the step flushes it
	}
	fmt.Fprintln(d.buffer, args)
	return "notes.md with " + args, d.Flush()
}

// Flush writes what is buffered, and closes the file.
func (d *Draft) Flush() error {
	if d.file == nil {
		return nil
	}
	err := errors.Join(d.buffer.Flush(), d.file.Close())
	d.file = nil
	return err
}
