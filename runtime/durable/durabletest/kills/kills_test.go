//go:build unix

package kills

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/memory"
)

// worked returns a place where one worker, which nobody kills, has executed some runs.
func worked(t *testing.T) *place {
	trial := &Trial{Store: memory.New()}
	e, err := durable.New(trial.Store)
	if err != nil {
		t.Fatal(err)
	}
	p := newPlace(trial, e)
	t.Cleanup(func() { _ = p.engine.Close(context.WithoutCancel(t.Context())) })
	for range len(handlers) {
		if err := p.start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	in, out := io.Pipe()
	p.ledger.read(in)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error)
	go func() { ended <- Work(ctx, p.Store, out) }()
	if err := p.drain(ctx); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	_ = out.Close()
	p.ledger.writers.Wait()
	return p
}

// TestViolations: what does not fit what is recorded is a violation.
func TestViolations(t *testing.T) {
	steps, job, charge := runID(stepsHandler, 0), runID(jobHandler, 1), runID(chargeHandler, 3)
	for _, test := range []struct{ name, lines, want string }{
		{"nothing", "", ""},
		{"twice", "call " + steps + " unit/0 1", "attempt 1 of unit/0 of steps-000000 was called 2 times"},
		{"uncounted", "call " + job + " unit/1 2", "attempt 2 of unit/1 of job-000001 was called, and is not recorded"},
		{"forgotten", "done " + steps + " unit/1 3", "the success of attempt 3 of unit/1 of steps-000000 was acknowledged"},
		{"repeated", "call " + charge + " charge 2", "the function of charge-000003 must not be repeated"},
		{"broken", "call", `a worker has printed "call"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := worked(t)
			for line := range strings.Lines(test.lines) {
				p.ledger.add(line)
			}
			if err := p.check(t.Context()); err != nil {
				t.Fatal(err)
			}
			got := strings.Join(p.report.Violations, "\n")
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got violations %q, want %q", got, test.want)
			}
		})
	}
}

// TestMissing: a run that was started and does not exist is a violation, and so is an
// attempt that is recorded and was not called.
func TestMissing(t *testing.T) {
	p := worked(t)
	p.runs += len(handlers)
	p.canceled[runID(jobHandler, 2)] = true
	clear(p.ledger.calls)
	if err := p.check(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(p.report.Violations, "\n")
	for _, want := range []string{
		"job-000008 was started, and is", "job-000002 was canceled, and is succeeded",
		"the success of job-000002 was acknowledged, and its cancellation, too",
		"attempt 1 of unit/1 of job-000001 is recorded as succeeded, and was not called",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got violations\n%s\nwant %q", got, want)
		}
	}
}
