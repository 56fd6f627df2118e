package durabletest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/memory"
)

// errAgain keeps the run of [Replay] open.
var errAgain = errors.New("executed for Replay")

// Replay checks that fn, the function of a run, can be continued after a crash. It
// executes fn twice, the second time with the recorded results. The test fails if the
// second execution calls different steps, calls them in a different order, or returns a
// different error. Everything that fn does outside steps is done twice.
//
// The order of steps that overlap does not matter. The order of steps without a policy,
// and of steps with genapi.RecordFailures, is the order in which they end. In a test with
// testing/synctest, waits take no time.
func Replay(t testing.TB, fn func(context.Context) error) {
	t.Helper()
	p := &replay{first: map[string]*span{}}
	e, err := durable.New(memory.New(), durable.OnEvent(p.observe))
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	defer func() {
		if err := e.Close(context.WithoutCancel(ctx)); err != nil {
			t.Errorf("closing the engine: %v", err)
		}
	}()
	var errs [2]error
	for i := range errs {
		p.begin(i)
		err := e.Run(ctx, "replay", func(ctx context.Context) error {
			errs[i] = fn(ctx)
			return errAgain
		})
		if !errors.Is(err, errAgain) {
			t.Errorf("execution %d of the run does not end: %v", i+1, err)
			return
		}
	}
	if a, b := fmt.Sprint(errs[0]), fmt.Sprint(errs[1]); a != b {
		t.Errorf("the run returned %q, and with the recorded results %q", a, b)
	}
	for _, problem := range p.compare() {
		t.Errorf("%s: what differs between executions belongs in a step", problem)
	}
}

// A replay has the calls of the steps in two executions.
type replay struct {
	mu     sync.Mutex
	again  bool // the second execution
	events int
	first  map[string]*span
	order  []string // of the first calls, in the second execution
}

// A span is from the first to the last event of a step in the first execution.
type span struct{ begin, end int }

func (p *replay) begin(execution int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.again = execution > 0
}

func (p *replay) observe(_ context.Context, ev events.Event) {
	if ev.Step == "" || ev.Kind == events.EventAbandoned {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events++
	switch s := p.first[ev.Step]; {
	case p.again:
		p.order = append(p.order, ev.Step)
	case s == nil:
		p.first[ev.Step] = &span{p.events, p.events}
	case ev.Kind != events.EventRecalled:
		s.end = p.events
	}
}

// compare returns what differs between the executions.
func (p *replay) compare() (problems []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	called := map[string]bool{}
	var before []string
	for _, step := range p.order {
		if called[step] {
			continue
		}
		called[step] = true
		s := p.first[step]
		if s == nil {
			problems = append(problems, fmt.Sprintf("step %q is called with the recorded results only", step))
			continue
		}
		for _, other := range before {
			if s.end < p.first[other].begin {
				problems = append(problems, fmt.Sprintf("step %q came before step %q, and comes after it", step, other))
			}
		}
		before = append(before, step)
	}
	for step := range p.first {
		if !called[step] {
			problems = append(problems, fmt.Sprintf("step %q is not called with the recorded results", step))
		}
	}
	return problems
}
