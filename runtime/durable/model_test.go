package durable_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/job"
)

var histories = flag.Int("histories", 2_000, "random histories in TestRandomHistories")

// TestRandomHistories executes one run in several processes that die, stop, lose
// replies of the store and are canceled, while the clock of the store is set,
// and compares what happened with what must never happen. A failure names its
// seed; the order of goroutines is not a part of it.
func TestRandomHistories(t *testing.T) {
	var next, completed atomic.Int64
	n := int64(*histories)
	if testing.Short() {
		n /= 10
	}
	t.Run("group", func(t *testing.T) {
		for shard := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(shard), func(t *testing.T) {
				t.Parallel()
				for seed := next.Add(1); seed <= n && !t.Failed(); seed = next.Add(1) {
					synctest.Test(t, func(t *testing.T) {
						w := newWorld(t, uint64(seed))
						w.live()
						if w.finish() {
							completed.Add(1)
						}
						w.check()
					})
				}
			})
		}
	})
	if got := completed.Load(); got < n/10 && !t.Failed() {
		t.Errorf("%d of %d runs completed: the test does not reach the ends of runs", got, n)
	}
}

// A world is one random history.
type world struct {
	t      *testing.T
	seed   uint64
	store  *skewed
	policy map[string]*durable.StepPolicy
	budget int
	clocks bool // the clock of the store is set now and then

	mu       sync.Mutex
	r        *rand.Rand
	calls    []modelCall
	begun    int // calls
	resolved map[string]bool
	alive    []*modelProcess
	all      sync.WaitGroup
}

// A modelCall is a call of the function of a step.
type modelCall struct {
	durable.Info
	order int // in which calls began; several may begin at one instant
	err   error
}

// A modelProcess is a process of a world.
type modelProcess struct {
	*process
	chaos *chaos
}

const modelLease = 2 * time.Second

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		t: t, seed: seed, store: &skewed{Store: durable.NewMemory()}, r: rand.New(rand.NewPCG(seed, 1)),
		resolved: map[string]bool{},
	}
	w.budget, w.clocks = 2+w.n(6), w.n(2) == 0
	a, b := idempotent("a", 4, 300*time.Millisecond), careful("b", 3, 200*time.Millisecond)
	a.Policy.Jitter = retry.JitterEqual // of which no wait is zero
	b.OnLost = durable.OnLost(w.n(4))
	w.policy = map[string]*durable.StepPolicy{"a": a, "b": b}
	return w
}

// n returns a random number below limit.
func (w *world) n(limit int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.r.IntN(limit)
}

// some returns a random time below limit.
func (w *world) some(limit time.Duration) time.Duration { return time.Duration(w.n(int(limit))) }

// work is the function of the run.
func (w *world) work(ctx context.Context) error {
	for _, name := range []string{"a", "b"} {
		if _, err := call(ctx, w.policy[name], w.step); err != nil {
			return err
		}
	}
	return nil
}

// step is the function of each step.
func (w *world) step(ctx context.Context) (int, error) {
	info, _ := durable.Current(ctx)
	w.mu.Lock()
	w.begun++
	order := w.begun
	w.mu.Unlock()
	pause := w.some(400 * time.Millisecond)
	err := error(nil)
	if w.n(3) > 0 {
		err = errors.New("unavailable")
	}
	if w.n(4) > 0 {
		select { // some functions ignore their context
		case <-time.After(pause):
		case <-ctx.Done():
			err = ctx.Err()
		}
	} else {
		time.Sleep(pause)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, modelCall{info, order, err})
	return info.Attempt, err
}

// A chaos store stops, and loses replies.
type chaos struct {
	stopped
	w    *world
	lose bool
}

func (c *chaos) Update(ctx context.Context, sel durable.Select, decide decision) error {
	lost := c.lose && c.w.n(12) == 0
	if lost && c.w.n(2) == 0 {
		return durable.ErrUnknown // not committed
	}
	err := c.stopped.Update(ctx, sel, decide)
	if err == nil && lost {
		return durable.ErrUnknown
	}
	return err
}

// start starts a process, which executes the run until it dies or the run has
// ended.
func (w *world) start() {
	c := &chaos{w: w, lose: w.n(2) == 0}
	c.Store = w.store
	p := &modelProcess{startProcess(w.t, c, durable.Lease(modelLease)), c}
	w.alive = append(w.alive, p)
	w.all.Go(func() {
		for p.ctx.Err() == nil && w.execute(p) {
			time.Sleep(w.some(time.Second))
		}
	})
}

// execute executes the run once, perhaps with a deadline, and reports whether it
// is to be executed again.
func (w *world) execute(p *modelProcess) bool {
	ctx := p.ctx
	if w.n(3) == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.some(2*time.Second))
		defer cancel()
	}
	err := p.Run(ctx, "run", w.work, durable.Budget(job.BudgetPolicy{Retries: w.budget, PerUnit: 5}))
	_, failed := errors.AsType[*durable.StepError](err)
	return err != nil && !failed
}

// live lets random things happen.
func (w *world) live() {
	w.start()
	for range 2 + w.n(6) {
		time.Sleep(w.some(1500 * time.Millisecond))
		p := w.alive[w.n(len(w.alive))]
		switch w.n(4) {
		case 0:
			p.kill()
		case 1:
			p.chaos.stop(w.some(3 * modelLease))
		case 2:
			if w.clocks {
				w.store.set([]time.Duration{0, time.Minute, -time.Minute, 24 * time.Hour, -24 * time.Hour}[w.n(5)])
			}
		}
		if w.n(2) == 0 {
			w.start()
		}
	}
}

// finish ends all processes and executes the run in a last one, until it has
// ended. An operator resolves what is in doubt. It reports whether the run has
// succeeded.
func (w *world) finish() bool {
	for _, p := range w.alive {
		p.kill()
	}
	w.all.Wait()
	last := startProcess(w.t, w.store, durable.Lease(modelLease))
	for range 40 {
		err := last.run("run", w.work, durable.Budget(job.BudgetPolicy{Retries: w.budget, PerUnit: 5}))
		_, failed := errors.AsType[*durable.StepError](err)
		paused, isPaused := errors.AsType[*durable.PausedError](err)
		switch {
		case err == nil || failed:
			return err == nil
		case isPaused:
			for _, step := range append(paused.Steps, "")[:max(len(paused.Steps), 1)] {
				w.resolved[step] = true
				if err := last.Resolve(w.t.Context(), "run", step, durable.Retry()); err != nil {
					w.fail("resolving %q: %v", step, err)
				}
			}
		case !errors.Is(err, durable.ErrFenced):
			w.fail("the last process: %v", err)
		}
	}
	w.fail("the run does not end")
	return false
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Errorf("seed %d: %s", w.seed, fmt.Sprintf(format, args...))
}

// check compares the records with what has happened.
func (w *world) check() {
	e := startProcess(w.t, w.store).Engine
	grants := 0
	for name, s := range steps(w.t, e, "run") {
		grants += w.checkStep(e, name, s)
	}
	records, err := w.store.Get(w.t.Context(), []durable.Key{{Kind: durable.KindBudget, Run: "run"}})
	if err != nil {
		w.t.Fatal(err)
	}
	var budget struct{ Consumed int }
	if err := json.Unmarshal(records[0].Body, &budget); err != nil {
		w.t.Fatal(err)
	}
	if budget.Consumed != grants || budget.Consumed > w.budget {
		w.fail("the budget of %d has counted %d retries, the histories have %d", w.budget, budget.Consumed, grants)
	}
}

// checkStep checks one step and returns the number of its retries.
func (w *world) checkStep(e *durable.Engine, name string, s durable.StepInfo) (grants int) {
	succeeded, last := 0, 0
	outcomes := map[int]durable.Outcome{}
	for a, err := range e.Attempts(w.t.Context(), "run", name) {
		if err != nil {
			w.t.Fatal(err)
		}
		if a.Late || a.Outcome == durable.OutcomeResolved {
			continue
		}
		if a.Attempt != last+1 {
			w.fail("step %s: attempt %d follows %d", name, a.Attempt, last)
		}
		last, outcomes[a.Attempt] = a.Attempt, a.Outcome
		if a.Outcome == durable.OutcomeSucceeded {
			succeeded = a.Attempt
		}
		if a.Wait > 0 {
			grants++
		}
	}
	p := w.policy[name]
	switch {
	case s.Attempts != last:
		w.fail("step %s has %d attempts, its history %d", name, s.Attempts, last)
	case succeeded > 0 && succeeded != last:
		w.fail("step %s: attempt %d follows the success of %d", name, last, succeeded)
	case s.Failures > p.Policy.MaxAttempts:
		w.fail("step %s has failed %d times, at most %d are allowed", name, s.Failures, p.Policy.MaxAttempts)
	}
	w.checkCalls(name, s, outcomes)
	return grants
}

// checkCalls checks the calls of the function of a step.
func (w *world) checkCalls(name string, s durable.StepInfo, outcomes map[int]durable.Outcome) {
	called := map[int]bool{}
	calls := slices.DeleteFunc(slices.Clone(w.calls), func(c modelCall) bool { return c.Step != name })
	slices.SortFunc(calls, func(a, b modelCall) int { return a.order - b.order })
	for i, c := range calls {
		outcome := outcomes[c.Attempt]
		switch {
		case called[c.Attempt]:
			w.fail("step %s: attempt %d was executed twice", name, c.Attempt)
		case c.Attempt > s.Attempts:
			w.fail("step %s: attempt %d was executed, %d are recorded", name, c.Attempt, s.Attempts)
		case outcome == durable.OutcomeWithdrawn || outcome == durable.OutcomeRefused:
			w.fail("step %s: attempt %d was executed, and recorded as %s", name, c.Attempt, outcome)
		case outcome == durable.OutcomeSucceeded && c.err != nil || outcome == durable.OutcomeFailed && c.err == nil:
			w.fail("step %s: attempt %d returned %v, recorded as %s", name, c.Attempt, c.err, outcome)
		case c.Key != s.Key:
			w.fail("step %s: attempt %d had the key %s, want %s", name, c.Attempt, c.Key, s.Key)
		}
		called[c.Attempt] = true
		if i == 0 {
			continue
		}
		before := calls[i-1]
		if before.Attempt > c.Attempt {
			w.fail("step %s: attempt %d was executed after attempt %d", name, c.Attempt, before.Attempt)
		}
		lost := outcomes[before.Attempt] == durable.OutcomeLost || outcomes[before.Attempt] == durable.OutcomeCanceled
		if lost && name == "b" && w.policy["b"].OnLost != durable.OnLostRetry && !w.resolved["b"] {
			w.fail("step b: attempt %d was executed although %d is in doubt", c.Attempt, before.Attempt)
		}
	}
}
