package durable_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A tracer writes down its spans when they end.
type tracer struct {
	process string

	mu    sync.Mutex
	begun int
	lines []string
}

type spanKey struct{}

func (r *tracer) Start(ctx context.Context, s events.Span) (context.Context, func(error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun++
	id := fmt.Sprint(r.process, r.begun)
	what := "run " + s.Run
	if s.Step != "" {
		what = fmt.Sprintf("step %s of policy %q", s.Step, s.Policy)
	}
	if s.Handler != "" {
		what += " by " + s.Handler
	}
	if s.Correlation != "" {
		what += " from " + s.Correlation
	}
	if outer := r.Correlation(ctx); outer != "" {
		what += " in " + outer
	}
	return context.WithValue(ctx, spanKey{}, id), func(err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		line := id + ": " + what
		if err != nil {
			line += ": " + err.Error()
		}
		r.lines = append(r.lines, line)
	}
}

func (r *tracer) Correlation(ctx context.Context) string {
	id, _ := ctx.Value(spanKey{}).(string)
	return id
}

func (r *tracer) want(t *testing.T, want ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.lines, want) {
		t.Errorf("got spans\n%s\nwant\n%s", strings.Join(r.lines, "\n"), strings.Join(want, "\n"))
	}
}

// A step that goes on in another process has the correlation id of the span in
// which it failed first. What is recorded has no span.
func TestTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		a, b := &tracer{process: "a"}, &tracer{process: "b"}
		p := startProcess(t, s, durable.Trace(a))
		p.killAfter(90 * time.Second)
		var j journal
		work := func(ctx context.Context) error {
			_, err := durable.Step(ctx, "now", nil, func(context.Context) (int, error) { return 1, nil })
			if err != nil {
				return err
			}
			return oneStep(idempotent("charge", 9, time.Minute), failing(&j, 3))(ctx)
		}
		caller := context.WithValue(p.ctx, spanKey{}, "caller")
		if err := p.Engine.Run(caller, "one", work); err == nil {
			t.Error("the process was not killed")
		}
		synctest.Wait()
		if len(a.lines) == 0 || a.lines[0] != `a2: step now of policy "" from caller in a1` {
			t.Errorf("got spans %q", a.lines)
		}
		q := startProcess(t, s, durable.Trace(b))
		if err := q.run("one", work); err != nil {
			t.Error(err)
		}
		b.want(t, `b2: step charge of policy "charge" from caller in b1`, `b1: run one from caller`)
		for _, ev := range q.saw(events.EventSucceeded) {
			if ev.Correlation != "a3" {
				t.Errorf("the step has correlation id %q, want that of its first failure", ev.Correlation)
			}
		}
		if got := wantStep(t, q.Engine, "one", "charge", storage.StatusSucceeded).Correlation; got != "a3" {
			t.Errorf("correlation id %q is recorded, want a3", got)
		}
	})
}

// The span of a run that a worker executes refers to the caller of Start.
func TestTraceWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &tracer{process: "a"}
		e := newEngine(t, memory.New(), durable.Trace(r))
		durable.Handle(e, "work", func(context.Context, int) (int, error) { return 0, errors.New("down") })
		ctx := context.WithValue(t.Context(), spanKey{}, "caller")
		if err := durable.Start(ctx, e, "work", "one", 7); err != nil {
			t.Fatal(err)
		}
		workers, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, stop)
		if err := e.Work(workers); err != nil {
			t.Error(err)
		}
		r.want(t, "a1: run one by work from caller: down")
	})
}

// A panic ends the spans that it passes.
func TestTracePanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &tracer{process: "a"}
		e := newEngine(t, memory.New(), durable.Trace(r))
		func() {
			defer func() { _ = recover() }()
			_ = e.Run(t.Context(), "one", func(ctx context.Context) error {
				_, err := durable.Step(ctx, "now", nil, func(context.Context) (int, error) { panic("bug") })
				return err
			})
		}()
		r.want(t,
			`a2: step now of policy "" in a1: the function panicked or called runtime.Goexit`,
			`a1: run one: the function panicked or called runtime.Goexit`)
	})
}

// Every function that is given to OnEvent is called.
func TestOnEventAdds(t *testing.T) {
	var got []string
	observe := func(name string) durable.Option {
		return durable.OnEvent(func(_ context.Context, ev events.Event) {
			got = append(got, name+" "+ev.Kind.String())
		})
	}
	e := newEngine(t, memory.New(), observe("a"), observe("b"))
	if err := e.Run(t.Context(), "one", func(context.Context) error { return nil }); err != nil {
		t.Error(err)
	}
	if want := []string{"a created", "b created", "a completed", "b completed"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
