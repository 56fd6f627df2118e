//go:build unix

package postgres_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/retrygen/retrygen/contrib/postgres"
	"github.com/retrygen/retrygen/contrib/postgres/pgtest"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// unit is a step whose first attempt fails, and whose others may be lost.
var unit = genapi.StepPolicy{
	Name: "unit", Idempotent: true, LostMax: 1000,
	Policy: &retry.Policy{
		Name:     "unit",
		Schedule: retry.Schedule{MaxAttempts: 3, InitialDelay: 5 * time.Millisecond, MaxDelay: 5 * time.Millisecond},
	},
}

// unitsOfJob is the number of steps of a job.
const unitsOfJob = 3

// registerJob lets an engine execute jobs. It prints the calls that it makes, and
// the attempts whose success was acknowledged.
func registerJob(e *durable.Engine) {
	durable.Handle(e, "job", func(ctx context.Context, name string) (sum int, err error) {
		run, _ := durable.Current(ctx)
		for i := range unitsOfJob {
			attempt := 0
			n, err := genapi.Call(ctx, &unit, genapi.ID(i), genapi.Arguments(), func(ctx context.Context) (int, error) {
				info, _ := durable.Current(ctx)
				attempt = info.Attempt
				fmt.Printf("call %s unit/%d %d\n", info.Run, i, attempt)
				<-time.After(2 * time.Millisecond) // the work
				if attempt == 1 {
					return 0, errors.New("connection refused")
				}
				return i, nil
			})
			if err != nil {
				return 0, err
			}
			if attempt > 0 {
				fmt.Printf("done %s unit/%d %d\n", run.Run, i, attempt)
			}
			sum += n
		}
		return sum, nil
	}, durable.Budget(job.BudgetPolicy{Retries: 1000, PerUnit: 1000, MaxRetries: 1000, MaxPerUnit: 1000}))
}

// workerLease is short, so that a process may be stopped for longer.
const workerLease = time.Second

// childWork is a worker on the database at a URL. A server that restarts may refuse
// its first connection.
func childWork(args []string) {
	var store *postgres.Store
	for {
		var err error
		if store, err = postgres.Open(context.Background(), args[0]); err == nil {
			break
		}
	}
	engine, err := durable.New(store, durable.Lease(workerLease))
	must(err)
	registerJob(engine)
	for { // the first lease may fail while the server restarts
		if err := engine.Work(context.Background(), durable.MaxRuns(4), durable.Poll(50*time.Millisecond)); err == nil {
			return
		}
	}
}

// TestWorkers lets four processes work on one database, while workers are killed and
// stopped for longer than their lease, connections are cut, some after a commit, and
// the server is killed and restarted. Every job succeeds, no attempt is executed
// twice, what was acknowledged is recorded, and budgets count the retries that were
// made.
func TestWorkers(t *testing.T) {
	w := newWorkplace(t)
	troubles := []func(*workplace){
		(*workplace).killWorker, (*workplace).stopWorker, (*workplace).cutCommits, (*workplace).cutAll,
		(*workplace).killServer,
	}
	const rounds = 20
	for round := range rounds {
		for range 4 {
			w.startJob()
		}
		w.progress(20)
		troubles[round%len(troubles)](w)
	}
	sum := 0
	for i := range unitsOfJob {
		sum += i
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for i := range w.jobs {
		got, err := await(ctx, w.engine, jobID(i))
		if got != sum || err != nil {
			t.Errorf("job %d: %d, %v; want %d", i, got, err, sum)
		}
	}
	w.close()
	w.check()
}

// await is durable.Await, which ends with an error if the server is restarted.
func await(ctx context.Context, e *durable.Engine, id string) (int, error) {
	for {
		n, err := durable.Await[int](ctx, e, id)
		if !errors.Is(err, storage.ErrStore) || ctx.Err() != nil {
			return n, err
		}
	}
}

// A workplace has a server, four workers that reach it through a proxy, and an
// engine that reaches it directly.
type workplace struct {
	t       *testing.T
	server  *pgtest.Server
	proxy   *pgtest.Proxy
	through string // the URL of the proxy
	store   *postgres.Store
	engine  *durable.Engine
	workers [4]*process
	out     output
	jobs    int
	waiting sync.WaitGroup // for workers that are stopped
}

func newWorkplace(t *testing.T) *workplace {
	w := &workplace{t: t, server: pgtest.Start(t)}
	url := w.server.URL(t)
	w.store = open(t, url)
	w.proxy, w.through = pgtest.NewProxy(t, url)
	var err error
	if w.engine, err = durable.New(w.store); err != nil {
		t.Fatal(err)
	}
	registerJob(w.engine)
	for i := range w.workers {
		w.launch(i)
	}
	return w
}

func (w *workplace) launch(i int) { w.workers[i] = start(w.t, &w.out, "work", w.through) }

func jobID(i int) string { return fmt.Sprintf("job-%03d", i) }

// startJob starts a job, until that is acknowledged.
func (w *workplace) startJob() {
	for end := time.Now().Add(time.Minute); ; {
		err := durable.Start(w.t.Context(), w.engine, "job", jobID(w.jobs), "x")
		if err == nil {
			w.jobs++
			return
		}
		if time.Now().After(end) {
			w.t.Fatal(err)
		}
	}
}

// progress waits until the workers have printed some lines.
func (w *workplace) progress(lines int) {
	lines += w.out.count()
	for end := time.Now().Add(time.Minute); w.out.count() < lines; <-time.After(time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("the workers do not go on: %d lines", w.out.count())
		}
	}
}

func (w *workplace) killWorker() {
	i := rand.IntN(len(w.workers))
	w.workers[i].kill()
	w.launch(i)
}

// stopWorker stops a worker until its runs are claimed by others.
func (w *workplace) stopWorker() {
	p := w.workers[rand.IntN(len(w.workers))]
	p.signal(syscall.SIGSTOP)
	w.waiting.Go(func() {
		<-time.After(workerLease * 3 / 2)
		p.signal(syscall.SIGCONT)
	})
}

func (w *workplace) cutCommits() { w.proxy.CutCommits(1 + rand.IntN(5)) }

func (w *workplace) cutAll() { w.proxy.Cut() }

func (w *workplace) killServer() {
	w.server.Kill()
	w.server.Restart(w.t)
}

// close ends the workers and waits for what they have printed.
func (w *workplace) close() {
	w.waiting.Wait()
	for _, p := range w.workers {
		p.kill()
	}
	w.out.all.Wait()
	if err := w.engine.Close(w.t.Context()); err != nil {
		w.t.Error(err)
	}
}

// check compares what is recorded with what the workers have printed.
func (w *workplace) check() {
	calls, done := map[string]int{}, map[string]string{}
	for _, line := range w.out.lines {
		switch f := strings.Fields(line); {
		case len(f) == 4 && f[0] == "call":
			if calls[line]++; calls[line] > 1 {
				w.t.Errorf("%q was printed twice: the attempt was executed twice", line)
			}
		case len(f) == 4 && f[0] == "done":
			done[f[1]+" "+f[2]] = f[3]
		}
	}
	outcomes, steps := map[events.Outcome]int{}, 0
	grants := map[string]int{} // by run
	for s, err := range w.engine.Admin().Steps(w.t.Context(), admin.Filter{}) {
		if err != nil {
			w.t.Fatal(err)
		}
		steps++
		grants[s.Run] += w.checkStep(s, calls, outcomes)
		if want := done[s.Run+" "+s.Step]; want != "" && want != fmt.Sprint(s.Attempts) {
			w.t.Errorf("%s of %s: attempt %s was acknowledged, %d are recorded", s.Step, s.Run, want, s.Attempts)
		}
	}
	if steps != unitsOfJob*w.jobs {
		w.t.Errorf("%d steps are recorded, want %d", steps, unitsOfJob*w.jobs)
	}
	for run, want := range grants {
		if got := w.consumed(run); got != want {
			w.t.Errorf("the budget of %s has counted %d retries, its histories have %d", run, got, want)
		}
	}
	if outcomes[events.OutcomeLost] == 0 {
		w.t.Error("no attempt was lost: the test does not kill workers")
	}
	w.t.Logf("%d jobs, %d calls, outcomes %v", w.jobs, len(calls), outcomes)
}

// checkStep compares a step with its history, and the history with the calls. It
// returns the number of retries.
func (w *workplace) checkStep(
	s admin.StepInfo, calls map[string]int, outcomes map[events.Outcome]int,
) (grants int) {
	if s.Status != storage.StatusSucceeded || s.Failures > 1 {
		w.t.Errorf("%+v, want a step that has succeeded, and failed once at most", s)
	}
	var history []events.Outcome
	for a, err := range w.engine.Admin().Attempts(w.t.Context(), s.Run, s.Step) {
		switch {
		case err != nil:
			w.t.Fatal(err)
		case a.Late:
			continue
		case a.Attempt != len(history)+1:
			w.t.Errorf("%s of %s: attempt %d follows %d", s.Step, s.Run, a.Attempt, len(history))
		}
		history = append(history, a.Outcome)
		outcomes[a.Outcome]++
		if a.Wait > 0 {
			grants++
		}
		called := calls[fmt.Sprintf("call %s %s %d", s.Run, s.Step, a.Attempt)] > 0
		executed := a.Outcome == events.OutcomeSucceeded || a.Outcome == events.OutcomeFailed
		if executed && !called || a.Outcome == events.OutcomeWithdrawn && called {
			w.t.Errorf("%s of %s: attempt %d is recorded as %s; called: %v", s.Step, s.Run, a.Attempt, a.Outcome, called)
		}
	}
	if i := slices.Index(history, events.OutcomeSucceeded); i != len(history)-1 || len(history) != s.Attempts {
		w.t.Errorf("%s of %s: %d attempts with the outcomes %v", s.Step, s.Run, s.Attempts, history)
	}
	return grants
}

// consumed returns how many retries the budget of a run has counted.
func (w *workplace) consumed(run string) int {
	records, err := w.store.Get(w.t.Context(), []storage.Key{{Kind: storage.KindBudget, Run: run}})
	if err != nil {
		w.t.Fatal(err)
	}
	var b struct{ Consumed int }
	if err := json.Unmarshal(records[0].Body, &b); err != nil {
		w.t.Fatal(err)
	}
	return b.Consumed
}

// TestNewTimeline: after a failover no run is claimed, until that is accepted.
func TestNewTimeline(t *testing.T) {
	server := pgtest.Start(t, "fsync=off")
	store := open(t, server.URL(t))
	engine, err := durable.New(store)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close(t.Context())
	nothing := func(context.Context) error { return nil }
	if err := engine.Run(t.Context(), "before", nothing); err != nil {
		t.Fatal(err)
	}
	server.Promote(t)
	// The first update may meet with the connections of the old server.
	if err := engine.Run(t.Context(), "after", nothing); !errors.Is(err, durable.ErrIncarnation) {
		t.Fatalf("got error %v, want ErrIncarnation", err)
	}
	if err := engine.Admin().Accept(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := engine.Run(t.Context(), "after", nothing); err != nil {
		t.Errorf("accepted: %v", err)
	}
}

// TestWorkerNotified: a worker executes the run of another program without waiting
// for its poll, and so does a caller of Await.
func TestWorkerNotified(t *testing.T) {
	url := pgtest.URL(t)
	engines := make([]*durable.Engine, 2)
	for i := range engines {
		var err error
		if engines[i], err = durable.New(open(t, url)); err != nil {
			t.Fatal(err)
		}
		defer engines[i].Close(t.Context())
	}
	durable.Handle(engines[0], "double", func(_ context.Context, n int) (int, error) { return 2 * n, nil })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error)
	go func() { done <- engines[0].Work(ctx, durable.Poll(time.Hour)) }()
	for i := range 20 {
		id := fmt.Sprint("run-", i)
		if err := durable.Start(ctx, engines[1], "double", id, i); err != nil {
			t.Fatal(err)
		}
		if got, err := durable.Await[int](ctx, engines[1], id); got != 2*i || err != nil {
			t.Fatalf("got %d, %v; want %d", got, err, 2*i)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
