package durable_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A process is an engine that can die.
type process struct {
	*durable.Engine
	store *durabletest.Faulty
	ctx   context.Context // ends when the process dies

	deadly  events.Kind                         // the process dies when it reports this
	forward func(context.Context, events.Event) // is called with all events, or nil

	mu     sync.Mutex
	events []events.Event
}

// startProcess starts a process over a store.
func startProcess(t *testing.T, s storage.Store, options ...durable.Option) *process {
	t.Helper()
	p := &process{store: durabletest.CrashAt(s, 0)}
	ctx, cancel := p.store.Context(t.Context())
	t.Cleanup(cancel)
	p.ctx = ctx
	p.Engine = newEngine(t, p.store, append(options, durable.OnEvent(p.observe))...)
	return p
}

func (p *process) observe(ctx context.Context, ev events.Event) {
	if p.forward != nil {
		p.forward(ctx, ev)
	}
	p.mu.Lock()
	p.events = append(p.events, ev)
	p.mu.Unlock()
	if ev.Kind == p.deadly {
		p.kill()
	}
}

// saw returns the events of a kind.
func (p *process) saw(kind events.Kind) []events.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.events), func(ev events.Event) bool { return ev.Kind != kind })
}

// run executes a run until it ends, or the process dies.
func (p *process) run(id string, fn func(context.Context) error, options ...durable.RunOption) error {
	return p.Run(p.ctx, id, fn, options...)
}

// kill ends the process without anything that a dying process cannot do.
func (p *process) kill() { p.store.Crash() }

// killAfter ends the process after some time.
func (p *process) killAfter(d time.Duration) { time.AfterFunc(d, p.kill) }

// A journal has the calls of the functions of steps, in all processes.
type journal struct {
	mu    sync.Mutex
	calls []durable.Info
}

// add notes a call, and returns what it belongs to.
func (j *journal) add(ctx context.Context) durable.Info {
	info, _ := durable.Current(ctx)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.calls = append(j.calls, info)
	return info
}

// attempts returns the numbers of the attempts of a step that were called.
func (j *journal) attempts(step string) []int {
	j.mu.Lock()
	defer j.mu.Unlock()
	var numbers []int
	for _, c := range j.calls {
		if c.Step == step {
			numbers = append(numbers, c.Attempt)
		}
	}
	return numbers
}

// want compares the attempts of a step.
func (j *journal) want(t *testing.T, step string, want ...int) {
	t.Helper()
	if got := j.attempts(step); !slices.Equal(got, want) {
		t.Errorf("attempts %v of step %q were called, want %v", got, step, want)
	}
}

// idempotent returns the policy of a step that is tried again after a loss.
func idempotent(name string, attempts int, delay time.Duration) *genapi.StepPolicy {
	s := careful(name, attempts, delay)
	s.Idempotent = true
	return s
}

// careful returns the policy of a step that pauses its run after a loss.
func careful(name string, attempts int, delay time.Duration) *genapi.StepPolicy {
	return &genapi.StepPolicy{Name: name, Policy: &retry.Policy{
		Name: name, RetryUnknown: true,
		Schedule: retry.Schedule{MaxAttempts: attempts, InitialDelay: delay, MaxDelay: retry.None},
	}}
}

// call calls a step without an id of its own.
func call[T any](ctx context.Context, s *genapi.StepPolicy, fn func(context.Context) (T, error)) (T, error) {
	return genapi.Call(ctx, s, genapi.ID(), genapi.Arguments(), fn)
}

// callID calls a step with an id.
func callID(ctx context.Context, s *genapi.StepPolicy, id any, fn func(context.Context) (int, error)) (int, error) {
	return genapi.Call(ctx, s, genapi.ID(id), genapi.Arguments(), fn)
}

// failing returns the function of a step whose first n calls fail.
func failing(j *journal, n int) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		info := j.add(ctx)
		if len(j.attempts(info.Step)) <= n {
			return 0, fmt.Errorf("unavailable: call %d", len(j.attempts(info.Step)))
		}
		return 100 + info.Attempt, nil
	}
}

// oneStep returns the function of a run with one step.
func oneStep(s *genapi.StepPolicy, fn func(context.Context) (int, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := call(ctx, s, fn)
		return err
	}
}

// steps returns the steps of a run by their ids.
func steps(t *testing.T, e *durable.Engine, run string) map[string]admin.StepInfo {
	t.Helper()
	found := map[string]admin.StepInfo{}
	for s, err := range e.Admin().Steps(t.Context(), admin.Filter{Run: run}) {
		if err != nil {
			t.Fatal(err)
		}
		found[s.Step] = s
	}
	return found
}

// wantStep checks the status of a step.
func wantStep(t *testing.T, e *durable.Engine, run, step string, want storage.Status) admin.StepInfo {
	t.Helper()
	all := steps(t, e, run)
	s, ok := all[step]
	if !ok {
		t.Fatalf("run %q has no step %q, only %q", run, step, slices.Sorted(maps.Keys(all)))
	}
	if s.Status != want {
		t.Errorf("step %q is %v, want %v", step, s.Status, want)
	}
	return s
}

// wantRun checks the status of a run.
func wantRun(t *testing.T, e *durable.Engine, run string, want storage.Status) admin.RunInfo {
	t.Helper()
	for r, err := range e.Admin().List(t.Context(), storage.Query{Run: run}) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != want {
			t.Errorf("run %q is %v, want %v", run, r.Status, want)
		}
		return r
	}
	t.Fatalf("run %q does not exist", run)
	return admin.RunInfo{}
}

// history returns the attempts of a step as text: number, outcome, wait.
func history(t *testing.T, e *durable.Engine, run, step string) []string {
	t.Helper()
	var lines []string
	for a, err := range e.Admin().Attempts(t.Context(), run, step) {
		if err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprint(a.Attempt, " ", a.Outcome)
		if a.Wait > 0 {
			line += fmt.Sprint(", then ", a.Wait)
		}
		if a.Late {
			line += ", late"
		}
		lines = append(lines, line)
	}
	return lines
}

// wantHistory compares the history of a step.
func wantHistory(t *testing.T, e *durable.Engine, run, step string, want ...string) {
	t.Helper()
	if got := history(t, e, run, step); !slices.Equal(got, want) {
		t.Errorf("history of step %q: got %q, want %q", step, got, want)
	}
}

// wantError checks that an error matches.
func wantError(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got error %v, want %v", err, want)
	}
}

// wantAs checks that an error has a type, and returns it.
func wantAs[E error](t *testing.T, err error) E {
	t.Helper()
	target, ok := errors.AsType[E](err)
	if !ok {
		t.Fatalf("got error %v (%[1]T), want %T", err, target)
	}
	return target
}

// wantAbout checks a time that was waited.
func wantAbout(t *testing.T, what string, got, least, most time.Duration) {
	t.Helper()
	if got < least || got > most {
		t.Errorf("%s took %v, want %v to %v", what, got, least, most)
	}
}

// An update is Store.Update of the store below.
type update = func(context.Context, storage.Select, decision) error

// A decision is what an update asks for its writes.
type decision = func(storage.Tx) (storage.Writes, error)

// A hooked store passes its updates to a function.
type hooked struct {
	storage.Store
	hook func(ctx context.Context, sel storage.Select, decide decision, next update) error
}

func (h *hooked) Update(ctx context.Context, sel storage.Select, decide decision) error {
	return h.hook(ctx, sel, decide, h.Store.Update)
}

// isRenewal reports whether an update is that of a lease.
func isRenewal(sel storage.Select) bool {
	return len(sel.Keys) == 1 && sel.Keys[0].Kind == storage.KindOwner && sel.Queries == nil
}

// puts reports whether an update writes a step with a status.
func puts(w storage.Writes, status storage.Status) bool {
	return slices.ContainsFunc(w.Put, func(r storage.Record) bool {
		return r.Key.Kind == storage.KindStep && r.Status == status
	})
}
