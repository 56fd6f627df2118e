package durable_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A twin plays a story with the runs of a handler: they are one step each, or functions
// that call that step. Nobody can tell the difference, except in the records of the store.
type twin struct {
	*testing.T
	isJob, swift bool // swift: with statements of the store

	store  *memory.Store
	admin  *durable.Engine // without handlers
	policy *genapi.StepPolicy

	noID     bool        // the id of the step does not depend on the input
	timeless bool        // when things happen depends on random ids
	stopped  atomic.Bool // the store does not answer updates of processes with handlers

	mu   sync.Mutex
	fn   func(ctx context.Context, n, attempt int) error // of the step
	seen []sight                                         // of the runs
}

// A jobStory is what may become of a run of one step.
type jobStory struct {
	name string
	play func(w *twin)
}

// twinID is the id of the step of a run with input 7.
const twinID = "charge/7"

// begin starts the run "one". fn is the function of its step.
func (w *twin) begin(fn func(ctx context.Context, n, attempt int) error, options ...durable.RunOption) {
	w.Helper()
	w.set(fn)
	if err := durable.Start(w.Context(), w.admin, "job", "one", 7, options...); err != nil {
		w.Fatal(err)
	}
}

// set sets the function of the step.
func (w *twin) set(fn func(ctx context.Context, n, attempt int) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fn = fn
}

// process returns a process with the handler.
func (w *twin) process(options ...durable.HandleOption) *process {
	below := &hooked{Store: w.store, hook: func(
		ctx context.Context, sel storage.Select, decide decision, next update,
	) error {
		if w.stopped.Load() {
			return fmt.Errorf("%w: no answer", storage.ErrStore)
		}
		return next(ctx, sel, decide)
	}}
	p := &process{store: durabletest.CrashAt(below, 0)}
	ctx, cancel := p.store.Context(w.Context())
	w.Cleanup(cancel)
	p.ctx = ctx
	p.forward = func(_ context.Context, ev events.Event) { w.event(ev) }
	var s storage.Store = p.store
	if w.swift {
		s = durabletest.Swift{Faulty: p.store}
	}
	p.Engine = newEngine(w.T, s, durable.OnEvent(p.observe))
	attempt := func(ctx context.Context, n int) (int, error) {
		info, _ := durable.Current(ctx)
		w.note("call %s of %s with %s", info.Step, info.Run, info.Key)
		w.mu.Lock()
		fn := w.fn
		w.mu.Unlock()
		return 100*n + info.Attempt, fn(ctx, n, info.Attempt)
	}
	if w.isJob {
		id := func(n int) genapi.StepID { return genapi.ID(n) }
		if w.noID {
			id = nil
		}
		durable.Job(p.Engine, "job", w.policy, id, attempt, options...)
		return p
	}
	durable.Handle(p.Engine, "job", func(ctx context.Context, n int) (int, error) {
		step := func(ctx context.Context) (int, error) { return attempt(ctx, n) }
		if w.noID {
			return call(ctx, w.policy, step)
		}
		return callID(ctx, w.policy, n, step)
	}, options...)
	return p
}

// works starts a process that works until the end of the story, or its death.
func (w *twin) works(options ...durable.HandleOption) *process {
	p := w.process(options...)
	go func() { _ = p.Work(p.ctx) }()
	return p
}

// A sight is what is seen at one place: a text without times, and the times in it.
type sight struct {
	text  string
	times []time.Duration
}

// note notes what is seen.
func (w *twin) note(format string, args ...any) {
	var s sight
	s.text = times.ReplaceAllStringFunc(fmt.Sprintf(format, args...), func(t string) string {
		if !w.timeless {
			s.times = append(s.times, readTime(t))
		}
		return "T"
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, s)
}

var (
	owners = regexp.MustCompile(`[0-9a-f]{16}`)
	// A date, a duration, or nanoseconds.
	times = regexp.MustCompile(`[0-9]{4}-[0-9-]{5}[T ][0-9:.]*(Z| \+0000 UTC)` +
		`|\b([0-9.]+(h|m|s|ms|µs|ns))+\b|\b[0-9]{6,}\b`)
)

// readTime returns a time that times has found, as the time since the clocks of synctest
// began if it is a date.
func readTime(s string) time.Duration {
	if d, err := time.ParseDuration(s); err == nil {
		return d
	}
	if n, err := time.ParseDuration(s + "ns"); err == nil {
		return n
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999 -0700 MST"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
		}
	}
	panic("no time: " + s)
}

// like reports whether the same was seen at about the same times: hundredths of seconds
// depend on when a worker looks.
func (s sight) like(o sight) bool {
	return s.text == o.text && slices.EqualFunc(s.times, o.times, func(a, b time.Duration) bool {
		return (a - b).Abs() < 100*time.Millisecond
	})
}

// check notes the result of an operation.
func (w *twin) check(what string, err error) {
	w.note("%s: %s", what, owners.ReplaceAllString(fmt.Sprint(err), "an engine"))
}

func (w *twin) event(ev events.Event) {
	if ev.Kind == events.EventStoreError {
		return
	}
	ev.Correlation = ""
	w.note("event %v %s %s attempt %d, outcome %v, wait %v, reason %q, class %q, took %v of %v, error %v",
		ev.Kind, ev.Run, ev.Step, ev.Attempt, ev.Outcome, ev.Wait, ev.Reason, ev.Class, ev.Duration, ev.Total, ev.Err)
}

// look notes what every query of an operator returns.
func (w *twin) look() {
	ctx, c := w.Context(), w.admin.Admin()
	for r, err := range c.List(ctx, storage.Query{}) {
		r.Owner, r.Policies = strings.Repeat("o", min(len(r.Owner), 1)), nil // policies: since the first failure
		w.note("run %+v %v", r, err)
		why, err := c.Why(ctx, r.ID)
		for _, s := range why.Steps {
			w.note("why %s", w.step(s))
		}
		why.Owner, why.Steps = "", nil
		w.note("why %+v %v", why, err)
		w.values(r.ID, "")
	}
	for i, f := range w.filters() {
		for s, err := range c.Steps(ctx, f) {
			w.note("filter %d selects %s %v", i, w.step(s), err)
		}
		for a, err := range c.History(ctx, f) {
			w.note("filter %d selects %s %v", i, w.attempt(a), err)
		}
		s, err := c.Stats(ctx, f)
		w.note("filter %d counts %s %v", i, text(s), err)
	}
	for s, err := range c.Steps(ctx, admin.Filter{}) {
		d, failed := c.Describe(ctx, s.Run, s.Step)
		w.note("describe %s %v %v", w.step(d), err, failed)
		if s.Status != storage.StatusExecuting {
			w.values(s.Run, s.Step)
		}
		for a, err := range c.Attempts(ctx, s.Run, s.Step) {
			w.note("attempt %s %v", w.attempt(a), err)
		}
	}
	for v, err := range c.Verify(ctx) {
		w.note("verify %+v %v", v, err)
	}
	for b, err := range c.Budgets(ctx, admin.Filter{}) {
		w.note("budget %+v %v", b, err)
	}
	for b, err := range c.Breakers(ctx) {
		w.note("breaker %+v %v", b, err)
	}
}

// filters returns filters that select some steps and leave out others.
func (w *twin) filters() []admin.Filter {
	return []admin.Filter{
		{},
		{Attention: true},
		{DeadLetter: true},
		{Status: []storage.Status{storage.StatusExecuting}},
		{Status: []storage.Status{storage.StatusSucceeded}},
		{Status: []storage.Status{storage.StatusSucceeded}, Attention: true},
		{Status: []storage.Status{storage.StatusFailed, storage.StatusWaiting}},
		{Name: "charge"},
		{Class: []retry.Class{retry.ClassUnknown}},
		{Run: "one"},
		{Since: time.Now().Add(-time.Minute)},
		{Until: time.Now().Add(-time.Minute)},
		{AfterRun: "one"},
		{Run: "one", AfterStep: "a"},
		{Limit: 1},
	}
}

// step returns what is seen of a step. The id of a job that has not ended is not known
// if it depends on the input.
func (w *twin) step(s admin.StepInfo) string {
	if s.Status == storage.StatusExecuting && !w.noID {
		s.Step, s.Key = twinID, ""
	}
	s.Correlation = ""
	return text(s)
}

// attempt returns what is seen of an attempt. The engine that made it is not kept if the
// run stands for it.
func (w *twin) attempt(a admin.AttemptInfo) string {
	a.Owner, a.Correlation = "", ""
	return text(a)
}

// values notes the values of a run or a step.
func (w *twin) values(run, step string) {
	v, err := w.admin.Admin().Values(w.Context(), run, step)
	w.note("values %s %v", text(v), err)
}

// text returns what is not zero in a value.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	var fields map[string]any
	if json.Unmarshal(b, &fields) != nil {
		return string(b)
	}
	for name, value := range fields {
		switch t := fmt.Sprint(value); t {
		case "", "0", "false", "<nil>", "map[]", "0001-01-01T00:00:00Z":
			delete(fields, name)
		}
	}
	b, _ = json.Marshal(fields)
	return string(b)
}

// TestJobTwins: a run that is one step is observed as a run that calls that step.
func TestJobTwins(t *testing.T) {
	for _, story := range slices.Concat(jobStories, jobCrashes) {
		for _, swift := range []bool{false, true} {
			var seen [2][]sight
			t.Run(fmt.Sprintf("%s, swift %v", story.name, swift), func(t *testing.T) {
				for i := range seen {
					synctest.Test(t, func(t *testing.T) {
						w := &twin{T: t, isJob: i == 1, swift: swift, store: memory.New()}
						w.admin = newEngine(t, w.store)
						w.policy = idempotent("charge", 3, time.Second)
						story.play(w)
						w.look()
						seen[i] = w.seen
					})
				}
				if diff := differences(seen[0], seen[1]); len(diff) > 0 {
					t.Errorf("a run that calls a step (-), and one that is the step (+):\n%s", strings.Join(diff, "\n"))
				}
			})
		}
	}
}

// differences returns what was seen more often in one of two lists.
func differences(a, b []sight) (diff []string) {
	rest := slices.Clone(b)
	for _, s := range a {
		if i := slices.IndexFunc(rest, s.like); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
		} else {
			diff = append(diff, fmt.Sprintf("- %s %v", s.text, s.times))
		}
	}
	for _, s := range rest {
		diff = append(diff, fmt.Sprintf("+ %s %v", s.text, s.times))
	}
	return diff
}
