package durabletest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// RandomHistory executes one run in several simulated processes. The processes die, stop,
// lose replies from the store and are canceled, and the store's clock is changed.
// RandomHistory reports an error if anything happened that the guarantees rule out. If
// the seed is odd, workers execute the run. Otherwise, calls to Run execute it. The
// result reports whether the run has succeeded.
//
// Histories with different seeds use different namespaces, so they may be executed in the
// same store at the same time. A history takes about ten seconds. In a testing/synctest
// bubble, with a store that uses the bubble's clock, a history takes no time. Goroutines
// of processes that died continue for at most a minute afterwards. A failure names the
// seed, but the seed does not determine the order of goroutines.
func RandomHistory(t *testing.T, s storage.Store, seed uint64) bool {
	w := newWorld(t, s, seed)
	w.live()
	succeeded := w.finish()
	w.check()
	return succeeded
}

// A world is one random history.
type world struct {
	t      *testing.T
	seed   uint64
	store  *Skewed
	policy map[string]*genapi.StepPolicy
	budget int
	clocks bool // the clock of the store is set now and then

	mu       sync.Mutex
	r        *rand.Rand
	calls    []worldCall
	begun    int // calls
	resolved map[string]bool
	alive    []*worldProcess
}

// A worldCall is a call of the function of a step.
type worldCall struct {
	durable.Info
	order int // in which calls began; several may begin at one instant
	given int // the result of the step before
	err   error
}

const (
	worldRun   = "run"
	worldLease = time.Second
)

func newWorld(t *testing.T, s storage.Store, seed uint64) *world {
	w := &world{
		t: t, seed: seed, store: &Skewed{Store: s}, r: rand.New(rand.NewPCG(seed, 1)), resolved: map[string]bool{},
	}
	w.budget, w.clocks = 2+w.n(6), w.n(2) == 0
	policy := func(name string, attempts int, delay time.Duration) *genapi.StepPolicy {
		return &genapi.StepPolicy{Name: name, Policy: &retry.Policy{
			Name: name, RetryUnknown: true,
			Schedule: retry.Schedule{MaxAttempts: attempts, InitialDelay: delay, MaxDelay: retry.None},
		}}
	}
	a, b := policy("a", 4, 300*time.Millisecond), policy("b", 3, 200*time.Millisecond)
	a.Idempotent = true
	a.Policy.Jitter = retry.JitterEqual // of which no wait is zero
	b.OnLost = genapi.OnLost(w.n(4))
	w.policy = map[string]*genapi.StepPolicy{"a": a, "b": b}
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

// namespace returns the namespace of all engines of the history.
func (w *world) namespace() string { return fmt.Sprint("history-", w.seed) }

// byWorkers reports whether workers execute the run.
func (w *world) byWorkers() bool { return w.seed%2 == 1 }

// byJob reports whether the run is its only step, a or, so that an attempt that is lost may
// be in doubt, b.
func (w *world) byJob() bool { return w.byWorkers() && w.seed%8 >= 4 }

// holds reports whether successes wait for other transactions.
func (w *world) holds() bool { return w.seed%3 == 0 }

// options returns the options of an execution. Workers have them from Handle.
func (w *world) options() []durable.RunOption {
	if w.holds() {
		return []durable.RunOption{w.budgetOption(), durable.Hold()}
	}
	return []durable.RunOption{w.budgetOption()}
}

// budgetOption returns the budget of the run.
func (w *world) budgetOption() durable.RunOption {
	return durable.Budget(job.BudgetPolicy{Retries: w.budget, PerUnit: 5})
}

// work is the function of the run.
func (w *world) work(ctx context.Context) error {
	given := 0
	for _, name := range []string{"a", "b"} {
		step := func(ctx context.Context) (int, error) { return w.step(ctx, given) }
		result, err := genapi.Call(ctx, w.policy[name], genapi.ID(), genapi.Arguments(), step)
		if err != nil {
			return err
		}
		given = result
	}
	return nil
}

// step is the function of each step. given is the result of the step before.
func (w *world) step(ctx context.Context, given int) (int, error) {
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
	w.calls = append(w.calls, worldCall{info, order, given, err})
	return info.Attempt, err
}

// live lets random things happen.
func (w *world) live() {
	w.start()
	for range 2 + w.n(6) {
		time.Sleep(w.some(time.Second))
		p := w.alive[w.n(len(w.alive))]
		switch w.n(4) {
		case 0:
			p.die()
		case 1:
			p.chaos.Stop(w.some(3 * worldLease))
		case 2:
			if w.clocks {
				w.store.Set([]time.Duration{0, time.Minute, -time.Minute, 24 * time.Hour, -24 * time.Hour}[w.n(5)])
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
		p.die()
	}
	w.quiet()
	if w.byWorkers() && w.clocks {
		w.store.Set(2 * 24 * time.Hour) // runs are due at a time of this clock, which was set back
	}
	last := w.process(w.store)
	defer last.die()
	for range 40 {
		err := w.complete(last)
		_, failed := errors.AsType[*durable.StepError](err)
		_, ended := errors.AsType[*durable.RunError](err)
		paused, isPaused := errors.AsType[*durable.PausedError](err)
		switch {
		case err == nil || failed || ended:
			return err == nil
		case isPaused:
			for _, step := range append(paused.Steps, "")[:max(len(paused.Steps), 1)] {
				w.resolved[step] = true
				if err := last.Admin().Resolve(w.t.Context(), worldRun, step, admin.Retry()); err != nil {
					w.fail("resolving %q: %v", step, err)
				}
			}
		case !errors.Is(err, durable.ErrFenced) && !errors.Is(err, context.DeadlineExceeded):
			w.fail("the last process: %v", err)
		}
	}
	w.fail("the run does not end")
	return false
}

// complete lets the last process execute the run, for a while if it is a worker.
func (w *world) complete(last *worldProcess) error {
	if !w.byWorkers() {
		return last.Run(last.ctx, worldRun, w.work, w.options()...)
	}
	ctx, cancel := context.WithTimeout(last.ctx, 3*worldLease)
	defer cancel()
	if err := durable.Start(ctx, last.Engine, "work", worldRun, struct{}{}, w.budgetOption()); err != nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.attend(last, ctx)
	}()
	_, err := durable.Await[int](ctx, last.Engine, worldRun)
	cancel()
	<-done
	if errors.Is(err, context.DeadlineExceeded) {
		// Run returns what is known of a run that is not executed.
		if err := last.Run(last.ctx, worldRun, w.work); !errors.Is(err, durable.ErrConflict) {
			return err
		}
	}
	return err
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Errorf("seed %d: %s", w.seed, fmt.Sprintf(format, args...))
}

// A worldProcess is an engine of a world that can die.
type worldProcess struct {
	*durable.Engine
	store *Faulty
	chaos *chaos
	ctx   context.Context // ends when the process dies
}

// process starts a process that does nothing yet.
func (w *world) process(s storage.Store) *worldProcess {
	p := &worldProcess{store: CrashAt(s, 0)}
	ctx, cancel := p.store.Context(w.t.Context())
	p.ctx = ctx
	var err error
	var store storage.Store = p.store
	if w.seed%4 >= 2 {
		store = Swift{p.store}
	}
	p.Engine, err = durable.New(store, durable.Lease(worldLease), durable.Namespace(w.namespace()))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(cancel)
	if w.byJob() {
		step := func(ctx context.Context, _ struct{}) (int, error) { return w.step(ctx, 0) }
		durable.Job(p.Engine, "work", w.policy[[]string{"a", "b"}[w.seed/8%2]], nil, step)
	} else {
		var options []durable.HandleOption
		if w.holds() {
			options = append(options, durable.Hold())
		}
		work := func(ctx context.Context, _ struct{}) (int, error) { return 0, w.work(ctx) }
		durable.Handle(p.Engine, "work", work, options...)
	}
	return p
}

// die ends the process. What it would still like to record takes some time, which
// nobody waits for.
func (p *worldProcess) die() {
	p.store.Crash()
	go func() { _ = p.Close(context.Background()) }()
}

// quiet waits until the calls that have begun have ended.
func (w *world) quiet() {
	for ended := false; !ended; time.Sleep(time.Millisecond) {
		w.mu.Lock()
		ended = w.begun == len(w.calls)
		w.mu.Unlock()
	}
}

// start starts a process, which executes the run until it dies or the run has
// ended.
func (w *world) start() {
	c := &chaos{w: w, lose: w.n(2) == 0}
	c.Store = w.store
	p := w.process(c)
	p.chaos = c
	w.alive = append(w.alive, p)
	go func() {
		for p.ctx.Err() == nil && w.execute(p) {
			select {
			case <-p.ctx.Done():
			case <-time.After(w.some(time.Second)):
			}
		}
	}()
}

// execute executes the run once, perhaps with a deadline, and reports whether it
// is to be executed again.
func (w *world) execute(p *worldProcess) bool {
	ctx := p.ctx
	if w.n(3) == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.some(2*time.Second))
		defer cancel()
	}
	if w.byWorkers() {
		w.attend(p, ctx)
		return true
	}
	err := p.Run(ctx, worldRun, w.work, w.options()...)
	_, failed := errors.AsType[*durable.StepError](err)
	return err != nil && !failed
}

// attend starts the run, and lets a worker execute it until ctx ends.
func (w *world) attend(p *worldProcess, ctx context.Context) {
	_ = durable.Start(ctx, p.Engine, "work", worldRun, struct{}{}, w.budgetOption())
	_ = p.Work(ctx, durable.Poll(300*time.Millisecond), durable.Drain(w.some(time.Second)))
}

// A chaos store stops, and loses replies.
type chaos struct {
	Stopped
	w    *world
	lose bool
}

// Update implements [storage.Store].
func (c *chaos) Update(
	ctx context.Context, sel storage.Select, decide func(storage.Tx) (storage.Writes, error),
) error {
	lost := c.lose && c.w.n(12) == 0
	if lost && c.w.n(2) == 0 {
		return storage.ErrUnknown // not committed
	}
	err := c.Stopped.Update(ctx, sel, decide)
	if err == nil && lost {
		return storage.ErrUnknown
	}
	return err
}
