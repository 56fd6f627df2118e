package durable_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/durabletest"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// The tests in this file are the acceptance criteria of "Retry State Management
// During Resume", in its order and with its words.

// killedAtEachWait executes a run in one process after another. Each dies when
// its first wait begins. It returns the last process, in which the run has
// ended, and the error of the run.
func killedAtEachWait(t *testing.T, s storage.Store, work func(context.Context) error) (*process, error) {
	t.Helper()
	for range 100 {
		p := startProcess(t, s)
		p.deadly = events.EventFailed
		if err := p.run("one", work); p.ctx.Err() == nil {
			return p, err
		}
	}
	t.Fatal("the run does not end")
	return nil, nil
}

// "Retry attempt counters are preserved accurately across resume operations."
func TestAcceptance01AttemptCountersArePreserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		m := memory.New()
		last, err := killedAtEachWait(t, m, oneStep(careful("charge", 10, time.Second), failing(&j, 6)))
		if err != nil {
			t.Fatal(err)
		}
		j.want(t, "charge", 1, 2, 3, 4, 5, 6, 7)
		s := wantStep(t, last.Engine, "one", "charge", storage.StatusSucceeded)
		if s.Attempts != 7 || s.Failures != 6 || s.Lost != 0 {
			t.Errorf("got %+v, want 7 attempts, 6 of them failed", s)
		}
	})
}

// "Retry backoff timers continue correctly after resume."
func TestAcceptance02BackoffTimersContinue(t *testing.T) {
	const delay = 10 * time.Minute
	for _, c := range []struct {
		down        time.Duration // from the crash, which is a minute after the failure
		least, most time.Duration // from the first attempt to the second
	}{
		{time.Minute, delay, delay},                       // the rest of the wait
		{8 * time.Minute, delay, delay},                   //
		{time.Hour, time.Hour, time.Hour + 2*time.Minute}, // at once, but for the spread
	} {
		synctest.Test(t, func(t *testing.T) {
			var j journal
			m := memory.New()
			work := oneStep(careful("charge", 3, delay), failing(&j, 1))
			first := startProcess(t, m)
			first.killAfter(time.Minute)
			_ = first.run("one", work)
			time.Sleep(c.down)
			if err := startProcess(t, m).run("one", work); err != nil {
				t.Fatal(err)
			}
			j.want(t, "charge", 1, 2)
			wantAbout(t, fmt.Sprintf("the second attempt, with %v of downtime,", c.down), time.Since(epoch), c.least, c.most)
		})
	}
}

// "Maximum retry limits are enforced correctly after resume."
func TestAcceptance03MaximumIsEnforced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		m := memory.New()
		work := oneStep(careful("charge", 4, time.Second), failing(&j, 99))
		last, err := killedAtEachWait(t, m, work)
		wantError(t, err, retry.ErrAttempts)
		wantError(t, last.run("one", work), retry.ErrAttempts)
		wantError(t, startProcess(t, m).run("one", work), retry.ErrAttempts)
		j.want(t, "charge", 1, 2, 3, 4)
	})
}

// The same when the limit has become lower than the count.
func TestAcceptance03LowerMaximum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		m := memory.New()
		first := startProcess(t, m)
		first.killAfter(4 * time.Second) // in the wait before the fourth attempt
		_ = first.run("one", oneStep(careful("charge", 9, time.Second), failing(&j, 99)))
		second := startProcess(t, m)
		wantError(t, second.run("one", oneStep(careful("charge", 2, time.Second), failing(&j, 99))), retry.ErrAttempts)
		j.want(t, "charge", 1, 2, 3)
		if n := len(second.saw(events.EventPolicyChanged)); n != 1 {
			t.Errorf("got %d reports of the changed policy, want 1", n)
		}
	})
}

// "Retry execution history is maintained across interruptions."
func TestAcceptance04HistoryIsMaintained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		calls := 0
		last, err := killedAtEachWait(t, m, oneStep(careful("charge", 5, time.Second), func(context.Context) (int, error) {
			time.Sleep(time.Second)
			if calls++; calls < 4 {
				return 0, fmt.Errorf("call %d: %w", calls, context.DeadlineExceeded)
			}
			return 1, nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		owners, correlations := map[string]bool{}, map[string]bool{}
		n := 0
		for a, err := range last.Admin().History(t.Context(), admin.Filter{Run: "one"}) {
			if err != nil {
				t.Fatal(err)
			}
			n++
			owners[a.Owner], correlations[a.Correlation] = true, true
			ok := a.Attempt == n && a.Duration == time.Second && a.Run == "one" && a.Step == "charge" && !a.Started.IsZero()
			if n < 4 {
				ok = ok && a.Outcome == events.OutcomeFailed && a.Class == retry.ClassTimeout &&
					a.Error == fmt.Sprintf("call %d: context deadline exceeded", n) && a.Wait == time.Second<<(n-1)
			}
			if !ok {
				t.Errorf("entry %d is %+v", n, a)
			}
		}
		if n != 4 || len(owners) != 4 || len(correlations) != 1 || correlations[""] {
			t.Errorf("got %d entries, %d owners, correlations %v; want 4, 4 and one", n, len(owners), correlations)
		}
		wantCount(t, last.Engine, admin.Filter{Class: []retry.Class{retry.ClassTimeout}}, 3)
		wantCount(t, last.Engine, admin.Filter{Class: []retry.Class{retry.ClassNetwork}}, 0)
		wantCount(t, last.Engine, admin.Filter{Status: []storage.Status{storage.StatusSucceeded}}, 4)
		wantCount(t, last.Engine, admin.Filter{Status: []storage.Status{storage.StatusFailed}}, 0)
		wantCount(t, last.Engine, admin.Filter{Until: epoch.Add(2 * time.Second)}, 1)
		wantCount(t, last.Engine, admin.Filter{Since: epoch.Add(2 * time.Second)}, 3)
	})
}

// wantCount checks how many attempts a filter selects.
func wantCount(t *testing.T, e *durable.Engine, f admin.Filter, want int) {
	t.Helper()
	n := 0
	for _, err := range e.Admin().History(t.Context(), f) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != want {
		t.Errorf("%+v selects %d attempts, want %d", f, n, want)
	}
}

// "MapReduce retry coordination works across agent restarts."
func TestAcceptance05MapReduceCoordination(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const agents, items = 4, 10
		m := memory.New()
		var j journal
		item := idempotent("item", 4, time.Second)
		item.OnExhausted = genapi.ExhaustedDeadLetter
		item.Budget = &budget.Policy{Name: "shared", Burst: 60, MinPerSecond: budget.NoRefill}
		item.LostMax = 10
		var poison atomic.Bool
		poison.Store(true)
		agent := func(id int) func(context.Context) error {
			return func(ctx context.Context) error {
				for i := range items {
					_, err := callID(ctx, item, fmt.Sprint(id, "-", i), func(ctx context.Context) (int, error) {
						info := j.add(ctx)
						time.Sleep(time.Second)
						if id == 2 && i == 7 && poison.Load() || info.Attempt == 1 {
							return 0, errors.New("unavailable")
						}
						return info.Attempt, nil
					})
					if err != nil && !errors.Is(err, retry.ErrAttempts) {
						return err
					}
				}
				return nil
			}
		}
		// The processes of the agents die after 7s, 14s, …; others take over.
		errs := make([]error, agents)
		for round := 1; round == 1 || errors.Join(errs...) != nil; round++ {
			p := startProcess(t, m)
			if round < 5 {
				p.killAfter(time.Duration(round) * 7 * time.Second)
			}
			var all sync.WaitGroup
			for id := range agents {
				all.Go(func() { errs[id] = p.run(fmt.Sprint("agent-", id), agent(id)) })
			}
			all.Wait()
		}
		p := startProcess(t, m) // one that does not die
		for id := range agents {
			for i := range items {
				step := fmt.Sprintf("item/%d-%d", id, i)
				numbers := j.attempts(step)
				if !slices.IsSorted(numbers) || len(slices.Compact(slices.Clone(numbers))) != len(numbers) {
					t.Errorf("attempts %v of %s were called: a number twice", numbers, step)
				}
			}
		}
		wantStep(t, p.Engine, "agent-2", "item/2-7", storage.StatusDead)
		poison.Store(false)
		if err := p.Admin().Requeue(t.Context(), "agent-2", "item/2-7"); err != nil {
			t.Fatal(err)
		}
		before := len(j.calls)
		if err := p.run("agent-2", agent(2)); err != nil {
			t.Error(err)
		}
		wantStep(t, p.Engine, "agent-2", "item/2-7", storage.StatusSucceeded)
		if got := len(j.calls) - before; got != 1 {
			t.Errorf("the requeued item led to %d calls, want 1", got)
		}
		stats, err := p.Admin().Stats(t.Context(), admin.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		tokens := body(t, m, storage.Key{Kind: storage.KindBudget, ID: "shared"})["tokens"].(float64)
		if spent := 60 + 0.2*agents*items - tokens; spent < 0 || spent > float64(stats.Retries)+0.01 {
			t.Errorf("%.1f tokens were spent for %d retries", spent, stats.Retries)
		}
	})
}

// "Different retry strategies function correctly after resume."
func TestAcceptance06Strategies(t *testing.T) {
	for _, schedule := range []retry.Schedule{
		{},
		{Backoff: retry.BackoffFixed, InitialDelay: 3 * time.Second},
		{Backoff: retry.BackoffLinear, InitialDelay: time.Second, Increment: 5 * time.Second},
		{Backoff: retry.BackoffExponential, InitialDelay: time.Second, Base: 3, MaxDelay: 20 * time.Second},
		{Backoff: retry.BackoffFibonacci, InitialDelay: 2 * time.Second},
		{Backoff: retry.BackoffCustom, Delays: []time.Duration{time.Second, time.Minute}, MaxDelay: 7 * time.Second},
	} {
		schedule.MaxAttempts = 6
		synctest.Test(t, func(t *testing.T) {
			s := &genapi.StepPolicy{Name: "charge", Policy: &retry.Policy{Name: "charge", RetryUnknown: true,
				Schedule: schedule}}
			var j journal
			work := oneStep(s, failing(&j, 99))
			live, interrupted := startProcess(t, memory.New()), memory.New()
			wantError(t, live.run("one", work), retry.ErrAttempts)
			last, err := killedAtEachWait(t, interrupted, oneStep(s, failing(&journal{}, 99)))
			wantError(t, err, retry.ErrAttempts)
			want := history(t, live.Engine, "one", "charge")
			wantHistory(t, last.Engine, "one", "charge", want...)
			if len(want) != 6 {
				t.Errorf("%+v: got the history %q, want 6 attempts", schedule, want)
			}
		})
	}
}

// "Retry circuit breaker state is preserved and functional."
func TestAcceptance07BreakerIsPreserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		var j journal
		charge := careful("charge", 2, time.Second)
		charge.Breaker = &breaker.Policy{Name: "api", Failures: 2, OpenFor: 10 * time.Minute}
		first := startProcess(t, m)
		wantError(t, first.run("fails", oneStep(charge, failing(&j, 99))), retry.ErrAttempts)
		j.want(t, "charge", 1, 2)
		first.kill()

		second := startProcess(t, m)
		wantError(t, second.run("refused", oneStep(charge, failing(&j, 0))), retry.ErrBreakerOpen)
		j.want(t, "charge", 1, 2)

		time.Sleep(11 * time.Minute)
		third := startProcess(t, m)
		for _, run := range []string{"probe", "closed"} {
			if err := third.run(run, oneStep(charge, failing(&j, 0))); err != nil {
				t.Errorf("%s: %v", run, err)
			}
		}
		j.want(t, "charge", 1, 2, 1, 1)
	})
}

// "No duplicate retry execution occurs after resume."
func TestAcceptance08NoDuplicates(t *testing.T) {
	const orders = 5
	for n, died := 1, true; died; n++ {
		synctest.Test(t, func(t *testing.T) {
			m := memory.New()
			var j journal
			work := func(ctx context.Context) error {
				for i := range orders {
					if _, err := callID(ctx, careful("charge", 3, time.Second), i, failing(&j, 0)); err != nil {
						return err
					}
				}
				return nil
			}
			dying := durabletest.CrashAt(m, n)
			ctx, cancel := dying.Context(t.Context())
			defer cancel()
			_ = newEngine(t, dying).Run(ctx, "one", work)
			died = dying.Failed()

			p := startProcess(t, m)
			err := p.run("one", work)
			if paused, ok := errors.AsType[*durable.PausedError](err); ok {
				// In doubt: the operator looks whether the order was charged.
				how := admin.Retry()
				if len(j.attempts(paused.Steps[0])) > 0 {
					how = admin.Succeeded(101)
				}
				if err := p.Admin().Resolve(t.Context(), "one", paused.Steps[0], how); err != nil {
					t.Fatal(err)
				}
				err = p.run("one", work)
			}
			if err != nil {
				t.Errorf("crash at point %d: %v", n, err)
			}
			for i := range orders {
				if got := j.attempts(fmt.Sprint("charge/", i)); len(got) != 1 {
					t.Errorf("crash at point %d: order %d was charged in attempts %v, want once", n, i, got)
				}
			}
		})
	}
}

// "Retry performance is unaffected by resume operations": the state of a large
// run is restored within 2 seconds, and what is left costs what it costs
// otherwise.
func TestAcceptance09Performance(t *testing.T) {
	const n = 5_000
	m := memory.New()
	updates := func(run string, done int, limit time.Duration) int64 {
		var count atomic.Int64
		s := &hooked{Store: m}
		s.hook = func(ctx context.Context, sel storage.Select, decide decision, next update) error {
			if !isRenewal(sel) {
				count.Add(1)
			}
			return next(ctx, sel, decide)
		}
		e := newEngine(t, s)
		start := time.Now()
		err := e.Run(t.Context(), run, func(ctx context.Context) error {
			for i := range n {
				if i == done {
					count.Store(0)
				}
				if _, err := callID(ctx, careful("charge", 3, time.Second), i, failing(&journal{}, 0)); err != nil {
					return err
				}
				if i == n-2 && done == 0 {
					return errors.New("interrupted")
				}
			}
			return nil
		})
		if took := time.Since(start); took > limit {
			t.Errorf("%d of %d steps were restored in %v, want less than %v", done, n, took, limit)
		}
		if (done == 0) != (err != nil) {
			t.Errorf("got error %v", err)
		}
		return count.Load()
	}
	live := updates("one", 0, time.Minute)
	if got, want := updates("one", n-1, 2*time.Second), live/(n-1)+1; got > want {
		t.Errorf("the last step and the end of the run took %d updates, want at most %d, as without a resume", got, want)
	}
}

// "Comprehensive retry testing validates all scenarios": each history of the
// design that can happen on one machine, and each guarantee, has a named test.
func TestAcceptance10AllScenariosAreTested(t *testing.T) {
	tested := map[string]bool{}
	number := regexp.MustCompile(`^[tT]est(History\d\d|Guarantee\d\d|Acceptance\d\d)[A-Z]`)
	for _, pattern := range []string{"*_test.go", "durabletest/*.go"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, decl := range file.Decls {
				if fn, ok := decl.(*ast.FuncDecl); ok {
					if m := number.FindStringSubmatch(fn.Name.Name); m != nil {
						tested[m[1]] = true
					}
				}
			}
		}
	}
	elsewhere := []int{
		8,  // a failover: needs a server
		33, // handlers: workers
		36, // files and drivers: package sqlite
		38, // children: workers
	}
	for i := 1; i <= 38; i++ {
		if name := fmt.Sprintf("History%02d", i); !tested[name] && !slices.Contains(elsewhere, i) {
			t.Errorf("no test is named Test%s…", name)
		}
	}
	for i := 1; i <= 10; i++ {
		for _, kind := range []string{"Guarantee", "Acceptance"} {
			if name := fmt.Sprintf("%s%02d", kind, i); !tested[name] {
				t.Errorf("no test is named Test%s…", name)
			}
		}
	}
}
